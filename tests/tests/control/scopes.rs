//! Where servers are added, and which running gateways hear of it.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use gantry_tests::temp_folder::{Bench, command, program, root};
use gantry_tests::test_server::soon;
use serde_json::{Value, json};

use crate::gateway::{Gateway, Run, gantry};

/// A folder for a gateway, one elsewhere, and the user's settings.
struct Scene {
    bench: Bench,
    user: String,
}

impl Scene {
    fn new(name: &str) -> Self {
        let bench = Bench::new(&format!("scopes-{name}"));
        fs::create_dir_all(bench.folder.join("elsewhere")).expect("a folder");
        let user = bench.folder.join("user").display().to_string();
        Self { bench, user }
    }

    fn file(&self) -> PathBuf {
        self.bench.folder.join("user/gantry/gantry.json")
    }

    async fn start(&self, words: &[&str]) -> Gateway {
        Gateway::start(&self.bench, words, &[("XDG_CONFIG_HOME", &self.user)]).await
    }

    async fn run(&self, words: &[&str]) -> Run {
        gantry(&self.bench, words, &[("XDG_CONFIG_HOME", &self.user)]).await
    }

    /// The same in another folder than the gateway's.
    async fn elsewhere(&self, words: &[&str]) -> Run {
        let mut run = command(program());
        run.args(words).current_dir(self.bench.folder.join("elsewhere"));
        run.env("XDG_STATE_HOME", &self.bench.folder).env("XDG_CONFIG_HOME", &self.user);
        run.env_remove("GANTRY_CONFIG").env_remove("GANTRY_TRUST").stdin(Stdio::null());
        let output = soon("the end of the command", run.output()).await.expect("it runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Run { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

#[tokio::test]
async fn a_server_that_is_added_anywhere_is_there_at_once() {
    for (name, words) in [("http", &[][..]), ("stdio", &["--stdio"])] {
        let scene = Scene::new(&format!("anywhere-{name}"));
        let _gateway = scene.start(words).await;
        let tools = scene.elsewhere(&["tools"]).await;
        assert!(tools.out.contains("word_count"), "the examples are there: {tools:?}");
        let added = scene.elsewhere(&["add", "later", "--", "sleep", "1000"]).await;
        assert_eq!(added.code, Some(0), "{added:?}");
        assert!(added.err.contains(&scene.file().display().to_string()), "{added:?}");
        assert!(!added.err.contains("does not read"), "{added:?}");
        let status = scene.elsewhere(&["status"]).await;
        assert!(status.out.contains("later"), "{status:?}");
        assert!(!status.err.contains("no servers"), "{status:?}");
        let tools = scene.elsewhere(&["tools"]).await;
        assert!(!tools.out.contains("word_count"), "the examples have gone: {tools:?}");
    }
}

#[tokio::test]
async fn adding_says_what_the_server_may_do() {
    let scene = Scene::new("marks");
    let hint = "`gantry trust grant server:s`";
    let unknown = scene.run(&["add", "s", "--", "sleep", "1000"]).await;
    assert!(unknown.err.contains("destructive") && unknown.err.contains(hint), "{unknown:?}");
    let tool = |name: &str, annotations: Value| json!({"name": name, "inputSchema": {"type": "object"}, "annotations": annotations});
    let tools = json!([
        tool("wipes", json!({"destructiveHint": true})),
        tool("reads", json!({"readOnlyHint": true})),
        tool("plain", json!({"readOnlyHint": false})),
    ]);
    scene.bench.write("offered.json", &tools.to_string());
    scene.bench.write("harmless.json", &json!([tools[1]]).to_string());
    let server = root().join("tests/tests/pins/changing.py").display().to_string();
    let file = |name: &str| scene.bench.folder.join(name).display().to_string();
    let _gateway = scene.start(&[]).await;
    let add = async |name: &str, offered: &str| {
        let words = ["add", "--force", name, "--", "python3", &server, &file(offered)];
        let added = scene.run(&words).await;
        assert_eq!(added.code, Some(0), "{added:?}");
        added.err
    };
    let said = add("s", "offered.json").await;
    let expected = "the server `s` has 3 tools, 1 destructive (each call waits for approval), 1 \
                    without annotations (each call runs without asking); `gantry trust grant \
                    server:s` lets all of them run";
    assert!(said.contains(expected), "{said}");
    let said = add("harmless", "harmless.json").await;
    assert!(!said.contains("trust grant"), "{said}");
    let block = json!({"mcpServers": {"more": {"command": "python3", "args": [server, file("offered.json")]}}});
    let added = scene.run(&["add-json", &block.to_string()]).await;
    assert!(added.err.contains("the server `more` has 3 tools, 1 destructive"), "{added:?}");
}

#[tokio::test]
async fn the_files_of_project_and_user_are_one_configuration() {
    let scene = Scene::new("layers");
    scene
        .bench
        .write("gantry.json", r#"{"mcpServers": {"mine": {"command": "sleep", "args": ["999"]}}}"#);
    let _gateway = scene.start(&[]).await;
    assert_eq!(scene.run(&["add", "ours", "--", "sleep", "998"]).await.code, Some(0));
    let status = scene.run(&["status"]).await;
    assert!(status.out.contains("mine") && status.out.contains("ours"), "{status:?}");
    let path = scene.run(&["config", "path"]).await;
    let expected = format!(
        "{}\n{}\n",
        scene.bench.folder.join("gantry.json").display(),
        scene.file().display()
    );
    assert_eq!(path.out, expected);
    let again = scene.run(&["add", "-s", "project", "ours", "--", "sleep", "997"]).await;
    assert_eq!(again.code, Some(0), "{again:?}");
    let listed = scene.run(&["list"]).await;
    assert!(listed.out.contains("sleep 997") && !listed.out.contains("998"), "{listed:?}");
    let checked = scene.run(&["config", "check"]).await;
    assert!(checked.code == Some(0) && checked.err.contains("`ours`"), "{checked:?}");
}

#[tokio::test]
async fn a_file_that_no_gateway_reads_is_told() {
    let scene = Scene::new("unread");
    let own = scene.bench.write("own.json", "{}").display().to_string();
    let gateway = scene.start(&["--config", &own]).await;
    let id = gateway.pid().to_string();
    let cases: [(&[&str], bool); 4] = [
        (&["add", "a", "--", "sleep", "1"], true),
        (&["remove", "a"], true),
        (&["add", "-s", "project", "a", "--", "sleep", "1"], true),
        (&["add", "--config", &own, "a", "--", "sleep", "1"], false),
    ];
    for (words, is_told) in cases {
        let run = scene.elsewhere(words).await;
        assert_eq!(run.code, Some(0), "{words:?}: {run:?}");
        let told = run.err.contains("warning: the running gateway") && run.err.contains(&id);
        assert_eq!(told, is_told, "{words:?}: {run:?}");
    }
}

#[tokio::test]
async fn a_broken_file_is_told_until_it_is_mended() {
    let scene = Scene::new("broken");
    let config = r#"{"mcpServers": {"one": {"command": "sleep", "args": ["999"]}}}"#;
    scene.bench.write("gantry.json", config);
    let _gateway = scene.start(&[]).await;
    scene.bench.write("gantry.json", "{\"mcpServers\": 1");
    let broken = scene.run(&["status", "--config", "gantry.json"]).await;
    assert!(broken.out.contains("one"), "what was in force stays: {broken:?}");
    assert!(broken.err.contains("not valid") && broken.err.contains("gantry.json:1"), "{broken:?}");
    scene.bench.write("gantry.json", config);
    let mended = scene.run(&["status"]).await;
    assert!(mended.code == Some(0) && !mended.err.contains("not valid"), "{mended:?}");
}

#[tokio::test]
async fn a_folder_of_tools_that_is_missing_is_made() {
    let scene = Scene::new("folder");
    fs::remove_dir_all(scene.bench.tools()).expect("it was empty");
    let _gateway = scene.start(&["--tools", "tools"]).await;
    assert!(scene.bench.tools().is_dir());
    let listed = scene.run(&["tools"]).await;
    assert!(listed.code == Some(0) && listed.out.is_empty(), "{listed:?}");
}
