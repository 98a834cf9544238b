//! The byte stream of a connection: TCP or, for the control socket, a Unix socket; with a timeout for
//! writes.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::{Instant, Sleep, sleep};

/// A byte stream to a peer.
#[derive(Debug)]
pub(crate) enum Stream {
    /// A TCP client.
    Tcp(TcpStream),
    /// A peer of the control socket.
    Unix(UnixStream),
}

impl Stream {
    /// The local address; none for a Unix socket.
    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }
}

impl From<TcpStream> for Stream {
    fn from(stream: TcpStream) -> Self {
        Self::Tcp(stream)
    }
}

impl From<UnixStream> for Stream {
    fn from(stream: UnixStream) -> Self {
        Self::Unix(stream)
    }
}

/// Forwards a call to the stream.
macro_rules! each {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream.get_mut() {
            Stream::Tcp($inner) => $call,
            Stream::Unix($inner) => $call,
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        each!(self, inner => Pin::new(inner).poll_read(context, buffer))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(self, inner => Pin::new(inner).poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self, inner => Pin::new(inner).poll_write_vectored(context, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Unix(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, inner => Pin::new(inner).poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, inner => Pin::new(inner).poll_shutdown(context))
    }
}

/// A stream with a write timeout: a client that does not read what it is sent, or reads it slower
/// than a minimum data rate, is disconnected, and what runs on its behalf is dropped.
#[derive(Debug)]
pub(crate) struct WriteTimeout {
    stream: Stream,
    deadline: WriteDeadline,
    /// Runs while a write waits.
    timer: Option<Pin<Box<Sleep>>>,
}

/// How long a client may keep writes waiting. The time of waiting writes accumulates, and bytes that
/// the client reads reduce it: one that reads a little just in time would otherwise hold a large
/// response for hours.
#[derive(Debug)]
struct WriteDeadline {
    write_timeout: Duration,
    /// Bytes per second; zero for no minimum.
    rate: usize,
    waited: Duration,
    /// Since when a write waits.
    since: Option<Instant>,
}

impl WriteDeadline {
    fn new(write_timeout: Duration, rate: usize) -> Self {
        Self { write_timeout, rate, waited: Duration::ZERO, since: None }
    }

    /// Records that a write waits. Returns how much longer it may.
    fn wait(&mut self) -> Duration {
        self.since.get_or_insert_with(Instant::now);
        self.write_timeout.saturating_sub(self.waited)
    }

    /// Records written bytes.
    fn written(&mut self, bytes: usize) {
        let waited = self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        let earned = (bytes as u64).saturating_mul(1000).checked_div(self.rate as u64);
        self.waited = match earned.map(Duration::from_millis) {
            Some(earned) => (self.waited + waited).saturating_sub(earned),
            None => Duration::ZERO,
        };
    }
}

impl WriteTimeout {
    pub(crate) fn new(stream: Stream, write_timeout: Duration, rate: usize) -> Self {
        Self { stream, deadline: WriteDeadline::new(write_timeout, rate), timer: None }
    }

    fn with_timeout(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            self.timer = None;
            if let Ok(bytes) = &written {
                self.deadline.written(*bytes);
            }
            return Poll::Ready(written);
        }
        let left = self.deadline.wait();
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(left)));
        timer.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for WriteTimeout {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for WriteTimeout {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.with_timeout(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.with_timeout(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// How much longer a write may wait for a client that reads `bytes` after each `pause`.
    async fn left(rate: usize, bytes: usize, pause: Duration, times: usize) -> Duration {
        let mut deadline = WriteDeadline::new(15 * SECOND, rate);
        for _ in 0..times {
            let left = deadline.wait();
            if left < pause {
                return Duration::ZERO;
            }
            tokio::time::advance(pause).await;
            deadline.written(bytes);
        }
        deadline.wait()
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_a_little_just_in_time_is_disconnected() {
        let cases = [
            // rate, bytes each time, seconds between, times, seconds left
            (4096, 16 * 1024, 10, 1, 9),
            (4096, 16 * 1024, 10, 2, 0),
            (4096, 64 * 1024, 14, 1000, 15),
            (4096, 1, 0, 1000, 15),
            (0, 1, 14, 1000, 15),
        ];
        for (rate, bytes, pause, times, expected) in cases {
            let left = left(rate, bytes, pause * SECOND, times).await;
            assert_eq!(left, expected * SECOND, "{bytes} bytes each {pause} s at {rate}");
        }
    }
}
