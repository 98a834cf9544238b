//! The task behind a session: all pipes are served at the same time, and the process is brought to
//! its end.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio::{join, select};

use super::line_writer::LineWriter;
use super::{Shared, describe, skipped_response};
use crate::child::{End, reap};
use crate::group::{Group, Watch};
use crate::output::Sink;
use gantry_transport::LARGE;
use gantry_transport::lines::LineDecoder;

/// Bytes read at once.
pub(super) const CHUNK: usize = 64 << 10;

/// Bytes of each output read after the end, when a process that left the group may still write.
const LAST: usize = 8 << 20;

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
    pub(super) told: mpsc::Receiver<Bytes>,
}

pub(super) struct Output {
    pub(super) pipe: Receiver,
    pub(super) decoder: LineDecoder,
    pub(super) heard: mpsc::Sender<Result<Bytes, String>>,
    pub(super) chunk: Vec<u8>,
}

impl StdioTask {
    pub(super) async fn run(mut self) {
        let mut stop = self.shared.stop.subscribe();
        let ended = select! {
            biased;
            // A watch that fails is found again, and told, by `reap`.
            _ = self.watch.ended() => true,
            _ = stop.wait_for(|stop| *stop) => false,
            // Who closes standard output has nothing more to say.
            () = flow(&mut self.input, &mut self.output, &mut self.stderr, &self.shared) => false,
        };
        if !ended {
            self.input.writer.close();
            if !self.wait(self.grace).await {
                self.group.ask();
                self.wait(self.grace).await;
            }
        }
        // The leader is not reaped yet, so the group's number cannot belong to anyone else.
        self.group.kill();
        let end = reap(&mut self.group, &mut self.watch).await;
        self.finish(end).await;
    }

    /// Lets it go on for a while; says whether it has ended.
    async fn wait(&mut self, time: Duration) -> bool {
        let rest = async {
            flow(&mut self.input, &mut self.output, &mut self.stderr, &self.shared).await;
            pending::<()>().await;
        };
        select! {
            biased;
            _ = self.watch.ended() => true,
            () = sleep(time) => false,
            () = rest => false,
        }
    }

    /// Passes on what is left in the pipes, and says how it ended.
    async fn finish(&mut self, end: End) {
        let mut chunk = vec![0; CHUNK];
        // Bounded: a process that left the group may write faster than this reads.
        for _ in 0..LAST / CHUNK {
            let Ok(length @ 1..) = rustix::io::read(&self.stderr, &mut chunk[..]) else { break };
            self.shared.tail().take(&chunk[..length]);
        }
        let stray = timeout(self.grace, self.output.drain(&self.shared)).await.unwrap_or(true);
        if stray {
            self.group.kill_orphans();
        }
        let reason = describe(&end, &self.shared.tail().text());
        self.shared.end.send_replace(Some(end));
        // Whoever hears the lines may have left.
        let _ = timeout(self.grace, self.output.heard.send(Err(reason))).await;
    }
}

/// Moves bytes for as long as it is awaited, and may be dropped and begun again at any time. It
/// ends when the program closes its standard output.
async fn flow(input: &mut Input, output: &mut Output, stderr: &mut Receiver, shared: &Shared) {
    select! {
        () = output.flow(shared) => (),
        _ = async { join!(input.flow(), keep(stderr, shared)) } => (),
    }
}

/// Keeps the end of standard error.
async fn keep(stderr: &mut Receiver, shared: &Shared) {
    let mut chunk = vec![0; 8 << 10];
    loop {
        shared.stderr.ready().await;
        match stderr.read(&mut chunk).await {
            Ok(length @ 1..) => {
                shared.stderr.charge(length);
                shared.tail().take(&chunk[..length]);
            }
            _ => return pending().await,
        }
    }
}

impl Input {
    /// Writes what senders have left.
    pub(super) async fn flow(&mut self) {
        while self.writer.flush().await {
            select! {
                message = self.told.recv() => match message {
                    Some(message) => self.writer.take(&message, &mut self.told),
                    None => {
                        // The last sender may have left something.
                        self.writer.flush().await;
                        break;
                    }
                },
                () = self.writer.left() => (),
            }
        }
        self.writer.close();
        pending::<()>().await;
    }
}

/// Senders may live on, and hold the pipe.
impl Drop for Input {
    fn drop(&mut self) {
        self.writer.close();
    }
}

impl Output {
    async fn flow(&mut self, shared: &Shared) {
        let mut unyielded = 0;
        loop {
            self.pass(shared).await;
            // A program that writes without a pause would keep the thread for megabytes at a time.
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

    /// Passes on the lines that are whole. One leaves the decoder only when there is room for it,
    /// so that none is lost when this is dropped.
    async fn pass(&mut self, shared: &Shared) {
        loop {
            let Ok(room) = self.heard.reserve().await else { return };
            match self.decoder.next_line() {
                Some(Ok(line)) => room.send(Ok(line)),
                Some(Err(long)) => {
                    shared.note(&long.to_string());
                    if let Some(rest) = skipped_response::rest(&long) {
                        room.send(Ok(rest));
                    }
                }
                None => return,
            }
        }
    }

    /// Passes on what was written before the end. Says whether someone still holds the pipe open.
    async fn drain(&mut self, shared: &Shared) -> bool {
        let mut total = 0;
        while total < LAST {
            self.pass(shared).await;
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
            let _ = self.heard.send(Ok(line)).await;
        }
        false
    }
}
