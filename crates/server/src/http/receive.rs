//! The body of a request, within its limits.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use gantry_transport::http::{Framing, Step};
use http::StatusCode;
use tokio::select;
use tokio::time::sleep;

use super::body::{Given, Unread};
use super::connection::Connection;
use super::head::Head;

/// A body that is no larger than this is copied: it would hold the memory that its connection reads
/// into, and the connection would take new memory for each request.
const COPIED: usize = 8 * 1024;
/// Bytes read at once.
const CHUNK: usize = 64 * 1024;
/// Asks a client for the body that it has announced.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Reads a body. An error is the connection's; what is wrong with the body is for whoever serves the
/// request to say.
pub(super) async fn body(connection: &mut Connection, head: &Head) -> io::Result<Given> {
    let settings = &connection.hall.lobby.settings;
    let (limit, within) = (settings.message.size, settings.body_timeout);
    if head.framing.at_least() > limit as u64 {
        connection.give_up();
        return Ok(Err(too_large(limit)));
    }
    if head.waits && connection.inbox.is_empty() {
        connection.outbox.clear();
        connection.outbox.extend_from_slice(CONTINUE);
        connection.flush().await?;
    }
    let stopping = connection.hall.lobby.stopping.clone();
    let given = select! {
        biased;
        given = gather(connection, head.framing, limit) => given,
        () = stopping.cancelled() => Err(Unread {
            status: StatusCode::SERVICE_UNAVAILABLE,
            reason: "the server is stopping".to_owned(),
        }),
        () = sleep(within) => Err(Unread {
            status: StatusCode::REQUEST_TIMEOUT,
            reason: "the body did not arrive in time".to_owned(),
        }),
    };
    if given.is_err() {
        connection.give_up();
    }
    Ok(given)
}

async fn gather(connection: &mut Connection, mut framing: Framing, limit: usize) -> Given {
    let mut whole = BytesMut::new();
    loop {
        // What is known to come is taken when it is there, in one piece.
        if let Some(body) = connection.at_hand(framing) {
            return Ok(body);
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
                Step::End => return Ok(whole.freeze()),
                Step::More => {}
            }
        }
        match connection.fill(CHUNK).await {
            Ok(0) => return Err(broken("the connection was closed")),
            Ok(_) => {}
            Err(error) => return Err(broken(&error.to_string())),
        }
    }
}

impl Connection {
    /// A body that is there as a whole.
    pub(super) fn at_hand(&mut self, framing: Framing) -> Option<Bytes> {
        let Framing::Length(length) = framing else { return None };
        let length = usize::try_from(length).ok().filter(|it| *it <= self.inbox.len())?;
        if length > self.hall.lobby.settings.message.size {
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
    fn give_up(&mut self) {
        self.lasts = false;
        self.unread = true;
    }
}

fn too_large(limit: usize) -> Unread {
    let reason = format!("the body is larger than the limit of {limit} bytes");
    Unread { status: StatusCode::PAYLOAD_TOO_LARGE, reason }
}

fn broken(why: &str) -> Unread {
    Unread { status: StatusCode::BAD_REQUEST, reason: format!("the body broke off: {why}") }
}
