//! One HTTP/1.1 connection, which takes one request at a time. The caller moves the bytes: no task
//! stands between a call and its connection.

use std::future::poll_fn;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use futures_util::FutureExt;
use http::StatusCode;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::runtime::{Handle, Id};
use tokio::task::unconstrained;

use super::connect::Stream;
use super::head::Head;
use super::request::Request;
use gantry_transport::http1::{Framing, Step};

/// Bytes read at once.
const CHUNK: usize = 8 * 1024;
/// Bytes read at once of a long body.
const LONG: usize = 64 * 1024;
/// Bytes that the head of a response may have.
const HEAD: usize = 64 * 1024;

/// A connection.
#[derive(Debug)]
pub(super) struct Http1Connection {
    stream: Stream,
    /// Received bytes that were not consumed.
    inbox: BytesMut,
    /// Buffer for request heads.
    outbox: Vec<u8>,
    /// The runtime whose reactor has the socket.
    home: Option<Id>,
}

/// Why a request has no response.
#[derive(Debug)]
pub(super) enum Broken {
    /// The connection was closed before anything was sent.
    Unsent(io::Error),
    /// It was closed afterwards, before a byte of the response: nobody knows what the server has
    /// done.
    Reset(io::Error),
    /// It was closed in the middle of the response's head.
    Lost(io::Error),
    /// What the server says is not HTTP.
    Malformed(String),
}

impl Http1Connection {
    /// A connection of the runtime that this is called on.
    pub(super) fn new(stream: Stream) -> Self {
        let home = Handle::try_current().ok().map(|runtime| runtime.id());
        Self { stream, inbox: BytesMut::new(), outbox: Vec::new(), home }
    }

    /// The runtime whose reactor has the socket.
    pub(super) fn home(&self) -> Option<Id> {
        self.home
    }

    /// Whether it can be reused: open, and without unsolicited bytes.
    pub(super) fn is_reusable(&mut self) -> bool {
        let mut byte = [0];
        // Unconstrained: with the coop budget used up, every connection would look silent.
        let read = unconstrained(self.stream.read(&mut byte));
        self.inbox.is_empty() && read.now_or_never().is_none()
    }

    /// Sends a request and reads the head of its response.
    pub(super) async fn ask(&mut self, request: &Request<'_>) -> Result<Head, Broken> {
        self.outbox.clear();
        request.write_head(&mut self.outbox);
        let mut written = 0;
        let sent = poll_fn(|cx| self.poll_send(cx, request.body, &mut written)).await;
        let sent = match sent {
            Err(error) if written == 0 => return Err(Broken::Unsent(error)),
            sent => sent,
        };
        match (sent, self.head().await) {
            (Err(error), Err(Broken::Reset(_))) => Err(Broken::Reset(error)),
            (Err(error), Err(_)) => Err(Broken::Lost(error)),
            // A server that closed in the middle may have sent its reason before.
            (sent, head) => {
                let mut head = head?;
                head.lasts &= matches!(sent, Ok(true));
                Ok(head)
            }
        }
    }

    /// The next piece of a body; none at its end. Nothing is lost when the future is dropped.
    pub(super) async fn piece(
        &mut self,
        framing: &mut Framing,
    ) -> Result<Option<Bytes>, io::Error> {
        loop {
            match framing.step(&mut self.inbox) {
                Ok(Step::Piece(piece)) => return Ok(Some(piece)),
                Ok(Step::End) => return Ok(None),
                Ok(Step::More) => {}
                Err(why) => return Err(io::Error::new(ErrorKind::InvalidData, why)),
            }
            let long = framing.at_least() > CHUNK as u64;
            if self.fill(if long { LONG } else { CHUNK }).await? == 0 {
                return match framing {
                    Framing::UntilClose => Ok(None),
                    _ => Err(ErrorKind::UnexpectedEof.into()),
                };
            }
        }
    }

    /// Whether anything came that was not taken.
    pub(super) fn has_more(&self) -> bool {
        !self.inbox.is_empty()
    }

    /// Writes head and body. Says whether all of it was written: a server that refuses the request
    /// before that may not read the rest.
    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        body: &[u8],
        written: &mut usize,
    ) -> Poll<io::Result<bool>> {
        let head = self.outbox.len();
        while *written < head + body.len() {
            let slices = [
                IoSlice::new(&self.outbox[head.min(*written)..]),
                IoSlice::new(&body[written.saturating_sub(head)..]),
            ];
            let skip = usize::from(*written >= head);
            match Pin::new(&mut self.stream).poll_write_vectored(cx, &slices[skip..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(length)) => *written += length,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                // A server that sends very much before it has read the request is read later.
                Poll::Pending if self.inbox.len() >= HEAD => return Poll::Pending,
                Poll::Pending => {
                    ready!(self.poll_early(cx))?;
                    if self.is_refused() {
                        return Poll::Ready(Ok(false));
                    }
                }
            }
        }
        Pin::new(&mut self.stream).poll_flush(cx).map_ok(|()| true)
    }

    /// Ready when the server says something.
    fn poll_early(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut bytes = [0; 1024];
        let mut buffer = ReadBuf::new(&mut bytes);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer))?;
        if buffer.filled().is_empty() {
            return Poll::Ready(Err(ErrorKind::UnexpectedEof.into()));
        }
        self.inbox.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(()))
    }

    /// Whether what came is the head of an answer that needs no more of the request.
    fn is_refused(&mut self) -> bool {
        loop {
            match Head::read(&self.inbox) {
                Ok(None) => return false,
                Ok(Some((length, head))) if is_passing(head.status) => self.inbox.advance(length),
                Ok(Some((_, head))) => return !head.status.is_success(),
                // The next reader reports what is wrong with it.
                Err(_) => return true,
            }
        }
    }

    async fn head(&mut self) -> Result<Head, Broken> {
        let mut is_begun = false;
        loop {
            match Head::read(&self.inbox).map_err(Broken::Malformed)? {
                Some((length, head)) => {
                    self.inbox.advance(length);
                    is_begun = true;
                    match head.status {
                        StatusCode::SWITCHING_PROTOCOLS => {
                            let why = "it wants to speak something else";
                            return Err(Broken::Malformed(why.to_owned()));
                        }
                        status if is_passing(status) => continue,
                        _ => return Ok(head),
                    }
                }
                None if self.inbox.len() < HEAD => {}
                None => return Err(Broken::Malformed("its head is too long".to_owned())),
            }
            let ended = match self.fill(CHUNK).await {
                Ok(1..) => continue,
                Ok(0) => ErrorKind::UnexpectedEof.into(),
                Err(error) => error,
            };
            return Err(match self.inbox.is_empty() && !is_begun {
                true => Broken::Reset(ended),
                false => Broken::Lost(ended),
            });
        }
    }

    async fn fill(&mut self, room: usize) -> io::Result<usize> {
        self.inbox.reserve(room);
        self.stream.read_buf(&mut self.inbox).await
    }
}

/// Whether another head follows.
fn is_passing(status: StatusCode) -> bool {
    status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS
}
