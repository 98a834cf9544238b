//! The pipes of a child: its input is written and its outputs are read at the same time, so that
//! neither side can block the other. Output is bounded: the head of standard output, the tail of
//! standard error, each notice.

use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;

use bytes::{Buf, Bytes, BytesMut};
use gantry_transport::lines::LineDecoder;
use rustix::io::Errno;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc;
use tokio::{join, select};

use crate::child::ChildLimits;
use crate::spawn::ParentEnds;

/// Consumes output.
pub(crate) trait Sink {
    /// Consumes bytes; returns whether more are wanted.
    fn write(&mut self, bytes: &[u8]) -> bool;
}

/// Keeps the first bytes, and stops at the limit.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) kept: BytesMut,
    pub(crate) overflow: bool,
    /// Whether to stop at the first line.
    pub(crate) stop_at_line: bool,
    limit: usize,
}

/// Keeps the last bytes.
#[derive(Debug)]
pub(crate) struct Tail {
    kept: Vec<u8>,
    limit: usize,
}

/// Forwards each line.
#[derive(Debug)]
pub(crate) struct Lines {
    decoder: LineDecoder,
    sender: mpsc::Sender<Bytes>,
}

impl Head {
    pub(crate) fn new(limit: usize) -> Self {
        Self { kept: BytesMut::new(), overflow: false, stop_at_line: false, limit }
    }

    /// Whether there is a complete line that is not blank.
    pub(crate) fn has_line(&self) -> bool {
        let said = self.kept.trim_ascii_start();
        said.contains(&b'\n')
    }
}

impl Sink for Head {
    fn write(&mut self, bytes: &[u8]) -> bool {
        let room = self.limit - self.kept.len();
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.overflow |= bytes.len() > room;
        !(self.overflow || self.stop_at_line && self.has_line())
    }
}

impl Tail {
    pub(crate) fn new(limit: usize) -> Self {
        Self { kept: Vec::new(), limit }
    }

    /// The kept text, from the first complete character.
    pub(crate) fn text(&self) -> String {
        let cut = self.kept.len().saturating_sub(self.limit);
        let mut last = &self.kept[cut..];
        if cut > 0 {
            // A character has at most three bytes after its first.
            let broken = last.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
            last = &last[broken..];
        }
        String::from_utf8_lossy(last).into_owned()
    }
}

impl Sink for Tail {
    fn write(&mut self, bytes: &[u8]) -> bool {
        self.kept.extend_from_slice(bytes);
        // Trimmed rarely, and to one byte more than is shown, which tells that something was cut.
        if self.kept.len() > 2 * self.limit {
            self.kept.drain(..self.kept.len().saturating_sub(self.limit + 1));
        }
        true
    }
}

impl Lines {
    pub(crate) fn new(limit: usize, sender: mpsc::Sender<Bytes>) -> Self {
        Self { decoder: LineDecoder::new(limit), sender }
    }

    /// Forwards a last line without a line end.
    pub(crate) fn finish(&mut self) {
        if let Some(Ok(line)) = self.decoder.finish() {
            let _ = self.sender.try_send(line);
        }
    }
}

impl Sink for Lines {
    fn write(&mut self, bytes: &[u8]) -> bool {
        self.decoder.feed(bytes);
        while let Some(line) = self.decoder.next_line() {
            // A line that is too long is dropped, and so is one without room or reader.
            if let Ok(line) = line {
                let _ = self.sender.try_send(line);
            }
        }
        true
    }
}

/// Bytes read at once.
const CHUNK: usize = 8 << 10;

/// Bytes read after the exit. A pipe holds more only if the limit of the system was raised, and a
/// process that has left the group must not keep the reader busy.
const DRAIN_LIMIT: usize = 1 << 20;

/// All pipes of a child.
#[derive(Debug)]
pub(crate) struct Pipes {
    input: Input,
    stdout: Output<Head>,
    stderr: Output<Tail>,
    notices: Output<Lines>,
}

/// The input of a child.
#[derive(Debug)]
struct Input {
    /// Dropped when all is written, which is the end of the input.
    pipe: Option<StdinPipe>,
    remaining: Bytes,
    written: u64,
    /// The child's end, to see how much is unread.
    unread: OwnedFd,
}

/// The pipe to stdin. It is registered with the reactor only when it is full: most input fits, and
/// registration takes longer than the write.
#[derive(Debug)]
enum StdinPipe {
    Unregistered(OwnedFd),
    Registered(Sender),
}

/// An output of a child.
#[derive(Debug)]
struct Output<S> {
    pipe: Receiver,
    sink: S,
}

impl Pipes {
    pub(crate) fn new(
        ends: ParentEnds,
        notices: OwnedFd,
        limits: &ChildLimits,
        sender: mpsc::Sender<Bytes>,
    ) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&ends.stdin, true)?;
        let pipe = Some(StdinPipe::Unregistered(ends.stdin));
        let input = Input { pipe, remaining: Bytes::new(), written: 0, unread: ends.unread };
        Ok(Self {
            input,
            stdout: Output::new(ends.stdout, Head::new(limits.stdout))?,
            stderr: Output::new(ends.stderr, Tail::new(limits.stderr))?,
            notices: Output::new(notices, Lines::new(limits.notice, sender))?,
        })
    }

    /// Sets what the child will read.
    pub(crate) fn set_input(&mut self, input: Bytes) {
        self.input.remaining = input;
    }

    /// Sets whether a whole line of output is all that is wanted for now.
    pub(crate) fn stop_at_line(&mut self, stop: bool) {
        self.stdout.sink.stop_at_line = stop;
    }

    /// What was written to standard output, when it holds a whole line.
    pub(crate) fn line(&self) -> Option<Bytes> {
        let Head { kept, overflow, .. } = &self.stdout.sink;
        (!overflow && self.stdout.sink.has_line()).then(|| Bytes::copy_from_slice(kept))
    }

    /// Pumps all pipes. Returns only when no more output is wanted. Cancel safe.
    pub(crate) async fn pump(&mut self) {
        let remaining = async {
            join!(self.input.pump(), self.stderr.pump(), self.notices.pump());
        };
        select! {
            () = self.stdout.pump() => (),
            () = remaining => (),
        }
    }

    /// Reads what is in the pipes without waiting. Returns whether a process still holds one of
    /// them open.
    pub(crate) fn drain(&mut self) -> bool {
        let open = [self.stdout.drain(), self.stderr.drain(), self.notices.drain()];
        self.notices.sink.finish();
        open.contains(&true)
    }

    /// Whether the child has read anything of its input.
    pub(crate) fn was_read(&self) -> bool {
        // If that is unknown, it may have.
        rustix::io::ioctl_fionread(&self.input.unread)
            .map_or(true, |left| left < self.input.written)
    }

    /// Standard output, whether there was more of it, and the end of standard error.
    pub(crate) fn into_output(self) -> (Bytes, bool, String) {
        let Head { kept, overflow, .. } = self.stdout.sink;
        (kept.freeze(), overflow, self.stderr.sink.text())
    }
}

impl Input {
    async fn pump(&mut self) {
        while !self.remaining.is_empty() {
            let written = match &mut self.pipe {
                None => return,
                Some(StdinPipe::Registered(pipe)) => pipe.write_buf(&mut self.remaining).await,
                Some(StdinPipe::Unregistered(pipe)) => {
                    match rustix::io::write(&*pipe, &self.remaining) {
                        Err(Errno::AGAIN) => {
                            self.pipe = self.pipe.take().and_then(StdinPipe::registered);
                            continue;
                        }
                        written => {
                            self.remaining.advance(written.unwrap_or(0));
                            written.map_err(io::Error::from)
                        }
                    }
                }
            };
            // A child need not read its input, so a closed pipe is no error.
            let Ok(length) = written else { break };
            self.written += length as u64;
        }
        self.pipe = None;
    }
}

impl StdinPipe {
    /// The same, registered with the reactor.
    fn registered(self) -> Option<Self> {
        match self {
            Self::Unregistered(pipe) => Sender::from_owned_fd(pipe).ok().map(Self::Registered),
            registered @ Self::Registered(_) => Some(registered),
        }
    }
}

impl<S: Sink> Output<S> {
    fn new(pipe: OwnedFd, sink: S) -> io::Result<Self> {
        Ok(Self { pipe: Receiver::from_owned_fd(pipe)?, sink })
    }

    /// Returns only when the sink wants no more. Most pipes stay silent, and get no buffer.
    async fn pump(&mut self) {
        if self.pipe.readable().await.is_err() {
            return pending().await;
        }
        let mut chunk = vec![0; CHUNK];
        loop {
            match self.pipe.read(&mut chunk).await {
                Ok(0) | Err(_) => return pending().await,
                Ok(length) if self.sink.write(&chunk[..length]) => (),
                Ok(_) => return,
            }
        }
    }

    /// Reads past the reactor, which may not have seen the data yet. Returns whether the pipe is
    /// still open.
    fn drain(&mut self) -> bool {
        let mut chunk = vec![0; CHUNK];
        let mut total = 0;
        while total < DRAIN_LIMIT {
            match rustix::io::read(&self.pipe, &mut chunk[..]) {
                Ok(0) => return false,
                Ok(length) if self.sink.write(&chunk[..length]) => total += length,
                _ => return true,
            }
        }
        true
    }
}
