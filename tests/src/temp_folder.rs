//! The real binary over a folder of tools, and the folder itself: both go when the test ends.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// Longer than anything takes, even when `uv` installs a package; who waits this long has failed.
const TIMEOUT: Duration = Duration::from_secs(90);

/// A folder of its own for one test.
#[derive(Debug)]
pub struct Bench {
    /// Where everything of the test lies.
    pub folder: PathBuf,
}

impl Bench {
    /// An empty folder, with an empty `tools` in it.
    pub fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("gantry-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("tools")).expect("a folder");
        Self { folder }
    }

    /// Where the gateway looks for tools.
    pub fn tools(&self) -> PathBuf {
        self.folder.join("tools")
    }

    /// Writes an executable file, making the folders on the way.
    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().expect("it lies in the folder")).expect("a folder");
        fs::write(&path, text).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
        path
    }

    /// `gantry serve` over the tools, to be given its door.
    fn serve(&self) -> Command {
        let mut command = command(program());
        command
            .args(["serve", "--tools"])
            .arg(self.tools())
            .env("XDG_STATE_HOME", &self.folder)
            .env("GANTRY_AUTH", "none")
            .env("FILES_ROOT", self.folder.join("files"))
            .env_remove("GANTRY_LISTEN")
            .env_remove("GANTRY_LOG")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A gateway over a bench's tools, spoken to over stdio. Dropping it ends the gateway.
#[derive(Debug)]
pub struct WatchedFixture {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    last: u64,
}

impl WatchedFixture {
    /// Starts the gateway and greets it.
    pub async fn open(bench: &Bench) -> Self {
        let mut command = bench.serve();
        command.arg("--stdio").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the gateway starts");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output")).lines();
        let mut watched_fixture = Self { _child: child, input, output, last: 0 };
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "workshop", "version": "0"}});
        watched_fixture.ask("initialize", hello).await;
        watched_fixture
            .send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        watched_fixture
    }

    async fn send(&mut self, message: &Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.expect("it reads");
    }

    async fn receive(&mut self) -> Value {
        let line = timeout(TIMEOUT, self.output.next_line()).await.expect("in time");
        serde_json::from_str(&line.expect("a line").expect("a message")).expect("JSON")
    }

    /// Asks and waits for the answer: its result, and the notifications that came before it.
    pub async fn hear(&mut self, method: &str, params: Value) -> (Value, Vec<Value>) {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        let mut notices = Vec::new();
        loop {
            let mut message = self.receive().await;
            if message["id"] == id {
                assert_eq!(message.get("error"), None, "{method}");
                return (message["result"].take(), notices);
            }
            notices.push(message);
        }
    }

    /// Asks and waits for the result.
    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.hear(method, params).await.0
    }

    /// Calls a tool.
    pub async fn call(&mut self, name: &str, arguments: &Value) -> Value {
        self.ask("tools/call", json!({"name": name, "arguments": arguments})).await
    }
}

/// A gateway over a bench's tools that listens for HTTP. Dropping it ends the gateway.
#[derive(Debug)]
pub struct Listening {
    _child: Child,
    _log: Lines<BufReader<ChildStderr>>,
    /// Its Streamable HTTP endpoint.
    pub url: String,
}

impl Listening {
    /// Starts the gateway on a free port and waits until it says which.
    pub async fn open(bench: &Bench) -> Self {
        let mut command = bench.serve();
        command.args(["--listen", "127.0.0.1:0"]).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the gateway starts");
        let mut log = BufReader::new(child.stderr.take().expect("its log")).lines();
        loop {
            let line = timeout(TIMEOUT, log.next_line()).await.expect("in time").expect("text");
            let line = line.expect("it says where it listens before it ends");
            let url = line.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:"));
            if let Some(url) = url.filter(|url| url.ends_with("/mcp")) {
                return Self { _child: child, _log: log, url: url.to_owned() };
            }
        }
    }
}

/// The gateway's binary, which stands one folder above the tests'.
pub fn program() -> PathBuf {
    let beside = std::env::current_exe().expect("a path");
    let target = beside.ancestors().nth(2).expect("tests stand in `deps`");
    let program = target.join("gantry");
    assert!(program.exists(), "{} is missing; run `cargo build` first", program.display());
    program
}

/// The gateway to test: the one that `GANTRY_PROGRAM` names, such as a release build, or else
/// [`program`].
pub fn gateway() -> PathBuf {
    std::env::var_os("GANTRY_PROGRAM").map_or_else(program, PathBuf::from)
}

/// `PATH`, with the `uv` that `cargo xtask provision` installs in front of what is there.
pub fn path() -> String {
    let rest = std::env::var("PATH").unwrap_or_default();
    format!("{}:{rest}", cache().join("uv/bin").display())
}

/// Where `cargo xtask provision` installs what tests talk to.
pub fn cache() -> PathBuf {
    let given = |name: &str| std::env::var_os(name).map(PathBuf::from);
    given("GANTRY_CACHE")
        .or_else(|| given("XDG_CACHE_HOME").map(|base| base.join("gantry-dev")))
        .or_else(|| given("HOME").map(|home| home.join(".cache/gantry-dev")))
        .expect("a home")
}

/// The root of the source tree.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate lies in the root")
}

/// A program of the machine, such as a compiler, that sees the `uv` of the tests.
#[expect(clippy::disallowed_methods, reason = "it ends with the test that waits for it")]
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env("PATH", path()).stdin(Stdio::null()).kill_on_drop(true);
    // Who tests trust says so in a configuration, which goes first.
    command.env("GANTRY_TRUST", "trusted");
    // The keychain of whoever runs the tests is none of their business.
    command.env_remove("DBUS_SESSION_BUS_ADDRESS");
    // Nor are their running gateways.
    command.env_remove("XDG_RUNTIME_DIR").env_remove("GANTRY_ADMIN_TOKEN");
    command
}

/// Runs a program to its end: what it printed. One that fails, fails the test.
pub async fn finish(command: &mut Command) -> String {
    let output = timeout(TIMEOUT, command.output()).await.expect("in time").expect("it runs");
    let [printed, complaints] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{:?}\n{printed}\n{complaints}", command.as_std());
    printed
}
