//! What is learned of tools, by the real binary: kept over restarts, added up, never in the way.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use gantry_tests::test_server::soon;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// A folder with a tool and a state directory, gone with the test.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("statistics-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&home);
        fs::create_dir_all(home.join("tools")).expect("a folder");
        let script = home.join("tools/answer.sh");
        let text =
            "#!/bin/sh\nread -r line\ncase $line in *fail*) exit 7;; esac\necho '{\"ok\":true}'\n";
        fs::write(&script, text).expect("a script");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("its rights");
        let manifest = json!({
            "name": "text.answer", "version": "1.0.0", "description": "Answers.", "runtime": "process",
            "command": "./answer.sh",
            "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
            "outputSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}},
        });
        fs::write(home.join("tools/answer.tool.json"), manifest.to_string()).expect("a manifest");
        Self(home)
    }

    fn database(&self) -> PathBuf {
        self.0.join("gantry/gantry.db")
    }

    #[expect(clippy::disallowed_methods, reason = "the program itself is what is tested")]
    fn program(&self) -> Command {
        let beside = std::env::current_exe().expect("a path");
        let program = beside.ancestors().nth(2).expect("cargo's folder").join("gantry");
        assert!(program.exists(), "{} is missing; run `cargo build` first", program.display());
        let mut command = Command::new(program);
        command.env("XDG_STATE_HOME", &self.0).env_remove("GANTRY_LOG").kill_on_drop(true);
        command
    }

    async fn stats(&self, arguments: &[&str]) -> Output {
        let running = self.program().arg("stats").args(arguments).output();
        soon("the statistics", running).await.expect("it runs")
    }

    async fn known(&self) -> Value {
        let output = self.stats(&["text.answer", "--json"]).await;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A gateway over the home's tools, spoken to over stdio.
struct Gateway {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    last: u64,
}

impl Gateway {
    async fn start(home: &Home) -> Self {
        let mut child = home
            .program()
            .args(["serve", "--stdio", "--tools"])
            .arg(home.0.join("tools"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut gateway = Self { child, input, output, last: 0 };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "statistics", "version": "0"}});
        gateway.ask("initialize", hello).await;
        gateway.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        gateway
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.expect("it reads");
    }

    /// Asks and waits for the answer. Notifications in between are passed over.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        loop {
            let line = soon("an answer", self.output.next_line()).await.expect("a line");
            let message: Value = serde_json::from_str(&line.expect("a message")).expect("JSON");
            if message["id"] == id {
                return message;
            }
        }
    }

    async fn call(&mut self, text: Value) -> Value {
        let params = json!({"name": "text.answer", "arguments": {"text": text}});
        let answer = self.ask("tools/call", params).await;
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// Lets it end by itself, and gives what it wrote to its log.
    async fn stop(mut self) -> String {
        drop(self.input);
        let mut log = String::new();
        let mut stderr = self.child.stderr.take().expect("its log");
        soon("the log", stderr.read_to_string(&mut log)).await.expect("a text");
        let status = soon("the end", self.child.wait()).await.expect("an end");
        assert!(status.success(), "{status}: {log}");
        log
    }
}

#[tokio::test]
async fn they_are_kept_over_restarts() {
    let home = Home::new("restarts");
    for round in 1..=2 {
        let mut gateway = Gateway::start(&home).await;
        let good = gateway.call(json!("x")).await;
        assert_eq!(good["structuredContent"], json!({"ok": true}), "{good}");
        gateway.call(json!("y")).await;
        assert_eq!(gateway.call(json!("fail")).await["isError"], true);
        assert_eq!(gateway.call(json!(7)).await["isError"], true);
        gateway.ask("tools/call", json!({"name": "absent", "arguments": {}})).await;
        gateway.stop().await;
        let known = home.known().await;
        assert_eq!(known["calls"], 4 * round, "{known}");
        let errors = json!({"ToolExecutionError": round, "ValidationError": round});
        assert_eq!(known["errors"], errors, "{known}");
        let buckets = known["latency_us"].as_array().expect("buckets");
        let counted: u64 = buckets.iter().filter_map(|bucket| bucket[1].as_u64()).sum();
        assert_eq!(counted, 4 * round, "{known}");
    }
    let all = home.stats(&["--json"]).await;
    let all: Vec<Value> = serde_json::from_slice(&all.stdout).expect("JSON");
    assert_eq!(all.len(), 1, "a tool that is not there has no row: {all:?}");
    let table = String::from_utf8(home.stats(&[]).await.stdout).expect("a text");
    assert!(table.contains("text.answer") && table.contains("50.0%"), "{table}");
    assert!(table.is_ascii(), "nobody looks, so no colours: {table}");
}

#[tokio::test]
async fn two_programs_add_up() {
    let home = Home::new("two");
    let (mut one, mut two) = tokio::join!(Gateway::start(&home), Gateway::start(&home));
    for _ in 0..3 {
        tokio::join!(one.call(json!("x")), two.call(json!("x")));
    }
    let logs = tokio::join!(one.stop(), two.stop());
    assert_eq!(home.known().await["calls"], 6, "{logs:?}");
}

#[tokio::test]
async fn a_store_that_is_damaged_meanwhile_is_told_and_calls_go_on() {
    let home = Home::new("damaged");
    let mut gateway = Gateway::start(&home).await;
    fs::write(home.database(), "not a database").expect("a file");
    assert_eq!(gateway.call(json!("x")).await["structuredContent"], json!({"ok": true}));
    let log = gateway.stop().await;
    assert!(log.contains("gantry.db") && log.contains("move it away"), "{log}");
    let refused = home.stats(&[]).await;
    assert_eq!(refused.status.code(), Some(1));
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(told.contains("move it away"), "{told}");
    assert_eq!(fs::read(home.database()).expect("a file"), b"not a database", "left as it was");
}

/// It holds what was decided about trust: without it nothing could be refused that must be.
#[tokio::test]
async fn a_store_that_is_damaged_is_no_ground_to_start_on() {
    let home = Home::new("damaged-before");
    fs::create_dir_all(home.database().parent().expect("a folder")).expect("made");
    fs::write(home.database(), "not a database").expect("a file");
    let served = home.program().args(["serve", "--stdio"]).stdin(Stdio::null()).output();
    let output = soon("the end", served).await.expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("move it away"), "{told}");
    assert_eq!(fs::read(home.database()).expect("a file"), b"not a database", "left as it was");
}

#[tokio::test]
async fn without_calls_no_statistics_are_kept() {
    let home = Home::new("nothing");
    for has_served in [false, true] {
        if has_served {
            Gateway::start(&home).await.stop().await;
        }
        let output = home.stats(&[]).await;
        assert!(output.status.success());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.starts_with("no tool was called yet"), "{text}");
        assert!(has_served || !home.database().exists(), "to look makes no file");
    }
    assert_eq!(home.stats(&["absent"]).await.status.code(), Some(4), "not found");
}
