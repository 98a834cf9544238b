//! Reads the body of a request within its limits: size, receive budget, and a minimum data rate.

use std::io;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use gantry_transport::http1::{Framing, Step};
use http::StatusCode;
use tokio::select;
use tokio::time::timeout;

use crate::http::byte_budget::Charge;
use crate::http::connection::Connection;
use crate::http::request_head::RequestHead;
use crate::http::timers::ReadDeadline;

/// Up to this size a body is copied: a slice would hold the read buffer of its connection, which would
/// need a new one for each request.
pub(super) const MAX_COPIED: usize = 8 * 1024;
/// Bytes per read.
const CHUNK: usize = 64 * 1024;
/// Asks a client that sent `Expect: 100-continue` for the body.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The body of a request, or why it was not read: the endpoint responds in its own format.
pub(super) type BodyResult = Result<Bytes, BodyError>;

/// Why a body was not read.
#[derive(Debug)]
pub(super) struct BodyError {
    pub(super) status: StatusCode,
    pub(super) reason: String,
    /// Whether to retry soon.
    pub(super) is_busy: bool,
}

impl BodyError {
    fn new(status: StatusCode, reason: impl Into<String>) -> Self {
        Self { status, reason: reason.into(), is_busy: false }
    }

    /// The receive budget is used up.
    pub(super) fn busy() -> Self {
        let reason = "too many bytes are being received; retry in a second";
        Self { is_busy: true, ..Self::new(StatusCode::SERVICE_UNAVAILABLE, reason) }
    }
}

/// Reads a body. The outer error is that of the connection.
pub(super) async fn read_body(
    connection: &mut Connection,
    head: &RequestHead,
    principal: &Arc<str>,
) -> io::Result<BodyResult> {
    let settings = &connection.http_state.server_state.settings;
    let limit = settings.message.size;
    let deadline =
        ReadDeadline::new(settings.body_timeout, settings.rate_grace, settings.body_rate);
    let charge = connection.http_state.receive_budget.body(principal);
    if head.framing.at_least() > limit as u64 {
        connection.stop_reading();
        return Ok(Err(too_large(limit)));
    }
    if head.expects_continue && connection.read_buffer.is_empty() {
        connection.write_buffer.clear();
        connection.write_buffer.extend_from_slice(CONTINUE);
        connection.flush().await?;
    }
    let stopping = connection.http_state.server_state.stopping.clone();
    let body = select! {
        biased;
        body = read_all(connection, head.framing, limit, deadline, charge) => body,
        () = stopping.cancelled() => {
            Err(BodyError::new(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping"))
        }
    };
    if body.is_err() {
        connection.stop_reading();
    }
    Ok(body)
}

async fn read_all(
    connection: &mut Connection,
    mut framing: Framing,
    limit: usize,
    deadline: ReadDeadline,
    mut charge: Charge,
) -> BodyResult {
    let mut whole = BytesMut::new();
    loop {
        // A body of known length is taken in one piece when it is complete.
        if let Some(body) = connection.take_buffered_body(framing) {
            return charged(charge, body);
        }
        if let Framing::Chunked(_) = framing {
            match framing.step(&mut connection.read_buffer).map_err(broken)? {
                Step::Piece(piece) if whole.len() + piece.len() > limit => {
                    return Err(too_large(limit));
                }
                Step::Piece(piece) => {
                    whole.extend_from_slice(&piece);
                    continue;
                }
                Step::End => return charged(charge, whole.freeze()),
                Step::More => {}
            }
        }
        let received = whole.len() + connection.read_buffer.len();
        if !charge.raise_to(received.saturating_sub(MAX_COPIED)) {
            return Err(BodyError::busy());
        }
        match timeout(deadline.left(received), connection.fill(CHUNK)).await {
            Ok(Ok(0)) => return Err(broken("the connection was closed")),
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(broken(&error.to_string())),
            Err(_) => {
                let reason = "the body did not arrive in time";
                return Err(BodyError::new(StatusCode::REQUEST_TIMEOUT, reason));
            }
        }
    }
}

/// Charges a body for as long as it is held, if it is large enough to count.
pub(super) fn charged(mut charge: Charge, body: Bytes) -> BodyResult {
    match charge.raise_to(body.len().saturating_sub(MAX_COPIED)) {
        true => Ok(charge.attach_to(body)),
        false => Err(BodyError::busy()),
    }
}

fn too_large(limit: usize) -> BodyError {
    let reason = format!("the body is larger than the limit of {limit} bytes");
    BodyError::new(StatusCode::PAYLOAD_TOO_LARGE, reason)
}

fn broken(why: &str) -> BodyError {
    BodyError::new(StatusCode::BAD_REQUEST, format!("the body broke off: {why}"))
}
