//! Files as resources, by the real binary: listed, read and watched by a client of each era.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use gantry_tests::temp_folder::{command, finish, gateway};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_secs(60);

/// A folder with a workspace, and `gantry serve --stdio` over it.
struct Fixture {
    folder: PathBuf,
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

fn folder(name: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("gantry-resources-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("workspace/sub")).expect("a folder");
    fs::write(folder.join("workspace/sub/b.md"), "# b\n").expect("a file");
    fs::write(folder.join("secret"), "outside").expect("a file");
    folder.canonicalize().expect("a folder")
}

impl Fixture {
    fn new(name: &str) -> Self {
        let folder = folder(name);
        let mut program = command(gateway());
        program.args(["serve", "--stdio", "--workspace"]).arg(folder.join("workspace"));
        program.current_dir(&folder).env("HOME", &folder).env("XDG_STATE_HOME", &folder);
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = program.spawn().expect("the gateway starts");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output")).lines();
        Self { folder, _child: child, input, output }
    }

    fn uri(&self, path: &str) -> String {
        format!("file://{}/workspace/{path}", self.folder.display())
    }

    async fn send(&mut self, message: Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.expect("it reads");
    }

    /// The next message that is wanted.
    async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = timeout(TIMEOUT, self.output.next_line()).await.expect("in time");
            let line = line.expect("a line").expect("a message");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if wanted(&message) {
                return message;
            }
        }
    }

    async fn ask(&mut self, method: &str, mut params: Value, modern: bool) -> Value {
        if modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        self.send(json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))
            .await;
        self.until(|message| message["id"] == method).await
    }

    /// What every client does with files.
    async fn use_files(&mut self, modern: bool) {
        let listed = self.ask("resources/list", json!({}), modern).await;
        let resources = listed["result"]["resources"].as_array().expect("resources");
        let files: Vec<_> = resources.iter().filter(|it| it["name"] == "sub/b.md").collect();
        assert_eq!(files[0]["uri"], self.uri("sub/b.md"), "{listed}");
        let templates = self.ask("resources/templates/list", json!({}), modern).await;
        let template = &templates["result"]["resourceTemplates"][0]["uriTemplate"];
        assert_eq!(*template, self.uri("{+path}"));
        let read = self.ask("resources/read", json!({"uri": self.uri("sub/b.md")}), modern).await;
        let contents = &read["result"]["contents"][0];
        assert_eq!(
            (&contents["text"], &contents["mimeType"]),
            (&json!("# b\n"), &json!("text/markdown"))
        );
        for path in ["../secret", "%2e%2e/secret", "..%2fsecret", "no.txt"] {
            let refused = self.ask("resources/read", json!({"uri": self.uri(path)}), modern).await;
            assert!(refused["error"]["message"].is_string(), "{path}: {refused}");
        }
    }

    async fn hears_of_changes(&mut self) {
        fs::write(self.folder.join("workspace/sub/b.md"), "# changed\n").expect("a file");
        let uri = self.uri("sub/b.md");
        let is_update = |message: &Value| {
            message["method"] == "notifications/resources/updated"
                && message["params"]["uri"] == uri
        };
        self.until(is_update).await;
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test]
async fn clients_of_every_older_revision() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut fixture = Fixture::new(revision);
        let hello = json!({"protocolVersion": revision, "capabilities": {},
            "clientInfo": {"name": "test", "version": "0"}});
        let greeted = fixture.ask("initialize", hello, false).await;
        assert_eq!(greeted["result"]["capabilities"]["resources"]["subscribe"], true, "{revision}");
        fixture.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        fixture.use_files(false).await;
        let uri = fixture.uri("sub/b.md");
        fixture.ask("resources/subscribe", json!({"uri": uri}), false).await;
        fixture.hears_of_changes().await;
    }
}

#[tokio::test]
async fn clients_of_the_newest_revision() {
    let mut fixture = Fixture::new("newest");
    fixture.use_files(true).await;
    let wanted = json!({
        "notifications": {"resourceSubscriptions": [fixture.uri("sub/b.md")]},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    fixture
        .send(
            json!({"jsonrpc": "2.0", "id": 9, "method": "subscriptions/listen", "params": wanted}),
        )
        .await;
    fixture.until(|message| message["method"] == "notifications/subscriptions/acknowledged").await;
    fixture.hears_of_changes().await;
}

#[tokio::test]
async fn roots_that_are_refused() {
    let folder = folder("refused");
    let home = folder.display().to_string();
    let cases = [
        ("/", "is the root of the file system", "allowBroadRoots"),
        (home.as_str(), "is a home directory", "allowBroadRoots"),
        ("missing", "there is no such file", "missing"),
        ("secret", "", "secret"),
    ];
    for (workspace, problem, advice) in cases {
        let mut program = command(gateway());
        program.args(["serve", "--listen", "127.0.0.1:0", "--workspace", workspace]);
        program.current_dir(&folder).env("HOME", &folder).env("XDG_STATE_HOME", &folder);
        let output = timeout(TIMEOUT, program.output()).await.expect("in time").expect("it ends");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{workspace}: {text}");
        assert!(text.contains(problem) && text.contains(advice), "{workspace}: {text}");
    }
    let shown = finish(command(gateway()).args(["config", "schema"])).await;
    assert!(shown.contains("allowBroadRoots"));
    let _ = fs::remove_dir_all(&folder);
}
