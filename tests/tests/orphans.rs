//! However the real binary ends, nothing that it started is left, nor what that has started.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// Longer than anything here takes; a test that waits this long has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A child, one that has left the group, and one whose parent is gone as well.
const NEST: &str = "#!/bin/sh
sleep 1000 &
setsid sleep 1000 &
(setsid sh -c 'sleep 1000 & sleep 1000' < /dev/null > /dev/null 2>&1 3>&- &)
sleep 1000
";

/// A gateway with tools that do not end by themselves. All have the folder in their environment.
struct Nest {
    folder: PathBuf,
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Nest {
    #[expect(clippy::disallowed_methods, reason = "the program itself is what is tested")]
    async fn open(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("gantry-orphans-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        write(&folder.join("nest.sh"), NEST);
        write(&folder.join("nest.tool.json"), &manifest("test.nest", "./nest.sh", &folder, 0));
        write(&folder.join("echo.sh"), "#!/bin/sh\nread line\necho 1\n");
        write(&folder.join("echo.tool.json"), &manifest("test.echo", "./echo.sh", &folder, 2));
        let mut child = Command::new(program())
            .args(["serve", "--stdio", "--tools"])
            .arg(&folder)
            .env("XDG_STATE_HOME", &folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .expect("the gateway starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut nest = Self { folder, child, input, output };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "orphans", "version": "0"}});
        nest.send(json!({"id": 0, "method": "initialize", "params": hello})).await;
        nest.receive().await;
        nest.send(json!({"method": "notifications/initialized"})).await;
        nest
    }

    async fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        let input = self.input.as_mut().expect("it is open");
        input.write_all(format!("{message}\n").as_bytes()).await.expect("it reads");
    }

    async fn receive(&mut self) -> Value {
        let line = timeout(PATIENCE, self.output.next_line()).await.expect("in time");
        serde_json::from_str(&line.expect("a line").expect("a message")).expect("JSON")
    }

    async fn call(&mut self, id: u32, name: &str) {
        let params = json!({"name": name, "arguments": {}});
        self.send(json!({"id": id, "method": "tools/call", "params": params})).await;
    }

    /// Processes that this gateway has started, or those have.
    fn brood(&self) -> usize {
        let mark = format!("NEST={}", self.folder.display());
        let marked = |id: &u32| {
            let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|it| it == mark.as_bytes())
        };
        processes().filter(marked).count()
    }

    fn warden(&self) -> u32 {
        let parent = format!("PPid:\t{}\n", self.child.id().expect("it runs"));
        let is_warden = |id: &u32| {
            let text = |file| fs::read(format!("/proc/{id}/{file}")).unwrap_or_default();
            let status = String::from_utf8(text("status")).unwrap_or_default();
            status.contains(&parent)
                && text("cmdline").split(|byte| *byte == 0).any(|it| it == b"__warden")
        };
        processes().find(is_warden).expect("a warden")
    }

    async fn is_left_by_all(&mut self, warden: u32) {
        timeout(PATIENCE, self.child.wait()).await.expect("in time").expect("an end");
        until("nothing is left", || self.brood() == 0).await;
        until("the warden ends", || !has_process(warden)).await;
    }
}

impl Drop for Nest {
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

fn write(path: &Path, text: &str) {
    fs::write(path, text).expect("a file");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("its mode");
}

fn manifest(name: &str, command: &str, folder: &Path, standby: usize) -> String {
    json!({
        "name": name, "version": "1.0.0", "description": "For a test.", "runtime": "process",
        "command": command, "timeout": "600s", "env": {"NEST": folder}, "standby": standby,
        "inputSchema": {"type": "object"}, "outputSchema": {},
    })
    .to_string()
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").expect("processes").flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// One that has ended but was not reaped by whoever should is no longer there.
fn has_process(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("State:\tZ")
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn killed_under_load() {
    let mut nest = Nest::open("killed").await;
    nest.call(1, "test.echo").await;
    assert_eq!(nest.receive().await["id"], 1);
    for id in 2..22 {
        nest.call(id, "test.nest").await;
    }
    // Six for each call: the script, two beside it, and three of which two are nobody's children.
    until("all have started", || nest.brood() >= 20 * 6 + 2).await;
    let warden = nest.warden();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let id = Pid::from_raw(warden.cast_signed()).expect("a number");
        kill_process(id, signal).expect("it can be sent");
    }
    nest.child.start_kill().expect("it runs");
    nest.is_left_by_all(warden).await;
}

#[tokio::test]
async fn ended_in_order() {
    let mut nest = Nest::open("ended").await;
    nest.call(1, "test.nest").await;
    until("all have started", || nest.brood() >= 6).await;
    let warden = nest.warden();
    let gateway = Pid::from_raw(nest.child.id().expect("it runs").cast_signed());
    kill_process(gateway.expect("a number"), Signal::TERM).expect("it can be sent");
    nest.input = None;
    nest.is_left_by_all(warden).await;
}
