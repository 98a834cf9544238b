//! The pipes between this process and a child, all served at the same time, so that neither side
//! can wait for the other for ever.

use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;

use bytes::{Buf, Bytes};
use rustix::io::Errno;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc;
use tokio::{join, select};

use crate::child::ChildLimits;
use crate::output::{Head, Lines, Sink, Tail};
use crate::spawn::Ends;

/// Bytes read at once.
const CHUNK: usize = 8 << 10;

/// Bytes read after the end. No pipe holds more unless the system's own limit was raised, and a
/// process that has left the group must not keep the reader busy.
const LAST: usize = 1 << 20;

/// All pipes of a child.
#[derive(Debug)]
pub(crate) struct Pipes {
    input: Input,
    stdout: Output<Head>,
    stderr: Output<Tail>,
    notices: Output<Lines>,
}

/// What a child is given to read.
#[derive(Debug)]
struct Input {
    /// Gone when all is written, which is how the child sees the end.
    pipe: Option<Inlet>,
    rest: Bytes,
    written: u64,
    /// The child's end.
    unread: OwnedFd,
}

/// The way in. The runtime hears of it only when it is full: most input fits, and to be told of a pipe
/// and to forget it again takes longer than the writing.
#[derive(Debug)]
enum Inlet {
    Fresh(OwnedFd),
    Known(Sender),
}

/// What a child writes.
#[derive(Debug)]
struct Output<S> {
    pipe: Receiver,
    sink: S,
}

impl Pipes {
    pub(crate) fn new(
        ends: Ends,
        notices: OwnedFd,
        limits: &ChildLimits,
        sender: mpsc::Sender<Bytes>,
    ) -> io::Result<Self> {
        rustix::io::ioctl_fionbio(&ends.stdin, true)?;
        let pipe = Some(Inlet::Fresh(ends.stdin));
        let input = Input { pipe, rest: Bytes::new(), written: 0, unread: ends.unread };
        Ok(Self {
            input,
            stdout: Output::new(ends.stdout, Head::new(limits.stdout))?,
            stderr: Output::new(ends.stderr, Tail::new(limits.stderr))?,
            notices: Output::new(notices, Lines::new(limits.notice, sender))?,
        })
    }

    /// Sets what the child will read.
    pub(crate) fn give(&mut self, input: Bytes) {
        self.input.rest = input;
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

    /// Moves bytes for as long as it is awaited. It ends only when no more output is wanted, and
    /// may be dropped and begun again at any time.
    pub(crate) async fn flow(&mut self) {
        let rest = async {
            join!(self.input.flow(), self.stderr.flow(), self.notices.flow());
        };
        select! {
            () = self.stdout.flow() => (),
            () = rest => (),
        }
    }

    /// Reads what is in the pipes and waits for nothing. Says whether someone still holds one of
    /// them open.
    pub(crate) fn drain(&mut self) -> bool {
        let open = [self.stdout.drain(), self.stderr.drain(), self.notices.drain()];
        self.notices.sink.finish();
        open.contains(&true)
    }

    /// Whether the child has read anything of its input.
    pub(crate) fn was_read(&self) -> bool {
        // If it cannot be told, it may have.
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
    async fn flow(&mut self) {
        while !self.rest.is_empty() {
            let written = match &mut self.pipe {
                None => return,
                Some(Inlet::Known(pipe)) => pipe.write_buf(&mut self.rest).await,
                Some(Inlet::Fresh(pipe)) => match rustix::io::write(&*pipe, &self.rest) {
                    Err(Errno::AGAIN) => {
                        self.pipe = self.pipe.take().and_then(Inlet::known);
                        continue;
                    }
                    written => {
                        self.rest.advance(written.unwrap_or(0));
                        written.map_err(io::Error::from)
                    }
                },
            };
            // A child need not read what it is given, so a closed pipe is no error.
            let Ok(length) = written else { break };
            self.written += length as u64;
        }
        self.pipe = None;
    }
}

impl Inlet {
    /// The same with a runtime that tells when there is room again.
    fn known(self) -> Option<Self> {
        match self {
            Self::Fresh(pipe) => Sender::from_owned_fd(pipe).ok().map(Self::Known),
            known @ Self::Known(_) => Some(known),
        }
    }
}

impl<S: Sink> Output<S> {
    fn new(pipe: OwnedFd, sink: S) -> io::Result<Self> {
        Ok(Self { pipe: Receiver::from_owned_fd(pipe)?, sink })
    }

    /// Ends only when the sink wants no more. Most pipes stay silent, and are given no room.
    async fn flow(&mut self) {
        if self.pipe.readable().await.is_err() {
            return pending().await;
        }
        let mut chunk = vec![0; CHUNK];
        loop {
            match self.pipe.read(&mut chunk).await {
                Ok(0) | Err(_) => return pending().await,
                Ok(length) if self.sink.take(&chunk[..length]) => (),
                Ok(_) => return,
            }
        }
    }

    /// Reads from the pipe itself: the runtime may not have heard yet that there is something.
    /// Says whether there may be more one day.
    fn drain(&mut self) -> bool {
        let mut chunk = vec![0; CHUNK];
        let mut total = 0;
        while total < LAST {
            match rustix::io::read(&self.pipe, &mut chunk[..]) {
                Ok(0) => return false,
                Ok(length) if self.sink.take(&chunk[..length]) => total += length,
                _ => return true,
            }
        }
        true
    }
}
