//! One HTTP/1.1 connection: one request after the other, each responded to before the next is read
//! (no pipelined execution). A request in flight is dropped when its client closes the connection.
//!
//! A connection keeps its memory: the head is copied to where the last one was, and a small body to
//! memory of its own, so that the next request is read into the same buffer whatever the call does.

use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use gantry_transport::http1::Framing;
use http::HeaderValue;
use http::header::RETRY_AFTER;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::select;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::http::client_stream::{Stream, WriteTimeout};
use crate::http::connection_limits::ConnectionSlot;
use crate::http::request_body::{self, BodyError, MAX_COPIED};
use crate::http::request_head::{BadHead, RequestHead};
use crate::http::response::{HttpResponse, Upgrade};
use crate::http::response_writer::write_response;
use crate::http::timers::{ReadDeadline, ReusableTimer};
use crate::http::{HttpState, response, router};

/// Bytes per read.
const CHUNK: usize = 8 * 1024;
/// The read buffer grows before a read if less is free.
const MIN_FREE: usize = 2 * 1024;
/// Bytes per read while a request is in flight, which only detects that the client closes.
const PEEK: usize = 64;
/// Bytes of the write buffer that are kept for the next response.
const MAX_KEPT: usize = 32 * 1024;
/// Lingering close: how long to drain the request after an early response. Closing with unread bytes
/// resets the connection, and the client might not read the response.
const LINGER: Duration = Duration::from_secs(5);

/// A connection.
pub(super) struct Connection {
    pub(super) http_state: Arc<HttpState>,
    pub(super) stream: WriteTimeout,
    pub(super) read_buffer: BytesMut,
    pub(super) write_buffer: Vec<u8>,
    /// Whether there may be another request.
    pub(super) keep_alive: bool,
    /// Whether the client may have sent bytes that will not be read.
    has_unread: bool,
    slot: ConnectionSlot,
}

/// The result of reading a head.
enum Next {
    /// The head was read.
    Request,
    /// The head is invalid.
    Bad(BadHead),
    /// The receive budget for heads is used up.
    Busy,
    /// The client closed the connection or is too slow, or the server stops.
    End,
}

/// Serves a connection to its end.
pub(super) async fn serve(
    http_state: Arc<HttpState>,
    stream: impl Into<Stream>,
    slot: ConnectionSlot,
) {
    // The address of this connection: a listener on all addresses has many.
    let stream = stream.into();
    let local = stream.local_addr().unwrap_or(http_state.address);
    let settings = &http_state.server_state.settings;
    let stream = WriteTimeout::new(stream, settings.unread, settings.read_rate);
    let (read_buffer, write_buffer) = (BytesMut::new(), Vec::new());
    let (keep_alive, has_unread) = (true, false);
    let mut connection =
        Connection { http_state, stream, read_buffer, write_buffer, keep_alive, has_unread, slot };
    match connection.run(local).await {
        Ok(None) => connection.close().await,
        Ok(Some(upgrade)) => {
            let Connection { stream, read_buffer, slot, .. } = connection;
            upgrade(stream, read_buffer).await;
            drop(slot);
        }
        Err(error) => tracing::debug!(%error, "connection ended early"),
    }
}

impl Connection {
    /// Serves requests until there are no more, or the connection is upgraded.
    async fn run(&mut self, local: SocketAddr) -> io::Result<Option<Upgrade>> {
        let mut head = RequestHead::default();
        let (mut head_timer, mut call_timer) = (ReusableTimer::default(), ReusableTimer::default());
        let mut stopping = Stopping::new(&self.http_state.server_state.stopping);
        while self.keep_alive {
            match self.read_head(&mut head, &mut head_timer, &mut stopping).await? {
                Next::End => return Ok(None),
                Next::Bad(bad) => {
                    self.stop_reading();
                    let response = response::text(bad.status, format!("{}\n", bad.reason));
                    write_response(self, &RequestHead::default(), response).await?;
                }
                Next::Busy => {
                    self.stop_reading();
                    let BodyError { status, reason, .. } = BodyError::busy();
                    let response = retry_later(response::text(status, format!("{reason}\n")));
                    write_response(self, &RequestHead::default(), response).await?;
                }
                Next::Request => {
                    self.slot.set_busy(true);
                    let Some(response) = self.respond(local, &head, &mut call_timer).await? else {
                        return Ok(None);
                    };
                    self.keep_alive &= head.keep_alive && !stopping.token.is_cancelled();
                    if let Some(upgrade) = write_response(self, &head, response).await? {
                        return Ok(Some(upgrade));
                    }
                    head.release();
                    self.slot.set_busy(false);
                }
            }
        }
        Ok(None)
    }

    /// Reads the next head.
    async fn read_head(
        &mut self,
        head: &mut RequestHead,
        timer: &mut ReusableTimer,
        stopping: &mut Stopping,
    ) -> io::Result<Next> {
        let settings = &self.http_state.server_state.settings;
        let (limit, within) = (settings.head.max(CHUNK), settings.head_timeout);
        let (grace, rate) = (settings.rate_grace, settings.head_rate);
        let mut late = timer.after(within);
        // Bytes that were parsed and are not a complete head.
        let mut seen = 0;
        // The deadline from the first byte on, and the budget beyond the buffer of every connection.
        let (mut deadline, mut charge) = (None, None);
        loop {
            if may_be_complete(&self.read_buffer, seen) {
                match head.parse(&self.read_buffer) {
                    Ok(Some(length)) => {
                        self.read_buffer.advance(length);
                        if self.read_buffer.is_empty() && length > CHUNK {
                            self.read_buffer = BytesMut::new();
                        }
                        return Ok(Next::Request);
                    }
                    Ok(None) => {}
                    Err(bad) => return Ok(Next::Bad(bad)),
                }
            }
            seen = self.read_buffer.len();
            if seen >= limit {
                let reason = format!("the head is larger than the limit of {limit} bytes");
                return Ok(Next::Bad(BadHead::too_large(reason)));
            }
            if seen > 0 {
                // No longer idle: from the first byte on a minimum data rate holds.
                let deadline =
                    deadline.get_or_insert_with(|| ReadDeadline::new(within, grace, rate));
                late = timer.after(deadline.left(seen));
            }
            if seen > CHUNK {
                let charge = charge.get_or_insert_with(|| self.http_state.receive_budget.head());
                if !charge.raise_to(seen - CHUNK) {
                    return Ok(Next::Busy);
                }
            }
            select! {
                biased;
                read = self.fill(CHUNK) => if read? == 0 {
                    return Ok(Next::End);
                },
                () = &mut *stopping => return Ok(Next::End),
                () = &mut late => return Ok(Next::End),
            }
        }
    }

    /// Routes, authenticates and handles a request. None if the connection was closed meanwhile.
    async fn respond(
        &mut self,
        local: SocketAddr,
        head: &RequestHead,
        call_timer: &mut ReusableTimer,
    ) -> io::Result<Option<HttpResponse>> {
        let http_state = self.http_state.clone();
        let route = match router::route(&http_state, local, head) {
            Ok(route) => route,
            Err(response) => {
                self.skip_body(head);
                return Ok(Some(*response));
            }
        };
        let principal = route.principal();
        if principal.is_some_and(|principal| !self.slot.authenticate(principal)) {
            return Ok(None);
        }
        let body = match (self.take_buffered_body(head.framing), principal) {
            (Some(body), Some(principal)) => {
                request_body::charged(http_state.receive_budget.body(principal), body)
            }
            (Some(body), None) => Ok(body),
            (None, Some(principal)) => {
                Box::pin(request_body::read_body(self, head, principal)).await?
            }
            (None, None) => {
                self.stop_reading();
                Ok(Bytes::new())
            }
        };
        let is_busy = body.as_ref().is_err_and(|error| error.is_busy);
        let mut handling = pin!(router::handle(&http_state, route, call_timer, head, body));
        let response = select! {
            biased;
            response = &mut handling => Some(response),
            () = self.closed_by_client() => None,
        };
        Ok(if is_busy { response.map(retry_later) } else { response })
    }

    /// Reads more. Cancel safe.
    pub(super) async fn fill(&mut self, most: usize) -> io::Result<usize> {
        if self.read_buffer.capacity() - self.read_buffer.len() < MIN_FREE.min(most) {
            self.read_buffer.reserve(most);
        }
        self.stream.read_buf(&mut self.read_buffer).await
    }

    /// Waits until the client closes the connection. A pipelined request stays in the buffer.
    pub(super) async fn closed_by_client(&mut self) {
        while self.read_buffer.len() < CHUNK {
            if !self.fill(PEEK).await.is_ok_and(|read| read > 0) {
                return;
            }
        }
        std::future::pending::<()>().await;
    }

    /// Takes a body that is in the read buffer as a whole.
    pub(super) fn take_buffered_body(&mut self, framing: Framing) -> Option<Bytes> {
        let Framing::Length(length) = framing else { return None };
        let length = usize::try_from(length).ok().filter(|it| *it <= self.read_buffer.len())?;
        if length > self.http_state.server_state.settings.message.size {
            return None;
        }
        if length > MAX_COPIED {
            let body = self.read_buffer.split_to(length).freeze();
            if self.read_buffer.is_empty() {
                // The rest of the allocation would keep all of it alive.
                self.read_buffer = BytesMut::new();
            }
            return Some(body);
        }
        let body = Bytes::copy_from_slice(&self.read_buffer[..length]);
        self.read_buffer.advance(length);
        Some(body)
    }

    /// Skips the body of a rejected request. If it is not in the buffer yet, the connection is closed.
    fn skip_body(&mut self, head: &RequestHead) {
        if self.take_buffered_body(head.framing).is_none() {
            self.stop_reading();
        }
    }

    /// Closes the connection after the response, without reading what follows.
    pub(super) fn stop_reading(&mut self) {
        self.keep_alive = false;
        self.has_unread = true;
    }

    /// Writes the write buffer.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.write_buffer).await?;
        self.write_buffer.clear();
        self.write_buffer.shrink_to(MAX_KEPT);
        Ok(())
    }

    async fn close(mut self) {
        // The client may be gone already.
        let _ = self.stream.shutdown().await;
        if !self.has_unread {
            return;
        }
        let most = self.http_state.server_state.settings.message.size;
        let _ = timeout(LINGER, async {
            let mut drained = 0;
            while drained <= most {
                self.read_buffer.clear();
                match self.fill(CHUNK).await {
                    Ok(read) if read > 0 => drained += read,
                    _ => return,
                }
            }
        })
        .await;
    }
}

/// Adds `Retry-After`.
fn retry_later(response: HttpResponse) -> HttpResponse {
    response.with(RETRY_AFTER, HeaderValue::from_static("1"))
}

/// Whether bytes that grew may be a complete head now: there is a new empty line. The first bytes are
/// parsed in any case, for they may not be HTTP at all; a head that comes byte by byte is not parsed
/// from its start each time.
pub(super) fn may_be_complete(bytes: &[u8], seen: usize) -> bool {
    let fresh = &bytes[seen.saturating_sub(3)..];
    let ends =
        |at: usize| fresh[at + 1..].starts_with(b"\n") || fresh[at + 1..].starts_with(b"\r\n");
    !bytes.is_empty() && (seen == 0 || memchr::memchr_iter(b'\n', fresh).any(ends))
}

/// Completes when the server stops. It registers with the token once, not for each request.
struct Stopping {
    token: CancellationToken,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    is_registered: bool,
}

impl Stopping {
    fn new(token: &CancellationToken) -> Self {
        let cancelled = Box::pin(token.clone().cancelled_owned());
        Self { token: token.clone(), cancelled, is_registered: false }
    }
}

impl Future for Stopping {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if !self.is_registered {
            self.is_registered = true;
            return self.cancelled.as_mut().poll(context);
        }
        match self.token.is_cancelled() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}
