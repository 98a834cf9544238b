//! What the documents tell a new user to do, done: files saved into the folder of a running
//! gateway, seen and called by a client of another project that is connected all the time.

use std::fs;
use std::path::Path;

use gantry_tests::temp_folder::{Bench, Listening, cache, command, finish, program, root};
use tokio::process::Command;

/// The code that a document gives for a file: the first block after the file's name.
fn block(document: &str, file: &str) -> String {
    let path = root().join(document);
    let text = fs::read_to_string(&path).expect("a document");
    let told = text.split_once(&format!("`tools/{file}`")).map(|(_, rest)| rest);
    let fenced = told.and_then(|rest| rest.split_once("\n```")?.1.split_once('\n'));
    let code = fenced.and_then(|(_language, rest)| rest.split_once("\n```"));
    let (code, _) = code.unwrap_or_else(|| panic!("{document} has no code for `tools/{file}`"));
    format!("{code}\n")
}

/// What the user saves: taken from the documents, so that these cannot go stale.
async fn prepare(bench: &Bench) {
    let files = [
        ("README.md", "count.py"),
        ("docs/tools.md", "now.sh"),
        ("docs/tools.md", "now.tool.json"),
        ("docs/tools.md", "processors.c"),
        ("docs/tools.md", "processors.tool.json"),
    ];
    for (document, file) in files {
        bench.write(&format!("ready/{file}"), &block(document, file));
    }
    let ready = bench.folder.join("ready");
    finish(command("cc").current_dir(&ready).args(["-o", "processors", "processors.c"])).await;
}

/// The Python SDK that `cargo xtask provision` installs, playing `folder.py`.
fn client(bench: &Bench, transport: &str) -> Command {
    let mut client = command(cache().join("python-mcp-1/bin/python"));
    client
        .arg(root().join("tests/clients/python/folder.py"))
        .args(["--transport", transport, "--tools"])
        .arg(bench.tools())
        .arg("--ready")
        .arg(bench.folder.join("ready"))
        .env("XDG_STATE_HOME", &bench.folder)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    client
}

#[expect(clippy::print_stdout, reason = "how long each took is worth seeing, and no assertion")]
fn check(printed: &str) {
    println!("{printed}");
    let passed: Vec<_> = printed.lines().filter_map(|line| line.strip_prefix("ok ")).collect();
    assert_eq!(passed, ["python", "shell", "binary", "executable", "removed"], "{printed}");
}

#[tokio::test]
async fn over_stdio() {
    let bench = Bench::new("first-minutes-stdio");
    prepare(&bench).await;
    check(&finish(client(&bench, "stdio").arg("--command").arg(program())).await);
}

#[tokio::test]
async fn over_http() {
    let bench = Bench::new("first-minutes-http");
    prepare(&bench).await;
    let gateway = Listening::open(&bench).await;
    check(&finish(client(&bench, "http").args(["--url", &gateway.url])).await);
}

#[test]
fn the_example_is_the_readme() {
    for document in ["README.md", "docs/tools.md"] {
        let path = Path::new("examples/tools/count.py");
        let example = fs::read_to_string(root().join(path)).expect("the example");
        assert_eq!(block(document, "count.py"), example, "{document}");
    }
    assert_eq!(block("README.md", "count.py").lines().count(), 10, "ten lines are promised");
}
