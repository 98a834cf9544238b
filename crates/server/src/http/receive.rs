//! The body of a request, within its limits.

use std::io;
use std::sync::Arc;

use bytes::{Buf, Bytes, BytesMut};
use gantry_transport::http1::{Framing, Step};
use http::StatusCode;
use tokio::select;
use tokio::time::timeout;

use super::body::{Given, Unread};
use super::budget::Charge;
use super::connection::Connection;
use super::head::Head;
use super::pace::Pace;

/// A body that is no larger than this is copied: it would hold the memory that its connection reads
/// into, and the connection would take new memory for each request.
const COPIED: usize = 8 * 1024;
/// Bytes read at once.
const CHUNK: usize = 64 * 1024;
/// Asks a client for the body that it has announced.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Reads a body. An error is the connection's; what is wrong with the body is for whoever serves the
/// request to say.
pub(super) async fn body(
    connection: &mut Connection,
    head: &Head,
    principal: &Arc<str>,
) -> io::Result<Given> {
    let settings = &connection.http_state.server_state.settings;
    let limit = settings.message.size;
    let pace = Pace::new(settings.body_timeout, settings.rate_grace, settings.body_rate);
    let charge = connection.http_state.budget.body(principal);
    if head.framing.at_least() > limit as u64 {
        connection.give_up();
        return Ok(Err(too_large(limit)));
    }
    if head.waits && connection.inbox.is_empty() {
        connection.outgoing.clear();
        connection.outgoing.extend_from_slice(CONTINUE);
        connection.flush().await?;
    }
    let stopping = connection.http_state.server_state.stopping.clone();
    let given = select! {
        biased;
        given = gather(connection, head.framing, limit, pace, charge) => given,
        () = stopping.cancelled() => {
            Err(Unread::new(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping"))
        }
    };
    if given.is_err() {
        connection.give_up();
    }
    Ok(given)
}

async fn gather(
    connection: &mut Connection,
    mut framing: Framing,
    limit: usize,
    pace: Pace,
    mut charge: Charge,
) -> Given {
    let mut whole = BytesMut::new();
    loop {
        // What is known to come is taken when it is there, in one piece.
        if let Some(body) = connection.at_hand(framing) {
            return counted(charge, body);
        }
        if let Framing::Chunked(_) = framing {
            match framing.step(&mut connection.inbox).map_err(broken)? {
                Step::Piece(piece) if whole.len() + piece.len() > limit => {
                    return Err(too_large(limit));
                }
                Step::Piece(piece) => {
                    whole.extend_from_slice(&piece);
                    continue;
                }
                Step::End => return counted(charge, whole.freeze()),
                Step::More => {}
            }
        }
        let received = whole.len() + connection.inbox.len();
        if !charge.cover(received.saturating_sub(COPIED)) {
            return Err(Unread::busy());
        }
        match timeout(pace.left(received), connection.fill(CHUNK)).await {
            Ok(Ok(0)) => return Err(broken("the connection was closed")),
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(broken(&error.to_string())),
            Err(_) => {
                let reason = "the body did not arrive in time";
                return Err(Unread::new(StatusCode::REQUEST_TIMEOUT, reason));
            }
        }
    }
}

/// Counts a body for as long as it is held, if it is large enough to count.
pub(super) fn counted(mut charge: Charge, body: Bytes) -> Given {
    match charge.cover(body.len().saturating_sub(COPIED)) {
        true => Ok(charge.hold(body)),
        false => Err(Unread::busy()),
    }
}

impl Connection {
    /// A body that is there as a whole.
    pub(super) fn at_hand(&mut self, framing: Framing) -> Option<Bytes> {
        let Framing::Length(length) = framing else { return None };
        let length = usize::try_from(length).ok().filter(|it| *it <= self.inbox.len())?;
        if length > self.http_state.server_state.settings.message.size {
            return None;
        }
        if length > COPIED {
            let body = self.inbox.split_to(length).freeze();
            if self.inbox.is_empty() {
                // Or else what is left of the memory would hold all of it.
                self.inbox = BytesMut::new();
            }
            return Some(body);
        }
        let body = Bytes::copy_from_slice(&self.inbox[..length]);
        self.inbox.advance(length);
        Some(body)
    }

    /// Passes over the body of a request that is not served. If it is not there yet, there will be no
    /// other request.
    pub(super) fn pass_over(&mut self, head: &Head) {
        if self.at_hand(head.framing).is_none() {
            self.give_up();
        }
    }

    /// Reads no more of what the client has to say.
    pub(super) fn give_up(&mut self) {
        self.lasts = false;
        self.unread = true;
    }
}

fn too_large(limit: usize) -> Unread {
    let reason = format!("the body is larger than the limit of {limit} bytes");
    Unread::new(StatusCode::PAYLOAD_TOO_LARGE, reason)
}

fn broken(why: &str) -> Unread {
    Unread::new(StatusCode::BAD_REQUEST, format!("the body broke off: {why}"))
}
