//! A connection whose client must go on reading: one that leaves what it is sent unread for too
//! long, or reads it slower than a minimum data rate, is hung up on, and with it goes whatever ran on
//! its behalf.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::stream::Stream;

/// A stream with a bound on how long a write may wait.
#[derive(Debug)]
pub(crate) struct WriteTimeout {
    stream: Stream,
    pace: WritePace,
    /// Runs while a write waits.
    waiting: Option<Pin<Box<Sleep>>>,
}

/// How long a client may keep writes waiting. Time that it did is owed, and bytes that it read since
/// pay for it: who reads a little just in time would otherwise hold a large answer for hours.
#[derive(Debug)]
struct WritePace {
    write_timeout: Duration,
    /// Bytes a second; none for no minimum.
    rate: usize,
    owed: Duration,
    /// Since when a write waits.
    since: Option<Instant>,
}

impl WritePace {
    fn new(write_timeout: Duration, rate: usize) -> Self {
        Self { write_timeout, rate, owed: Duration::ZERO, since: None }
    }

    /// A write waits: how much longer it may.
    fn wait(&mut self) -> Duration {
        self.since.get_or_insert_with(Instant::now);
        self.write_timeout.saturating_sub(self.owed)
    }

    /// So many bytes were written.
    fn written(&mut self, bytes: usize) {
        let waited = self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
        let paid = (bytes as u64).saturating_mul(1000).checked_div(self.rate as u64);
        self.owed = match paid.map(Duration::from_millis) {
            Some(paid) => (self.owed + waited).saturating_sub(paid),
            None => Duration::ZERO,
        };
    }
}

impl WriteTimeout {
    pub(crate) fn new(stream: Stream, write_timeout: Duration, rate: usize) -> Self {
        Self { stream, pace: WritePace::new(write_timeout, rate), waiting: None }
    }

    fn bound(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(written) = written {
            self.waiting = None;
            if let Ok(bytes) = &written {
                self.pace.written(*bytes);
            }
            return Poll::Ready(written);
        }
        let left = self.pace.wait();
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(left)));
        waiting.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
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
        self.bound(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.bound(context, written)
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

    /// How much longer a client may let a write wait that reads so much each time after so long.
    async fn left(rate: usize, bytes: usize, pause: Duration, times: usize) -> Duration {
        let mut pace = WritePace::new(15 * SECOND, rate);
        for _ in 0..times {
            let left = pace.wait();
            if left < pause {
                return Duration::ZERO;
            }
            tokio::time::advance(pause).await;
            pace.written(bytes);
        }
        pace.wait()
    }

    #[tokio::test(start_paused = true)]
    async fn who_reads_a_little_just_in_time_is_hung_up_on() {
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
