//! Other programs: run to the end, capture, or keep in the background, always in a process group
//! of their own so that a timeout or an early return ends their children too.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::failure::{Failure, Outcome};

/// How often a child with a deadline is looked at.
const POLL: Duration = Duration::from_millis(50);

/// A command for `program`, the only place where one is made.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "the one door to other programs in xtask")]
    Command::new(program)
}

/// The cargo that runs us, with the workspace's root as its directory.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut cargo = command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root);
    cargo
}

/// Runs to the end with our own output streams; anything but success is a failure.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|source| unstarted(command, &source))?;
    expect_success(command, status)
}

/// Runs to the end with both output streams in the file `log`.
pub(crate) fn run_logged(command: &mut Command, log: &File) -> Outcome {
    let stream =
        || log.try_clone().map(Stdio::from).map_err(|source| Failure::new(source.to_string()));
    command.stdin(Stdio::null()).stdout(stream()?).stderr(stream()?);
    run(command)
}

/// Standard output of a command that must succeed.
pub(crate) fn capture(command: &mut Command) -> Outcome<String> {
    capture_with(command, Stdio::inherit())
}

/// The same of a command that may fail: what it complains is not shown.
pub(crate) fn capture_quietly(command: &mut Command) -> Outcome<String> {
    capture_with(command, Stdio::null())
}

fn capture_with(command: &mut Command, errors: Stdio) -> Outcome<String> {
    let output = command
        .stdin(Stdio::null())
        .stderr(errors)
        .output()
        .map_err(|source| unstarted(command, &source))?;
    expect_success(command, output.status)?;
    String::from_utf8(output.stdout)
        .map_err(|_| Failure::new(format!("{} printed bytes that are not UTF-8", name_of(command))))
}

/// Whether a program can be started at all, judged by `program --version`.
pub(crate) fn available(program: &str, arguments: &[&str]) -> bool {
    command(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A child in a process group of its own; the whole group is ended when this is dropped.
pub(crate) struct Group {
    child: Child,
    watch: Child,
}

impl Group {
    /// Starts the command as the leader of a new group.
    pub(crate) fn start(command: &mut Command) -> Outcome<Self> {
        command.process_group(0);
        let mut child = command.spawn().map_err(|source| unstarted(command, &source))?;
        match watch(&child) {
            Ok(watch) => Ok(Self { child, watch }),
            Err(failure) => {
                end_group(&mut child);
                Err(failure)
            }
        }
    }

    /// Waits for the leader's end, but no longer than `limit`; `None` says that it still runs.
    pub(crate) fn wait(&mut self, limit: Duration) -> Outcome<Option<ExitStatus>> {
        let deadline = Instant::now() + limit;
        loop {
            let ended = self.child.try_wait().map_err(|source| Failure::new(source.to_string()))?;
            if ended.is_some() || Instant::now() >= deadline {
                return Ok(ended);
            }
            thread::sleep(POLL);
        }
    }

    /// The lines of the child's standard error, read on a thread so that the pipe never fills up.
    pub(crate) fn error_lines(&mut self) -> mpsc::Receiver<String> {
        let (sender, receiver) = mpsc::channel();
        if let Some(stream) = self.child.stderr.take() {
            thread::spawn(move || forward_lines(stream, &sender));
        }
        receiver
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The watch goes first: it must not outlive the number that it would kill.
        let _ = self.watch.kill();
        let _ = self.watch.wait();
        end_group(&mut self.child);
    }
}

/// A shell that ends the child's group when its standard input closes, that is when we are gone
/// without a word: interrupted or killed. A group of its own saves it from the same interrupt.
fn watch(child: &Child) -> Outcome<Child> {
    let mut shell = command("sh");
    shell
        .args(["-c", "read -r line; kill -s KILL -- \"-$1\"", "watch", &child.id().to_string()])
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    shell.spawn().map_err(|source| unstarted(&shell, &source))
}

/// The group outlives its leader, so this is right even after a wait that saw the leader's end. A
/// failure says that nobody is left in it.
fn end_group(leader: &mut Child) {
    let _ = kill_process_group(Pid::from_child(leader), Signal::KILL);
    let _ = leader.wait();
}

fn forward_lines(stream: impl Read, sender: &mpsc::Sender<String>) {
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        // A receiver that is gone only means that nobody reads on; the pipe must still be drained.
        let _ = sender.send(line);
    }
}

fn expect_success(command: &Command, status: ExitStatus) -> Outcome {
    if status.success() {
        return Ok(());
    }
    Err(Failure::new(format!("{} ended with {status}", name_of(command))))
}

fn unstarted(command: &Command, source: &std::io::Error) -> Failure {
    Failure::new(format!("{} cannot be started: {source}", name_of(command)))
}

/// The command as a developer would recognise it: the program's name and the first arguments.
fn name_of(command: &Command) -> String {
    let program = command.get_program();
    let program = Path::new(program).file_name().unwrap_or(program);
    let words = std::iter::once(program).chain(command.get_args().take(3));
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    format!("`{}`", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut shell = command("sh");
        shell.args(["-c", script]);
        shell
    }

    #[test]
    fn captures_output_and_reports_failure() {
        assert_eq!(capture(&mut shell("echo hello")).expect("echo succeeds"), "hello\n");
        let failure = run(&mut shell("exit 3")).expect_err("exit 3 is no success");
        assert!(failure.to_string().contains("exit status: 3"), "{failure}");
    }

    #[test]
    fn a_missing_program_is_named() {
        let failure = run(&mut command("no-such-program")).expect_err("there is none");
        assert!(failure.to_string().contains("`no-such-program` cannot be started"), "{failure}");
    }

    #[test]
    fn dropping_a_group_ends_grandchildren() {
        let mut script = shell("sleep 60 & echo started >&2; wait");
        let mut group = Group::start(script.stderr(Stdio::piped())).expect("sh starts");
        let lines = group.error_lines();
        assert_eq!(lines.recv().as_deref(), Ok("started"));
        drop(group);
        // The pipe closes when the last process that holds it has ended.
        let end = lines.recv_timeout(Duration::from_secs(30));
        assert_eq!(end, Err(mpsc::RecvTimeoutError::Disconnected));
    }

    #[test]
    fn the_watch_ends_the_group_when_we_are_gone() {
        let mut script = shell("echo started >&2; sleep 60");
        let mut group = Group::start(script.stderr(Stdio::piped())).expect("sh starts");
        let lines = group.error_lines();
        assert_eq!(lines.recv().as_deref(), Ok("started"));
        drop(group.watch.stdin.take());
        let end = lines.recv_timeout(Duration::from_secs(30));
        assert_eq!(end, Err(mpsc::RecvTimeoutError::Disconnected));
    }

    #[test]
    fn waiting_stops_at_the_limit() {
        let mut group = Group::start(&mut shell("sleep 60")).expect("sh starts");
        assert!(group.wait(Duration::from_millis(1)).expect("waiting works").is_none());
    }
}
