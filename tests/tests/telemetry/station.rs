//! A gateway whose configuration a test writes, and a collector on the official messages of OTLP.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use gantry_tests::http::Outgoing;
use gantry_tests::processes;
use gantry_tests::temp_folder::{Bench, cache, command, finish, program, root};
use gantry_tests::test_server::soon;
use gantry_tests::tool_fixture::listen;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};
use tokio::time::{Duration, sleep, timeout};

/// How long a server in Python may take to start on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(90);

/// A collector that runs. Dropping it ends it.
pub(crate) struct Collector {
    pub(crate) url: String,
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Collector {
    pub(crate) async fn open() -> Self {
        let mut command = python("collector.py");
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the collector starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let line = soon("the collector", lines.next_line()).await.expect("text").expect("a line");
        let told: Value = serde_json::from_str(&line).expect("JSON");
        let url = format!("http://127.0.0.1:{}", told["port"]);
        Self { url, lines, _child: child }
    }

    /// The next span or record. Whatever the official messages do not know fails the test.
    pub(crate) async fn next(&mut self) -> Value {
        let line = soon("a span", self.lines.next_line()).await.expect("text").expect("a line");
        let told: Value = serde_json::from_str(&line).expect("JSON");
        assert!(told.get("wrong").is_none(), "{told}");
        told
    }

    /// The spans that have come when all of these have, each named by its service and its name.
    pub(crate) async fn until(&mut self, wanted: &[&str]) -> Vec<Value> {
        let mut spans: Vec<Value> = Vec::new();
        let missing = |spans: &[Value]| {
            let mut open: Vec<&str> = wanted.to_vec();
            for span in spans {
                open.retain(|it| *it != label(span));
            }
            !open.is_empty()
        };
        while missing(&spans) {
            spans.push(self.next().await);
        }
        spans
    }
}

/// A span in a few words: whose it is, its kind and its name.
pub(crate) fn label(span: &Value) -> String {
    let text = |member: &str| span[member].as_str().unwrap_or_default().to_owned();
    format!("{} {} {}", text("service"), span["kind"], text("name"))
}

/// A gateway. Dropping it kills it.
pub(crate) struct Station {
    pub(crate) address: SocketAddr,
    pub(crate) bench: Bench,
    gateway: Child,
    log: Arc<Mutex<String>>,
}

impl Station {
    /// Starts a gateway with this configuration and these variables.
    pub(crate) async fn open(name: &str, config: &Value, variables: &[(&str, &str)]) -> Self {
        let bench = Bench::new(&format!("station-{name}"));
        let file = bench.folder.join("gantry.json");
        fs::write(&file, config.to_string()).expect("a file");
        let mut gateway = command(program());
        gateway
            .args(["serve", "--log-format", "json", "--listen", "127.0.0.1:0", "--config"])
            .arg(file)
            .env("XDG_STATE_HOME", &bench.folder)
            .env("GANTRY_AUTH", "none")
            .env("GANTRY_TRUST", "trusted")
            .env_remove("GANTRY_LISTEN")
            .env_remove("GANTRY_LOG")
            .envs(variables.iter().copied())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut gateway = gateway.spawn().expect("the gateway starts");
        let (log, address) = listen(gateway.stderr.take().expect("its log"));
        let address = soon("the address", address).await.expect("it says where it listens");
        Self { address, bench, gateway, log }
    }

    /// What it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.lock().expect("nobody panics with it").clone()
    }

    /// Waits until a server is ready and its tools are listed.
    pub(crate) async fn until_ready(&self, tool: &str) {
        let listed = async {
            loop {
                let list = gantry_tests::request::list().ask(self.address).await;
                let tools = list["result"]["tools"].as_array().cloned().unwrap_or_default();
                if tools.iter().any(|it| it["name"] == tool) {
                    return;
                }
                // Only the pause between two looks; nothing depends on its length.
                sleep(Duration::from_millis(50)).await;
            }
        };
        let ready = timeout(TIMEOUT, listed).await;
        assert!(ready.is_ok(), "`{tool}` is not listed: {}", self.log());
    }

    pub(crate) async fn metrics(&self) -> String {
        let headers = vec![("Host".to_owned(), self.address.to_string())];
        let (method, path) = ("GET".to_owned(), "/metrics".to_owned());
        let outgoing = Outgoing { method, path, headers, body: Vec::new() };
        outgoing.send(self.address).await.text().await
    }

    /// Ends it in good order; what was not sent yet is sent.
    pub(crate) async fn close(mut self) -> String {
        processes::signal(self.gateway.id().expect("it runs"), Signal::TERM);
        let status = soon("the end of the gateway", self.gateway.wait()).await.expect("a status");
        let log = self.log();
        assert!(status.success(), "{status}: {log}");
        log
    }
}

impl Drop for Station {
    fn drop(&mut self) {
        let _ = self.gateway.start_kill();
    }
}

fn folder() -> PathBuf {
    root().join("tests/servers/telemetry")
}

fn interpreter() -> PathBuf {
    cache().join("otlp/bin/python")
}

fn python(script: &str) -> tokio::process::Command {
    let mut command = command(interpreter());
    command.arg("-uB").arg(folder().join(script));
    command
}

/// The server that traces itself, as an entry.
pub(crate) fn server(collector: &Collector) -> Value {
    json!({
        "command": interpreter(),
        "args": [json!("-B"), json!(folder().join("server.py"))],
        "env": {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url},
    })
}

/// Calls a tool with the client that traces itself: the text of the result.
pub(crate) async fn call(
    station: &Station,
    collector: &Collector,
    mode: &str,
    tool: &str,
    arguments: &Value,
) -> String {
    let mut client = python("client.py");
    client
        .arg(format!("http://{}/mcp", station.address))
        .args([mode, tool, &arguments.to_string()])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    finish(&mut client).await.trim().to_owned()
}
