//! One connection of a client: request after request, each answered before the next is read. Whoever
//! serves a request is given up when its client hangs up.

use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http::HeaderValue;
use http::header::RETRY_AFTER;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::select;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::answer::{self, Answer};
use super::body::{Unread, Upgrade};
use super::head::{BadHead, Head};
use super::pace::Pace;
use super::slots::Slot;
use super::stream::Stream;
use super::timer::ReusableTimer;
use super::write_timeout::WriteTimeout;
use super::{HttpState, receive};

/// Bytes read at once.
const CHUNK: usize = 8 * 1024;
/// Where less room is left than this, more is made before reading.
const ROOM: usize = 2 * 1024;
/// Room for what nobody waits for.
const LITTLE: usize = 64;
/// How long a client is heard that was answered before it had said all: who is cut off in the middle
/// may not see the answer.
const FAREWELL: Duration = Duration::from_secs(5);

/// A connection.
pub(super) struct Connection {
    pub(super) http_state: Arc<HttpState>,
    pub(super) stream: WriteTimeout,
    /// What came and was not taken yet.
    pub(super) inbox: BytesMut,
    /// What is to be written.
    pub(super) outgoing: Vec<u8>,
    /// Whether there may be another request.
    pub(super) lasts: bool,
    /// Whether something was said that nobody has read.
    pub(super) unread: bool,
    slot: Slot,
}

/// What comes next on a connection.
enum Next {
    /// A request, whose head was read.
    Request,
    /// Something that cannot be served.
    Bad(BadHead),
    /// A head that is too long while so many come.
    Busy,
    /// Nothing: the client has no more to ask, takes too long, or the server stops.
    End,
}

/// Serves a connection to its end.
pub(super) async fn serve(http_state: Arc<HttpState>, stream: impl Into<Stream>, slot: Slot) {
    // Where it came in: who listens everywhere is reached under many addresses.
    let stream = stream.into();
    let local = stream.local_addr().unwrap_or(http_state.address);
    let settings = &http_state.server_state.settings;
    let stream = WriteTimeout::new(stream, settings.unread, settings.read_rate);
    let (inbox, outgoing) = (BytesMut::new(), Vec::new());
    let mut connection =
        Connection { http_state, stream, inbox, outgoing, lasts: true, unread: false, slot };
    match connection.run(local).await {
        Ok(None) => connection.close().await,
        Ok(Some(upgrade)) => {
            let Connection { stream, inbox, slot, .. } = connection;
            upgrade(stream, inbox).await;
            drop(slot);
        }
        Err(error) => tracing::debug!(%error, "a connection ended early"),
    }
}

impl Connection {
    /// Serves requests until there are no more, or the connection is used for something else.
    async fn run(&mut self, local: SocketAddr) -> io::Result<Option<Upgrade>> {
        let mut head = Head::default();
        let (mut idle, mut silence) = (ReusableTimer::default(), ReusableTimer::default());
        let mut stopping = Stopping::of(&self.http_state.server_state.stopping);
        while self.lasts {
            match self.next(&mut head, &mut idle, &mut stopping).await? {
                Next::End => return Ok(None),
                Next::Bad(bad) => {
                    self.give_up();
                    let answer = answer::text(bad.status, format!("{}\n", bad.reason));
                    self.send(&Head::default(), answer).await?;
                }
                Next::Busy => {
                    self.give_up();
                    let Unread { status, reason, .. } = Unread::busy();
                    let answer = again(answer::text(status, format!("{reason}\n")));
                    self.send(&Head::default(), answer).await?;
                }
                Next::Request => {
                    self.slot.set_busy(true);
                    let Some(answer) = self.answer(local, &head, &mut silence).await? else {
                        return Ok(None);
                    };
                    self.lasts &= head.lasts && !stopping.token.is_cancelled();
                    if let Some(upgrade) = self.send(&head, answer).await? {
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
    async fn next(
        &mut self,
        head: &mut Head,
        idle: &mut ReusableTimer,
        stopping: &mut Stopping,
    ) -> io::Result<Next> {
        let settings = &self.http_state.server_state.settings;
        let (limit, within) = (settings.head.max(CHUNK), settings.head_timeout);
        let (grace, rate) = (settings.rate_grace, settings.head_rate);
        let mut late = idle.after(within);
        // Bytes that were looked at and are no whole head.
        let mut seen = 0;
        // Since when they come, and what they take beyond the buffer of every connection.
        let (mut pace, mut charge) = (None, None);
        loop {
            if is_worth_reading(&self.inbox, seen) {
                match head.read(&self.inbox) {
                    Ok(Some(length)) => {
                        self.inbox.advance(length);
                        if self.inbox.is_empty() && length > CHUNK {
                            self.inbox = BytesMut::new();
                        }
                        return Ok(Next::Request);
                    }
                    Ok(None) => {}
                    Err(bad) => return Ok(Next::Bad(bad)),
                }
            }
            seen = self.inbox.len();
            if seen >= limit {
                let reason = format!("the head is larger than the limit of {limit} bytes");
                return Ok(Next::Bad(BadHead::too_large(reason)));
            }
            if seen > 0 {
                // The time to wait for a head is over; this is the time for it to come.
                let pace = pace.get_or_insert_with(|| Pace::new(within, grace, rate));
                late = idle.after(pace.left(seen));
            }
            if seen > CHUNK {
                let charge = charge.get_or_insert_with(|| self.http_state.budget.head());
                if !charge.cover(seen - CHUNK) {
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

    /// The answer to a request; none if the client does not wait for it.
    async fn answer(
        &mut self,
        local: SocketAddr,
        head: &Head,
        silence: &mut ReusableTimer,
    ) -> io::Result<Option<Answer>> {
        let http_state = self.http_state.clone();
        let pass = match http_state.admit(local, head) {
            Ok(pass) => pass,
            Err(refusal) => {
                self.pass_over(head);
                return Ok(Some(*refusal));
            }
        };
        let principal = pass.principal();
        if principal.is_some_and(|principal| !self.slot.authenticate(principal)) {
            return Ok(None);
        }
        let body = match (self.at_hand(head.framing), principal) {
            (Some(body), Some(principal)) => {
                receive::counted(http_state.budget.body(principal), body)
            }
            (Some(body), None) => Ok(body),
            (None, Some(principal)) => Box::pin(receive::body(self, head, principal)).await?,
            (None, None) => {
                self.give_up();
                Ok(Bytes::new())
            }
        };
        let is_busy = body.as_ref().is_err_and(|unread| unread.is_busy);
        let mut serving = pin!(http_state.serve(pass, silence, head, body));
        let answer = select! {
            biased;
            answer = &mut serving => Some(answer),
            () = self.hung_up() => None,
        };
        Ok(if is_busy { answer.map(again) } else { answer })
    }

    /// Reads more. Nothing is lost when the future is dropped.
    pub(super) async fn fill(&mut self, most: usize) -> io::Result<usize> {
        if self.inbox.capacity() - self.inbox.len() < ROOM.min(most) {
            self.inbox.reserve(most);
        }
        self.stream.read_buf(&mut self.inbox).await
    }

    /// Waits until the client hangs up. What it says meanwhile waits for its turn.
    pub(super) async fn hung_up(&mut self) {
        while self.inbox.len() < CHUNK {
            if !self.fill(LITTLE).await.is_ok_and(|read| read > 0) {
                return;
            }
        }
        std::future::pending::<()>().await;
    }

    async fn close(mut self) {
        // Whoever has gone already need not hear of it.
        let _ = self.stream.shutdown().await;
        if !self.unread {
            return;
        }
        let most = self.http_state.server_state.settings.message.size;
        let _ = timeout(FAREWELL, async {
            let mut heard = 0;
            while heard <= most {
                self.inbox.clear();
                match self.fill(CHUNK).await {
                    Ok(read) if read > 0 => heard += read,
                    _ => return,
                }
            }
        })
        .await;
    }
}

/// Tells the client when to try again.
fn again(answer: Answer) -> Answer {
    answer.with(RETRY_AFTER, HeaderValue::from_static("1"))
}

/// Whether bytes that grew may hold a whole head now. What came first is looked at in any case, for it
/// may be no HTTP at all; a head that comes byte by byte is not read from its start each time.
pub(super) fn is_worth_reading(bytes: &[u8], seen: usize) -> bool {
    let fresh = &bytes[seen.saturating_sub(3)..];
    let ends =
        |at: usize| fresh[at + 1..].starts_with(b"\n") || fresh[at + 1..].starts_with(b"\r\n");
    !bytes.is_empty() && (seen == 0 || memchr::memchr_iter(b'\n', fresh).any(ends))
}

/// That the server stops. A task is told of that once, however often it asks.
struct Stopping {
    token: CancellationToken,
    told: Pin<Box<WaitForCancellationFutureOwned>>,
    asked: bool,
}

impl Stopping {
    fn of(token: &CancellationToken) -> Self {
        let told = Box::pin(token.clone().cancelled_owned());
        Self { token: token.clone(), told, asked: false }
    }
}

impl Future for Stopping {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if !self.asked {
            self.asked = true;
            return self.told.as_mut().poll(context);
        }
        match self.token.is_cancelled() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}
