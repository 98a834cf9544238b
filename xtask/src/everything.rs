//! The `everything` example as a test subject: the optimized build, started on a free port, ended
//! with its whole process group when dropped.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome};
use crate::process::{self, Group};
use crate::workspace;

/// How long a server may take to print its address.
const START_LIMIT: Duration = Duration::from_secs(30);

/// A running example.
pub(crate) struct Everything {
    /// Held for its `Drop`, which ends the server.
    _group: Group,
    authority: String,
}

/// Where [`crate::build::dist`] leaves the example.
pub(crate) fn binary(root: &Path) -> PathBuf {
    workspace::target(root).join("dist/examples/everything")
}

impl Everything {
    /// Starts the built example on a port of the system's choice.
    pub(crate) fn start(root: &Path) -> Outcome<Self> {
        Self::launch(&binary(root), "both")
    }

    /// Starts an example for the clients of one era, or of both.
    pub(crate) fn launch(binary: &Path, era: &str) -> Outcome<Self> {
        let mut command = process::command(binary);
        command
            .args(["--listen", "127.0.0.1:0", "--era", era])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut group = Group::start(&mut command)?;
        let lines = group.error_lines();
        let authority = announced("the `everything` example", &lines)?;
        Ok(Self { _group: group, authority })
    }

    /// Its Streamable HTTP endpoint.
    pub(crate) fn http(&self) -> String {
        format!("http://{}/mcp", self.authority)
    }

    /// Its HTTP+SSE endpoint.
    pub(crate) fn sse(&self) -> String {
        format!("http://{}/sse", self.authority)
    }

    /// Its WebSocket endpoint.
    pub(crate) fn websocket(&self) -> String {
        format!("ws://{}/ws", self.authority)
    }
}

/// Reads lines until one announces the endpoint; a failure repeats what was printed instead.
pub(crate) fn announced(program: &str, lines: &Receiver<String>) -> Outcome<String> {
    find(program, lines, authority_in)
}

/// The port that a script announces as `listening PORT`.
pub(crate) fn listening(program: &str, lines: &Receiver<String>) -> Outcome<u16> {
    find(program, lines, |line| line.strip_prefix("listening ")?.parse().ok())
}

fn find<T>(
    program: &str,
    lines: &Receiver<String>,
    found: impl Fn(&str) -> Option<T>,
) -> Outcome<T> {
    let deadline = Instant::now() + START_LIMIT;
    let mut printed = Vec::new();
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let line = lines.recv_timeout(left).map_err(|end| {
            let what = match end {
                RecvTimeoutError::Disconnected => "ended before it listened",
                RecvTimeoutError::Timeout => "printed no address in time",
            };
            Failure::new(format!("{program} {what}\n{}", printed.join("\n")))
        })?;
        if let Some(address) = found(&line) {
            return Ok(address);
        }
        printed.push(line);
    }
}

/// Host and port of the endpoint that a line announces, if it does.
fn authority_in(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("http://127.0.0.1:")?;
    let (port, _) = rest.split_once("/mcp")?;
    let port: u16 = port.parse().ok()?;
    Some(format!("127.0.0.1:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn an_early_end_repeats_what_was_printed() {
        let (sender, lines) = mpsc::channel();
        sender.send("address in use".to_owned()).expect("the receiver is alive");
        drop(sender);
        let failure = announced("it", &lines).expect_err("no line announces anything").to_string();
        assert!(
            failure.contains("ended before") && failure.contains("address in use"),
            "{failure}"
        );
    }

    #[test]
    fn finds_the_announced_port() {
        let cases = [
            ("listening on http://127.0.0.1:4711/mcp", Some("127.0.0.1:4711")),
            ("http://127.0.0.1:80/mcp, http://127.0.0.1:80/sse", Some("127.0.0.1:80")),
            ("http://127.0.0.1:x/mcp", None),
            ("http://127.0.0.1:4711/healthz", None),
            ("starting", None),
        ];
        for (line, expected) in cases {
            assert_eq!(authority_in(line).as_deref(), expected, "{line}");
        }
    }
}
