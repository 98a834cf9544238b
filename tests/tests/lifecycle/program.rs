//! The real binary, started by a test and ended with it.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use gantry_tests::test_server::soon;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

/// A running program. Dropping it kills it.
pub(crate) struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<Lines<BufReader<ChildStdout>>>,
    log: Option<Lines<BufReader<ChildStderr>>>,
}

/// How the program ended.
#[derive(Debug)]
pub(crate) struct End {
    /// Its exit code; none when a signal killed it.
    pub(crate) code: Option<i32>,
    /// What it wrote to standard error that nobody had read.
    pub(crate) log: String,
}

/// A directory for the state of one test's programs, empty at first.
pub(crate) fn state(name: &str) -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let unique = format!("lifecycle-{name}-{}-{number}", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique);
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("the target directory can be written");
    path
}

/// The binary, which stands two directories above the test's own.
fn binary() -> PathBuf {
    let test = std::env::current_exe().expect("the test knows where it is");
    let target = test.ancestors().nth(2).expect("tests stand in `deps`");
    let binary = target.join("gantry");
    assert!(binary.is_file(), "{} is missing; run `cargo build` first", binary.display());
    binary
}

impl Program {
    /// Starts the program.
    #[expect(clippy::disallowed_methods, reason = "the child is killed when the test drops it")]
    pub(crate) fn start(state: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(binary())
            .args(arguments)
            .env("XDG_STATE_HOME", state)
            .env("GANTRY_AUTH", "none")
            .env_remove("XDG_RUNTIME_DIR")
            .env_remove("GANTRY_LISTEN")
            .env_remove("GANTRY_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the binary runs");
        let output = child.stdout.take().map(|it| BufReader::new(it).lines());
        let log = child.stderr.take().expect("standard error is piped");
        Self { input: child.stdin.take(), output, log: Some(BufReader::new(log).lines()), child }
    }

    /// Starts `serve` on a free port and waits until it listens.
    pub(crate) async fn serve(state: &Path) -> (Self, SocketAddr) {
        let mut program = Self::start(state, &["serve", "--listen", "127.0.0.1:0"]);
        let address = program.address().await;
        (program, address)
    }

    /// Waits until it says where it listens.
    pub(crate) async fn address(&mut self) -> SocketAddr {
        loop {
            let line = soon("the address", self.log().next_line()).await.expect("text");
            let line = line.expect("it says where it listens before it ends");
            if let Some((_, rest)) = line.split_once("http://")
                && let Some((address, _)) = rest.split_once("/mcp")
            {
                return address.parse().expect("an address");
            }
        }
    }

    /// Waits until it logs a line with this text, and returns the line.
    pub(crate) async fn logged(&mut self, text: &str) -> String {
        loop {
            let line = soon(text, self.log().next_line()).await.expect("text");
            let line = line.unwrap_or_else(|| panic!("it ended before it logged `{text}`"));
            if line.contains(text) {
                return line;
            }
        }
    }

    /// The number of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id().expect("it has not been waited for")
    }

    /// Writes to its standard input.
    pub(crate) async fn write(&mut self, text: &str) {
        let input = self.input.as_mut().expect("standard input is open");
        input.write_all(text.as_bytes()).await.expect("it reads");
        input.flush().await.expect("it reads");
    }

    /// Closes its standard input.
    pub(crate) fn end_input(&mut self) {
        self.input = None;
    }

    /// Closes its standard error.
    pub(crate) fn end_log(&mut self) {
        self.log = None;
    }

    fn log(&mut self) -> &mut Lines<BufReader<ChildStderr>> {
        self.log.as_mut().expect("standard error is open")
    }

    /// Closes its standard output.
    pub(crate) fn end_output(&mut self) {
        self.output = None;
    }

    /// The next message on its standard output; none at the end.
    pub(crate) async fn receive(&mut self) -> Option<Value> {
        let output = self.output.as_mut().expect("standard output is open");
        let line = soon("a line", output.next_line()).await.expect("text")?;
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line}")))
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = self.child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?));
        kill_process(id.expect("it runs"), signal).expect("it is ours");
    }

    /// Waits for its end.
    pub(crate) async fn end(mut self) -> End {
        let status = soon("the end of the program", self.child.wait()).await.expect("a status");
        let mut log = String::new();
        if let Some(lines) = &mut self.log {
            let rest = lines.get_mut().read_to_string(&mut log);
            soon("the end of the log", rest).await.expect("text");
        }
        End { code: status.code(), log }
    }

    /// Asks it to stop and checks that it does so in good order.
    pub(crate) async fn stop(self) {
        self.signal(Signal::TERM);
        let end = self.end().await;
        assert_eq!(end.code, Some(0), "{}", end.log);
    }
}
