//! A folder of programs behind the real binary.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// Longer than anything here takes; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A gateway over a folder of its own, spoken to over stdio. Both go when it is dropped.
struct Workshop {
    folder: PathBuf,
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    last: u64,
}

impl Workshop {
    #[expect(clippy::disallowed_methods, reason = "the program itself is what is tested")]
    async fn open(name: &str, files: &[(&str, String)]) -> Self {
        let folder =
            std::env::temp_dir().join(format!("gantry-tools-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("tools")).expect("a folder");
        for (file, text) in files {
            write(&folder.join("tools").join(file), text);
        }
        let mut child = Command::new(program())
            .args(["serve", "--stdio", "--tools"])
            .arg(folder.join("tools"))
            .env("XDG_STATE_HOME", &folder)
            .env("PATH", path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the gateway starts");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut workshop = Self { folder, child, input, output, last: 0 };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "tools", "version": "0"}});
        workshop.ask("initialize", hello).await;
        workshop.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        workshop
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.expect("it reads");
    }

    async fn receive(&mut self) -> Value {
        let line = timeout(PATIENCE, self.output.next_line()).await.expect("in time");
        serde_json::from_str(&line.expect("a line").expect("a message")).expect("JSON")
    }

    /// Asks and waits for the answer. Notifications in between are passed over.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        loop {
            let message = self.receive().await;
            if message["id"] == id {
                return message;
            }
        }
    }

    async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({"name": name, "arguments": arguments})).await;
        answer["result"].clone()
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        let _ = self.child.start_kill();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn program() -> PathBuf {
    let beside = std::env::current_exe().expect("a path");
    let target = beside.parent().and_then(Path::parent).expect("cargo's folder");
    let program = target.join("gantry");
    assert!(program.exists(), "{} is missing; run `cargo build` first", program.display());
    program
}

/// `PATH`, with the `uv` that `cargo xtask provision` installs in front of what is there.
fn path() -> String {
    let given = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = given("GANTRY_CACHE")
        .or_else(|| given("XDG_CACHE_HOME").map(|base| base.join("gantry-dev")))
        .or_else(|| given("HOME").map(|home| home.join(".cache/gantry-dev")))
        .expect("a home");
    let rest = std::env::var("PATH").unwrap_or_default();
    format!("{}:{rest}", cache.join("uv/bin").display())
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode");
}

fn manifest(name: &str, command: &str) -> String {
    json!({
        "name": name, "version": "1.0.0", "description": "For a test.", "runtime": "process",
        "command": command, "timeout": "20s",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string", "default": "two words"}}},
        "outputSchema": {},
    })
    .to_string()
}

const COUNT: &str = "#!/usr/bin/env python3
import json, os, sys
text = json.load(sys.stdin)['arguments']['text']
with os.fdopen(int(os.environ['GANTRY_NOTICES']), 'w') as notices:
    notices.write(json.dumps({'progress': 1, 'total': 1, 'message': 'counted'}) + '\\n')
print(json.dumps({'words': len(text.split())}))
";

const SCRIPT: &str = r#"# /// script
# requires-python = ">=3.11"
# dependencies = []
# [tool.gantry]
# name = "text.shout"
# version = "1.0.0"
# description = "Says it louder."
# read_only = true
# [tool.gantry.input.properties.text]
# type = "string"
# description = "The text."
# ///
import json, sys
print(json.dumps(json.load(sys.stdin)["arguments"]["text"].upper()))
"#;

#[tokio::test]
async fn a_python_file_is_a_tool() {
    let mut workshop = Workshop::open("python", &[("shout.py", SCRIPT.to_owned())]).await;
    let listed = workshop.ask("tools/list", json!({})).await;
    let tool = &listed["result"]["tools"][0];
    assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    let result = workshop.call("text.shout", json!({"text": "hé"})).await;
    let value = &result["structuredContent"]["result"];
    assert_eq!(value, "HÉ", "with uv from `cargo xtask provision`: {result}");
    let wrong = workshop.call("text.shout", json!({})).await;
    assert_eq!(wrong["isError"], true, "the argument without default is required");
}

fn files() -> Vec<(&'static str, String)> {
    vec![
        ("count.py", COUNT.to_owned()),
        ("count.tool.json", manifest("text.count", "./count.py")),
        ("fail.sh", "#!/bin/sh\necho broken >&2\nexit 7\n".to_owned()),
        ("fail.tool.json", manifest("text.fail", "./fail.sh")),
        ("broken.tool.json", "{".to_owned()),
    ]
}

#[tokio::test]
async fn a_script_is_a_tool() {
    let mut workshop = Workshop::open("script", &files()).await;
    let listed = workshop.ask("tools/list", json!({})).await;
    let names: Vec<_> =
        listed["result"]["tools"].as_array().expect("tools").iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["text.count", "text.fail"], "the broken one takes nothing else down");
    let result = workshop.call("text.count", json!({"text": "one two three"})).await;
    assert_eq!(result["structuredContent"], json!({"words": 3}), "{result}");
    let result = workshop.call("text.count", json!({})).await;
    assert_eq!(result["structuredContent"], json!({"words": 2}), "the default is filled in");
}

#[tokio::test]
async fn it_tells_of_progress() {
    let mut workshop = Workshop::open("progress", &files()).await;
    let params = json!({"name": "text.count", "arguments": {}, "_meta": {"progressToken": "p"}});
    workshop
        .send(&json!({"jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": params}))
        .await;
    let notice = workshop.receive().await;
    assert_eq!(notice["params"]["message"], "counted", "{notice}");
    assert_eq!(workshop.receive().await["result"]["structuredContent"]["words"], 2);
}

#[tokio::test]
async fn a_failure_says_what_happened() {
    let mut workshop = Workshop::open("failure", &files()).await;
    let result = workshop.call("text.fail", json!({})).await;
    assert_eq!(result["isError"], true);
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.contains("exit status 7") && text.contains("broken"), "{text}");
    let detail = &result["_meta"]["gantry/error"];
    assert_eq!(detail["error_type"], "ToolExecutionError");
    let details = &detail["error_details"];
    assert_eq!((&details["exit_status"], &details["stderr"]), (&json!(7), &json!("broken")));
    assert!(details["advice"].is_string(), "{detail}");
}

#[tokio::test]
async fn a_new_file_is_a_new_tool() {
    let mut workshop = Workshop::open("watch", &files()).await;
    let path = workshop.folder.join("tools/more.tool.json");
    write(&path, &manifest("text.more", "./count.py"));
    loop {
        let notice = workshop.receive().await;
        if notice["method"] == "notifications/tools/list_changed" {
            break;
        }
    }
    let result = workshop.call("text.more", json!({"text": "here"})).await;
    assert_eq!(result["structuredContent"]["words"], 1, "{result}");
}
