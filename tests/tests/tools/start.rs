//! Programs that could be started when they were registered, and no longer can.

use std::fs;
use std::path::Path;

use gantry_tests::processes;
use gantry_tests::tool_fixture::{Folder, ToolFixture};
use serde_json::json;

type Spoil = fn(&Folder, &Path);

/// What happens to the program of a tool, and what the call then says. The programs stand beside
/// the folder of manifests.
const CASES: [(&str, Spoil, &str); 7] = [
    ("lost.program", |_, path| remove(path), "was not found; check its path"),
    ("lost.interpreter", |it, path| it.put(path, "#!/no/such/thing\n", 0o755), "the first line"),
    ("lost.mode", |it, path| it.put(path, "#!/bin/sh\n", 0o644), "make it executable with `chmod"),
    (
        "lost.sense",
        |it, path| it.put(path, "\u{1}\u{2}\u{3}", 0o755),
        "is no program of this machine",
    ),
    ("lost.text", |it, path| it.put(path, "", 0o755), "needs a first line such as"),
    ("lost.folder", |_, path| to_folder(path), "may not be executed; give a file"),
    ("lost.loop", |_, path| to_loop(path), "could not be started"),
];

fn remove(path: &Path) {
    fs::remove_file(path).expect("it is there");
}

fn to_folder(path: &Path) {
    remove(path);
    fs::create_dir(path).expect("a folder can be made");
}

fn to_loop(path: &Path) {
    remove(path);
    std::os::unix::fs::symlink(path, path).expect("a link can be made");
}

/// Calls a tool that cannot start, and checks that the reason is told: by the call, or in the log
/// when the folder was looked at since and the tool was left out.
async fn check(tool_fixture: &mut ToolFixture, name: &str, expected: &str) {
    let id = tool_fixture.begin_call(name, json!({})).await;
    let answer = tool_fixture.answer(id).await;
    if let Some(text) = answer["result"]["content"][0]["text"].as_str() {
        let named = text.contains(&format!("the tool `{name}`"));
        assert!(named && text.contains(expected), "{name}: {text}");
        return;
    }
    let text = answer["error"]["message"].as_str().unwrap_or_default();
    assert!(text.contains(name), "{answer}");
    let reason =
        |line: &str| line.contains(&format!("{name}.tool.json")) && line.contains(" is not ");
    processes::until("the reason in the log", || tool_fixture.log().lines().any(reason)).await;
}

#[tokio::test]
async fn a_program_that_can_no_longer_start_says_why() {
    let folder = Folder::new();
    let program = |name: &str| folder.path().join(name);
    for (name, _, _) in CASES {
        folder.put(&program(name), "#!/bin/sh\necho '{}'\n", 0o755);
        folder.manifest(name, json!({"command": program(name)}));
    }
    let mut tool_fixture = ToolFixture::open(folder).await;
    for (name, spoil, expected) in CASES {
        let result = tool_fixture.call(name, json!({})).await;
        assert_eq!(result["isError"], false, "{name}: {result}");
        spoil(&tool_fixture.folder, &tool_fixture.folder.path().join(name));
        check(&mut tool_fixture, name, expected).await;
    }
}

#[tokio::test]
async fn a_place_to_work_in_that_is_gone_is_named() {
    let folder = Folder::new();
    let place = folder.path().join("place");
    fs::create_dir(&place).expect("a folder can be made");
    folder.shell_with("lost.place", "echo '{}'", json!({"cwd": place}));
    let mut tool_fixture = ToolFixture::open(folder).await;
    fs::remove_dir(&place).expect("it is there");
    let expected = format!("cannot work in `{}`; give a directory that exists", place.display());
    check(&mut tool_fixture, "lost.place", &expected).await;
}

#[tokio::test]
async fn a_command_line_that_the_kernel_refuses_is_told() {
    let folder = Folder::new();
    folder.manifest("bad.zero", json!({"command": ["/bin/cat", "a\u{0}b"]}));
    folder.manifest("bad.long", json!({"command": ["/bin/cat", "x".repeat(200_000)]}));
    let mut tool_fixture = ToolFixture::open(folder).await;
    for name in ["bad.zero", "bad.long"] {
        let text = tool_fixture.failure(name, json!({})).await;
        let expected = "are too long or hold a zero byte; shorten or correct them";
        assert!(text.contains(expected), "{name}: {text}");
    }
}
