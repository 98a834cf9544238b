//! Real gateways that share a folder, and the command line beside them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use gantry_tests::processes;
use gantry_tests::temp_folder::{Bench, command, program};
use gantry_tests::test_server::soon;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

/// The tool that needs an approval.
pub(crate) const TOOL: &str = "file.wipe";

/// A running gateway. Dropping it kills it.
pub(crate) struct Gateway {
    child: Child,
    output: Lines<BufReader<ChildStdout>>,
    pub(crate) address: Option<String>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// A folder with a configuration and a tool that needs an approval.
pub(crate) fn bench(name: &str) -> Bench {
    let bench = Bench::new(&format!("control-{name}"));
    let manifest = json!({
        "name": TOOL, "version": "1.0.0", "description": "Wipes the file that is named.",
        "command": ["sh", "-c", "echo '{\"wiped\": true}'"], "annotations": {"destructiveHint": true},
        "inputSchema": {"type": "object", "properties": {
            "path": {"type": "string", "description": "Which file."},
        }},
        "outputSchema": {"type": "object", "properties": {
            "wiped": {"type": "boolean", "description": "Whether it is gone."},
        }},
    });
    bench.write("tools/wipe.tool.json", &manifest.to_string());
    for file in ["gantry.json", "other.json"] {
        let config = json!({"tools": ["./tools"], "policy": {"trust": "verified"}});
        bench.write(file, &config.to_string());
    }
    bench
}

/// Where sockets are when there is no runtime directory.
pub(crate) fn directory(bench: &Bench) -> PathBuf {
    bench.folder.join("gantry/run")
}

/// The sockets of a directory.
pub(crate) fn sockets(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

impl Gateway {
    /// Starts a gateway and waits until it serves.
    pub(crate) async fn start(bench: &Bench, words: &[&str], variables: &[(&str, &str)]) -> Self {
        let is_stdio = words.contains(&"--stdio");
        let mut start = command(program());
        start.arg("serve").args(words).current_dir(&bench.folder);
        start.env("XDG_STATE_HOME", &bench.folder).env("GANTRY_AUTH", "none");
        start.env_remove("GANTRY_TRUST").env_remove("GANTRY_LOG").env_remove("GANTRY_LISTEN");
        if !is_stdio {
            start.args(["--listen", "127.0.0.1:0"]);
        }
        let pipes = start.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.envs(variables.iter().copied()).spawn().expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut log = BufReader::new(child.stderr.take().expect("its log")).lines();
        let mut gateway = Self { child, output, address: None };
        if is_stdio {
            let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "control", "version": "0"}});
            gateway.send("initialize", &hello).await;
            gateway.receive().await;
        } else {
            let address = async {
                loop {
                    let line = log.next_line().await.expect("text").expect("it runs");
                    let url = line.split_whitespace().find_map(|it| it.strip_prefix("http://"));
                    if let Some(address) = url.and_then(|it| it.strip_suffix("/mcp")) {
                        return address.to_owned();
                    }
                }
            };
            gateway.address = Some(soon("the address", address).await);
        }
        tokio::spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });
        gateway
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// Sends a request over standard input.
    pub(crate) async fn send(&mut self, method: &str, params: &Value) {
        let line = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let input = self.child.stdin.as_mut().expect("its input");
        input.write_all(format!("{line}\n").as_bytes()).await.expect("it reads");
    }

    /// The next answer on standard output.
    pub(crate) async fn receive(&mut self) -> Value {
        loop {
            let line = soon("an answer", self.output.next_line()).await.expect("text");
            let message: Value = serde_json::from_str(&line.expect("a message")).expect("JSON");
            if message.get("id").is_some() {
                return message;
            }
        }
    }

    /// Ends it with a signal and waits for that.
    pub(crate) async fn end(mut self, signal: Signal) {
        processes::signal(self.pid(), signal);
        soon("its end", self.child.wait()).await.expect("a status");
    }
}

/// Runs the command line with the state of a bench.
pub(crate) async fn gantry(bench: &Bench, words: &[&str], variables: &[(&str, &str)]) -> Run {
    let mut run = command(program());
    run.args(words).current_dir(&bench.folder).env("XDG_STATE_HOME", &bench.folder);
    run.env_remove("GANTRY_CONFIG").env_remove("GANTRY_TRUST").envs(variables.iter().copied());
    let output = soon("the end of the command", run.output()).await.expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Run { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Runs a Python program as another user, which it becomes by `become()`. None if this is not root,
/// who alone can do that.
pub(crate) fn stranger(script: &str, path: &Path) -> Option<Child> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let before = "import os, socket, sys\n\
                  s = socket.socket(socket.AF_UNIX)\n\
                  s.settimeout(60)\n\
                  def become():\n    os.setgroups([]); os.setgid(65534); os.setuid(65534)\n";
    let mut python = command("python3");
    python.args(["-c", &format!("{before}{script}")]).arg(path);
    Some(python.stdout(Stdio::piped()).spawn().expect("python starts"))
}

/// What such a program printed.
pub(crate) async fn printed(mut child: Child) -> String {
    let mut text = String::new();
    let mut output = child.stdout.take().expect("its output");
    soon("the end of its output", output.read_to_string(&mut text)).await.expect("text");
    soon("its end", child.wait()).await.expect("a status");
    text
}
