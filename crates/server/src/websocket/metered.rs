//! The stream below a WebSocket: what a client has sent of a message that is not complete counts
//! against its receive budget, and has to come as fast as the body of a request.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::frames::FrameMeter;
use crate::http::{Charge, Pace, ReceiveBudget, WriteTimeout};
use crate::settings::Settings;

/// What a connection may buffer without being charged for it: one read of the library.
const FREE: usize = 128 * 1024;

/// Charges one client.
#[derive(Debug, Clone)]
pub(super) struct Account {
    pub(super) budget: Arc<ReceiveBudget>,
    pub(super) principal: Arc<str>,
}

impl Account {
    pub(super) fn charge(&self) -> Charge {
        self.budget.body(&self.principal)
    }
}

/// A stream whose reads are counted.
pub(super) struct Metered {
    stream: WriteTimeout,
    frames: FrameMeter,
    account: Account,
    charge: Charge,
    /// A pace that begins now.
    pace: Box<dyn Fn() -> Pace + Send>,
    /// Of the message that is being received.
    current: Option<Pace>,
    /// Since when nobody has asked for more: that time is not the client's.
    resting: Option<Instant>,
    late: Option<Pin<Box<Sleep>>>,
}

impl Metered {
    /// `came` was read with the head of the request already.
    pub(super) fn new(
        stream: WriteTimeout,
        came: &[u8],
        account: Account,
        settings: &Settings,
    ) -> Self {
        let (within, grace, rate) =
            (settings.body_timeout, settings.rate_grace, settings.body_rate);
        let mut frames = FrameMeter::default();
        frames.feed(came);
        Self {
            stream,
            frames,
            charge: account.charge(),
            account,
            pace: Box::new(move || Pace::new(within, grace, rate)),
            current: None,
            resting: None,
            late: None,
        }
    }

    fn count(&mut self, came: &[u8]) -> io::Result<()> {
        self.frames.feed(came);
        let unfinished = usize::try_from(self.frames.unfinished()).unwrap_or(usize::MAX);
        if unfinished == 0 {
            (self.charge, self.current) = (self.account.charge(), None);
            return Ok(());
        }
        self.current.get_or_insert_with(&self.pace);
        match self.charge.cover(unfinished.saturating_sub(FREE)) {
            true => Ok(()),
            false => Err(io::Error::other("too many bytes are being received")),
        }
    }

    /// Whether the rest of a message has not come in time.
    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        let Some(pace) = &self.current else {
            self.late = None;
            return false;
        };
        let left = pace.left(usize::try_from(self.frames.unfinished()).unwrap_or(usize::MAX));
        if left.is_zero() {
            return true;
        }
        let late = self.late.get_or_insert_with(|| Box::pin(sleep(left)));
        late.as_mut().reset(Instant::now() + left);
        late.as_mut().poll(context).is_ready()
    }
}

impl AsyncRead for Metered {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let rested = self.resting.take().map(|since| since.elapsed());
        if let (Some(rested), Some(pace)) = (rested, &mut self.current) {
            pace.excuse(rested);
        }
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Ready(Ok(())) => {
                let counted = self.count(&buffer.filled()[before..]);
                self.resting = Some(Instant::now());
                Poll::Ready(counted)
            }
            Poll::Pending if self.is_late(context) => {
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            other => other,
        }
    }
}

impl AsyncWrite for Metered {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
