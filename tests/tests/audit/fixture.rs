//! A gateway with a record, before a server that counts for itself what reaches it.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use gantry_tests::processes;
use gantry_tests::temp_folder::{Bench, command, program};
use gantry_tests::test_server::soon;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// A gateway on standard input and output. Dropping it kills the gateway.
pub(crate) struct AuditFixture {
    pub(crate) bench: Bench,
    gateway: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

/// What a command printed, and how it ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

impl AuditFixture {
    /// Starts a gateway with that `audit` in its configuration.
    pub(crate) async fn open(name: &str, audit: Value) -> Self {
        Self::over(Bench::new(&format!("audit-{name}")), audit, |gateway| gateway).await
    }

    /// Starts a gateway over the state of an earlier one.
    pub(crate) async fn over(
        bench: Bench,
        audit: Value,
        alter: impl Fn(Command) -> Command,
    ) -> Self {
        configure(&bench, &audit);
        Self::start(bench, alter).await
    }

    /// Starts a gateway with the configuration that stands there.
    pub(crate) async fn start(bench: Bench, alter: impl Fn(Command) -> Command) -> Self {
        let mut start = alter(command(program()));
        start
            .args(["serve", "--stdio", "--config"])
            .arg(bench.folder.join("gantry.json"))
            .env("XDG_STATE_HOME", &bench.folder)
            .env_remove("GANTRY_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(bench.folder.join("log")).expect("a file"));
        let mut gateway = start.spawn().expect("the gateway starts");
        let input = gateway.stdin.take();
        let output = BufReader::new(gateway.stdout.take().expect("its output")).lines();
        let mut fixture = Self { bench, gateway, input, output };
        fixture.greet().await;
        fixture
    }

    async fn greet(&mut self) {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "desk", "version": "0"}});
        self.ask("initialize", hello).await;
        self.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        let listed = async {
            while self.ask("tools/list", json!({})).await["result"]["tools"][0].is_null() {}
        };
        soon("the tools of the server", listed).await;
    }

    /// Sends messages, in one go if there are more.
    pub(crate) async fn write_all(&mut self, messages: &[Value]) {
        let text: String = messages.iter().map(|message| format!("{message}\n")).collect();
        let input = self.input.as_mut().expect("its input is open");
        input.write_all(text.as_bytes()).await.expect("it reads");
    }

    pub(crate) async fn write(&mut self, message: &Value) {
        self.write_all(std::slice::from_ref(message)).await;
    }

    /// The next answer; none when there will be no more.
    pub(crate) async fn receive(&mut self) -> Option<Value> {
        loop {
            let line = soon("a message", self.output.next_line()).await.expect("text")?;
            let message: Value = serde_json::from_str(&line).expect("every line is JSON");
            if message.get("method").is_none() {
                return Some(message);
            }
        }
    }

    /// Sends a request and waits for the answer.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.write(&json!({"jsonrpc": "2.0", "id": "ask", "method": method, "params": params}))
            .await;
        loop {
            let answer = self.receive().await.expect("the gateway goes on");
            if answer["id"] == "ask" {
                return answer;
            }
        }
    }

    /// Calls a tool of the server.
    pub(crate) async fn call(&mut self, tool: &str, number: u64) -> Value {
        let name = format!("tally_{tool}");
        self.ask("tools/call", json!({"name": name, "arguments": {"number": number}})).await
    }

    pub(crate) fn id(&self) -> u32 {
        self.gateway.id().expect("the gateway runs")
    }

    /// Kills the gateway, and gives the answers that it had written.
    pub(crate) async fn kill(mut self) -> (Bench, Vec<Value>) {
        processes::signal(self.id(), Signal::KILL);
        let mut answers = Vec::new();
        while let Ok(Some(line)) = soon("its last words", self.output.next_line()).await {
            // The last line may be cut off: nobody was told what it says.
            let Ok(answer) = serde_json::from_str(&line) else { break };
            answers.push(answer);
        }
        let rest = soon("the end of its words", self.output.next_line()).await;
        assert!(!matches!(rest, Ok(Some(_))), "only the last line is cut off: {rest:?}");
        soon("the end of the gateway", self.gateway.wait()).await.expect("a status");
        (self.leave(), answers)
    }

    /// Ends the gateway in good order.
    pub(crate) async fn finish(mut self) -> Bench {
        self.input = None;
        processes::signal(self.id(), Signal::TERM);
        let status = soon("the end of the gateway", self.gateway.wait()).await.expect("a status");
        assert!(status.success(), "{status}: {}", log(&self.bench));
        self.leave()
    }

    fn leave(self) -> Bench {
        let Self { bench, .. } = self;
        bench
    }
}

/// Saves a configuration with that `audit`, in one step as an editor does.
pub(crate) fn configure(bench: &Bench, audit: &Value) {
    configure_with(bench, audit, &json!({"default": "off", "refused": "off"}));
}

/// The same with other limits.
pub(crate) fn configure_with(bench: &Bench, audit: &Value, limits: &Value) {
    let server = std::env::current_exe().expect("a path");
    let server = server.ancestors().nth(2).expect("tests stand in `deps`").join("tally-server");
    let entry = json!({"command": server, "args": [bench.folder.join("tally")]});
    let config = json!({
        "audit": audit,
        "policy": {
            "trust": "verified",
            "approve": ["tally_mail"],
            // Nobody is there to approve anything.
            "approvals": {"wait": 100, "expires": 1},
            "rules": [{"name": "no secrets", "effect": "deny", "what": {"tools": ["tally_secret"]}}],
        },
        "limits": limits,
        "mcpServers": {"tally": entry},
    });
    let draft = bench.folder.join("draft");
    fs::write(&draft, config.to_string()).expect("a file");
    fs::rename(draft, bench.folder.join("gantry.json")).expect("a file");
}

/// The numbers of the calls that have reached the server.
pub(crate) fn tally(bench: &Bench) -> Vec<u64> {
    let text = fs::read_to_string(bench.folder.join("tally")).unwrap_or_default();
    text.lines().map(|line| line.parse().expect("a number")).collect()
}

/// What the gateway has written to standard error.
pub(crate) fn log(bench: &Bench) -> String {
    fs::read_to_string(bench.folder.join("log")).unwrap_or_default()
}

/// The volumes of the record, the oldest first.
pub(crate) fn volumes(bench: &Bench) -> Vec<PathBuf> {
    let folder = fs::read_dir(bench.folder.join("gantry/audit")).into_iter().flatten().flatten();
    let mut volumes: Vec<PathBuf> = folder.map(|entry| entry.path()).collect();
    volumes
        .retain(|path| path.file_name().is_some_and(|it| it.to_string_lossy().starts_with("20")));
    volumes.sort();
    volumes
}

/// Runs `gantry audit`.
pub(crate) async fn audit(bench: &Bench, words: &[&str]) -> Run {
    let mut command = command(program());
    command.arg("audit").args(words).env("XDG_STATE_HOME", &bench.folder);
    let output = soon("the end of a command", command.output()).await.expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Run { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}

/// Every line of the record.
pub(crate) async fn records(bench: &Bench) -> Vec<Value> {
    let run = audit(bench, &["export"]).await;
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{run:?}");
    run.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The number that a call was made with.
pub(crate) fn number(record: &Value) -> Option<u64> {
    let uri = record["resource"].as_str().and_then(|uri| uri.strip_prefix("none://"));
    record["arguments"]["number"].as_u64().or_else(|| uri?.parse().ok())
}
