//! The task of a session: pumps all pipes at the same time, and ends the process. A response line
//! beyond the limit is replaced by one that reports so, for the caller that waits for it.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gantry_transport::LARGE;
use gantry_transport::lines::{LineDecoder, LineTooLong};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio::{join, select};

use super::line_writer::LineWriter;
use super::{Shared, describe};
use crate::child::{End, reap};
use crate::group::{Group, Watch};
use crate::output::Sink;

/// Bytes read at once.
pub(super) const CHUNK: usize = 64 << 10;

/// Bytes of each output that are read after the exit, when a process that left the group may still
/// write.
const DRAIN_LIMIT: usize = 8 << 20;

/// What the task owns.
pub(super) struct StdioTask {
    pub(super) group: Group,
    pub(super) watch: Watch,
    pub(super) input: Input,
    pub(super) output: Output,
    pub(super) stderr: Receiver,
    pub(super) grace: Duration,
    pub(super) shared: Arc<Shared>,
}

pub(super) struct Input {
    pub(super) writer: Arc<LineWriter>,
    pub(super) queued: mpsc::Receiver<Bytes>,
}

pub(super) struct Output {
    pub(super) pipe: Receiver,
    pub(super) decoder: LineDecoder,
    pub(super) lines: mpsc::Sender<Result<Bytes, String>>,
    pub(super) chunk: Vec<u8>,
}

impl StdioTask {
    pub(super) async fn run(mut self) {
        let mut stop = self.shared.stop.subscribe();
        let ended = select! {
            biased;
            // An error of the watch is found again, and reported, by `reap`.
            _ = self.watch.ended() => true,
            _ = stop.wait_for(|stop| *stop) => false,
            // A program that closes standard output has nothing more to send.
            () = pump(&mut self.input, &mut self.output, &mut self.stderr, &self.shared) => false,
        };
        if !ended {
            self.input.writer.close();
            if !self.wait(self.grace).await {
                self.group.terminate();
                self.wait(self.grace).await;
            }
        }
        // The leader is not reaped yet, so the group's number cannot belong to anyone else.
        self.group.kill();
        let end = reap(&mut self.group, &mut self.watch).await;
        self.finish(end).await;
    }

    /// Pumps for a while; returns whether the process has exited.
    async fn wait(&mut self, time: Duration) -> bool {
        let rest = async {
            pump(&mut self.input, &mut self.output, &mut self.stderr, &self.shared).await;
            pending::<()>().await;
        };
        select! {
            biased;
            _ = self.watch.ended() => true,
            () = sleep(time) => false,
            () = rest => false,
        }
    }

    /// Forwards what is left in the pipes, and reports how it ended.
    async fn finish(&mut self, end: End) {
        let mut chunk = vec![0; CHUNK];
        // Bounded: a process that left the group may write faster than this reads.
        for _ in 0..DRAIN_LIMIT / CHUNK {
            let Ok(length @ 1..) = rustix::io::read(&self.stderr, &mut chunk[..]) else { break };
            self.shared.tail().write(&chunk[..length]);
        }
        let is_pipe_open =
            timeout(self.grace, self.output.drain(&self.shared)).await.unwrap_or(true);
        if is_pipe_open {
            self.group.kill_orphans();
        }
        let reason = describe(&end, &self.shared.tail().text());
        self.shared.end.send_replace(Some(end));
        // The reader of the lines may be gone.
        let _ = timeout(self.grace, self.output.lines.send(Err(reason))).await;
    }
}

/// Pumps all pipes until the program closes standard output. Cancel safe.
async fn pump(input: &mut Input, output: &mut Output, stderr: &mut Receiver, shared: &Shared) {
    select! {
        () = output.pump(shared) => (),
        _ = async { join!(input.pump(), capture_stderr(stderr, shared)) } => (),
    }
}

/// Captures the end of standard error.
async fn capture_stderr(stderr: &mut Receiver, shared: &Shared) {
    let mut chunk = vec![0; 8 << 10];
    loop {
        shared.stderr.ready().await;
        match stderr.read(&mut chunk).await {
            Ok(length @ 1..) => {
                shared.stderr.charge(length);
                shared.tail().write(&chunk[..length]);
            }
            _ => return pending().await,
        }
    }
}

impl Input {
    /// Writes what the senders could not.
    pub(super) async fn pump(&mut self) {
        while self.writer.flush().await {
            select! {
                message = self.queued.recv() => match message {
                    Some(message) => self.writer.dequeue(&message, &mut self.queued),
                    None => {
                        // The last sender may have left lines.
                        self.writer.flush().await;
                        break;
                    }
                },
                () = self.writer.pending() => (),
            }
        }
        self.writer.close();
        pending::<()>().await;
    }
}

/// Senders may outlive the task, and hold the pipe.
impl Drop for Input {
    fn drop(&mut self) {
        self.writer.close();
    }
}

impl Output {
    async fn pump(&mut self, shared: &Shared) {
        let mut unyielded = 0;
        loop {
            self.forward_lines(shared).await;
            // Yields: a program that writes without a pause would keep the thread for megabytes at
            // a time.
            if unyielded > LARGE {
                unyielded = 0;
                tokio::task::yield_now().await;
            }
            match self.pipe.read(&mut self.chunk).await {
                Ok(length @ 1..) => {
                    unyielded += length;
                    self.decoder.feed(&self.chunk[..length]);
                }
                _ => return,
            }
        }
    }

    /// Forwards complete lines. One leaves the decoder only when there is room for it, so that none
    /// is lost on cancellation.
    async fn forward_lines(&mut self, shared: &Shared) {
        loop {
            let Ok(room) = self.lines.reserve().await else { return };
            match self.decoder.next_line() {
                Some(Ok(line)) => room.send(Ok(line)),
                Some(Err(long)) => {
                    shared.note(&long.to_string());
                    if let Some(rest) = skipped_response(&long) {
                        room.send(Ok(rest));
                    }
                }
                None => return,
            }
        }
    }

    /// Forwards what was written before the exit. Returns whether a process still holds the pipe
    /// open.
    async fn drain(&mut self, shared: &Shared) -> bool {
        let mut total = 0;
        while total < DRAIN_LIMIT {
            self.forward_lines(shared).await;
            match rustix::io::read(&self.pipe, &mut self.chunk[..]) {
                Ok(0) => break,
                Ok(length) => {
                    self.decoder.feed(&self.chunk[..length]);
                    total += length;
                }
                Err(_) => return true,
            }
        }
        if let Some(Ok(line)) = self.decoder.finish() {
            let _ = self.lines.send(Ok(line)).await;
        }
        false
    }
}

/// The member of a replacement response that has the reason.
pub const SKIPPED: &str = "gantry/skipped";

/// A replacement for a response line beyond the limit: most programs write the id first or last, so
/// it can be read from either end. None if the line was no response, or has no such id.
pub(super) fn skipped_response(long: &LineTooLong) -> Option<Bytes> {
    let (head, tail) = (String::from_utf8_lossy(&long.head), String::from_utf8_lossy(&long.tail));
    let members = [before_values(&head), behind_values(&tail)];
    if members.iter().any(|members| members.contains("\"method\"")) {
        return None;
    }
    let id = members.iter().find_map(|members| id(members))?;
    let text = format!("the answer is longer than the limit of {} bytes", long.limit);
    Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"{SKIPPED}":"{text}"}}"#).into())
}

/// The members before the first nested value.
fn before_values(head: &str) -> &str {
    let members = head.trim_start().strip_prefix('{').unwrap_or_default();
    members.find(['{', '[']).map_or(members, |end| &members[..end])
}

/// The members after the last nested value.
fn behind_values(tail: &str) -> &str {
    let members = tail.trim_end().strip_suffix('}').unwrap_or_default();
    members.rfind(['}', ']']).map_or("", |start| &members[start + 1..])
}

/// The id among these members. Ours are numbers.
fn id(members: &str) -> Option<u64> {
    let (_, value) = members.split_once("\"id\"")?;
    let value = value.trim_start().strip_prefix(':')?.trim_start();
    let end = value.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(value.len());
    value[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(line: &str) -> LineTooLong {
        let (head, tail) = line.split_at(line.len() / 2);
        LineTooLong { limit: 9, head: head.into(), tail: tail.into() }
    }

    #[test]
    fn whoever_waits_is_found() {
        let text = "xy".repeat(20);
        let result = format!(r#"{{"content":[{{"text":"{text}","id":3}}]}}"#);
        let cases = [
            (format!(r#"{{"jsonrpc":"2.0","id":7,"result":{result}}}"#), Some(7)),
            (format!(r#" {{ "id" : 7 , "result" : {result} }} "#), Some(7)),
            (format!(r#"{{"result":{result},"jsonrpc":"2.0","id":7}}"#), Some(7)),
            (format!(r#"{{"result":{result},"id":7,"jsonrpc":"2.0"}}"#), Some(7)),
            (format!(r#"{{"jsonrpc":"2.0","error":{result},"id": 7}}"#), Some(7)),
            (format!(r#"{{"method":"m","params":{result},"jsonrpc":"2.0","id":7}}"#), None),
            (format!(r#"{{"jsonrpc":"2.0","id":7,"method":"m","params":{result}}}"#), None),
            (format!(r#"{{"id":7,"params":{result},"method":"m"}}"#), None),
            (format!(r#"{{"jsonrpc":"2.0","id":"7","result":{result}}}"#), None),
            (format!(r#"{{"jsonrpc":"2.0","result":{result}}}"#), None),
            (format!(r#"[{result},{result}]"#), None),
            (text, None),
        ];
        for (line, expected) in cases {
            let rest =
                skipped_response(&long(&line)).map(|it| String::from_utf8(it.to_vec()).unwrap());
            let found = rest.as_deref().and_then(id);
            assert_eq!(found, expected, "{line}: {rest:?}");
            assert!(rest.is_none_or(|it| it.contains("longer than the limit of 9 bytes")));
        }
    }
}
