//! The byte stream below a WebSocket: the bytes of an incomplete message are charged to the receive
//! budget, and must come as fast as the body of a request.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::http::byte_budget::{ByteBudget, Charge};
use crate::http::client_stream::WriteTimeout;
use crate::http::timers::ReadDeadline;
use crate::settings::Settings;
use crate::websocket::frame_meter::FrameMeter;

/// What a connection may buffer without a charge: one read of the library.
const MAX_UNCHARGED: usize = 128 * 1024;

/// The receive budget of one client.
#[derive(Debug, Clone)]
pub(super) struct ReceiveAccount {
    pub(super) budget: Arc<ByteBudget>,
    pub(super) principal: Arc<str>,
}

impl ReceiveAccount {
    pub(super) fn charge(&self) -> Charge {
        self.budget.body(&self.principal)
    }
}

/// A stream whose reads are charged.
pub(super) struct MeteredStream {
    stream: WriteTimeout,
    frames: FrameMeter,
    account: ReceiveAccount,
    charge: Charge,
    /// Makes a deadline from now on.
    new_deadline: Box<dyn Fn() -> ReadDeadline + Send>,
    /// The deadline of the message that is being received.
    deadline: Option<ReadDeadline>,
    /// Since when the server has not read: that time does not count against the client.
    paused: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

impl MeteredStream {
    /// `buffered` was read with the head of the request already.
    pub(super) fn new(
        stream: WriteTimeout,
        buffered: &[u8],
        account: ReceiveAccount,
        settings: &Settings,
    ) -> Self {
        let (within, grace, rate) =
            (settings.body_timeout, settings.rate_grace, settings.body_rate);
        let mut frames = FrameMeter::default();
        frames.feed(buffered);
        Self {
            stream,
            frames,
            charge: account.charge(),
            account,
            new_deadline: Box::new(move || ReadDeadline::new(within, grace, rate)),
            deadline: None,
            paused: None,
            timer: None,
        }
    }

    fn charge_read(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.frames.feed(bytes);
        let unfinished = usize::try_from(self.frames.unfinished()).unwrap_or(usize::MAX);
        if unfinished == 0 {
            (self.charge, self.deadline) = (self.account.charge(), None);
            return Ok(());
        }
        self.deadline.get_or_insert_with(&self.new_deadline);
        match self.charge.raise_to(unfinished.saturating_sub(MAX_UNCHARGED)) {
            true => Ok(()),
            false => Err(io::Error::other("too many bytes are being received")),
        }
    }

    /// Whether the rest of a message did not come in time.
    fn is_late(&mut self, context: &mut Context<'_>) -> bool {
        let Some(deadline) = &self.deadline else {
            self.timer = None;
            return false;
        };
        let left = deadline.left(usize::try_from(self.frames.unfinished()).unwrap_or(usize::MAX));
        if left.is_zero() {
            return true;
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(left)));
        timer.as_mut().reset(Instant::now() + left);
        timer.as_mut().poll(context).is_ready()
    }
}

impl AsyncRead for MeteredStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let paused = self.paused.take().map(|since| since.elapsed());
        if let (Some(paused), Some(deadline)) = (paused, &mut self.deadline) {
            deadline.extend(paused);
        }
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Ready(Ok(())) => {
                let charged = self.charge_read(&buffer.filled()[before..]);
                self.paused = Some(Instant::now());
                Poll::Ready(charged)
            }
            Poll::Pending if self.is_late(context) => {
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            other => other,
        }
    }
}

impl AsyncWrite for MeteredStream {
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
