//! A client over stdio: a child process, one JSON message a line, and a number of calls in flight.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

use super::answer;
use super::request::{Era, INITIALIZE, INITIALIZED, Request, Work};
use crate::fault::Fault;

/// What the handshake and the last answers may take beyond the time that is measured.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A child that speaks 2025-11-25 over its pipes; ended when dropped.
pub(crate) struct Pipe {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// Dropped with the pipe, which calls off the watch.
    _watch: mpsc::Sender<()>,
}

impl Pipe {
    /// Starts the child and does the handshake. The child is ended if it is still needed some time
    /// after `lasts`.
    pub(crate) fn start(mut command: Command, lasts: Duration) -> Result<Self, Fault> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(Fault::machine("start a stdio server"))?;
        let watch = watch(Pid::from_child(&child), lasts + TIMEOUT);
        let input = child.stdin.take().ok_or(Fault::Closed("its input"))?;
        let output = child.stdout.take().ok_or(Fault::Closed("its output"))?;
        let mut pipe = Self { child, input, output: BufReader::new(output), _watch: watch };
        pipe.write(format!("{INITIALIZE}\n").as_bytes())?;
        pipe.read(&mut String::new())?;
        pipe.write(format!("{INITIALIZED}\n").as_bytes())?;
        Ok(pipe)
    }

    /// The process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Keeps `depth` calls in flight for the given time, then lets them come in. Returns the time
    /// of each call, and the next free id.
    pub(crate) fn play(
        &mut self,
        first: u64,
        depth: usize,
        lasts: Duration,
    ) -> Result<(Vec<Duration>, u64), Fault> {
        let mut request = Request::line(Era::Legacy, Work::Echo);
        let (mut sent, mut times, mut next) = (HashMap::new(), Vec::new(), first);
        let mut batch = Vec::new();
        let began = Instant::now();
        let mut wanted = depth;
        loop {
            for _ in 0..wanted {
                request.number(next);
                batch.extend_from_slice(request.bytes());
                sent.insert(next, Instant::now());
                next += 1;
            }
            self.write(&batch)?;
            batch.clear();
            let done = self.collect(&mut sent, &mut times)?;
            if sent.is_empty() && began.elapsed() >= lasts {
                return Ok((times, next));
            }
            wanted = if began.elapsed() < lasts { done } else { 0 };
        }
    }

    /// Waits for an answer and takes all that have come with it; they make room for as many calls,
    /// which are then sent together.
    fn collect(
        &mut self,
        sent: &mut HashMap<u64, Instant>,
        times: &mut Vec<Duration>,
    ) -> Result<usize, Fault> {
        let (mut line, mut done) = (String::new(), 0);
        while done == 0 || memchr::memchr(b'\n', self.output.buffer()).is_some() {
            self.read(&mut line)?;
            // A notice may come between the answers.
            let Some(id) = identify(&line)? else { continue };
            let start = sent.remove(&id).ok_or_else(|| unexpected(id, &line))?;
            times.push(start.elapsed());
            answer::check(line.as_bytes(), Work::Echo, id)?;
            done += 1;
        }
        Ok(done)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.input.write_all(bytes).map_err(Fault::machine("write to a stdio server"))
    }

    fn read(&mut self, line: &mut String) -> Result<(), Fault> {
        line.clear();
        match self.output.read_line(line) {
            Ok(0) => Err(Fault::Closed("its output")),
            Ok(_) => Ok(()),
            Err(source) => Err(Fault::machine("read from a stdio server")(source)),
        }
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing left to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends the child if the work is not over in time: reading from its pipe would never return.
fn watch(pid: Pid, limit: Duration) -> mpsc::Sender<()> {
    let (tx, rx) = mpsc::channel();
    std::thread::spawn(move || {
        if rx.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            // It may have ended in this moment.
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    tx
}

#[derive(Deserialize)]
struct Head {
    id: Option<u64>,
}

fn identify(line: &str) -> Result<Option<u64>, Fault> {
    let head: Head = serde_json::from_str(line).map_err(|_| unexpected(0, line))?;
    Ok(head.id)
}

fn unexpected(id: u64, line: &str) -> Fault {
    Fault::Answer { id, body: line.trim_end().to_owned() }
}
