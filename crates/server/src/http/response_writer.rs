//! Writes responses: the head, and a complete body or events as they come.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::time::SystemTime;

use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, Stream, StreamExt};
use gantry_protocol::timestamp;
use http::{Method, StatusCode};
use tokio::io::AsyncWriteExt;
use tokio::select;

use crate::http::connection::Connection;
use crate::http::request_head::RequestHead;
use crate::http::response::{Body, HttpResponse, Upgrade};

/// A body up to this size is copied behind its head, so that both are one write.
pub(super) const MAX_COPIED: usize = 16 * 1024;
/// Events that are ready are written together, up to about this many bytes.
const MAX_COALESCED: usize = 64 * 1024;

/// Writes a response. Returns the upgrade, if the connection is no longer HTTP after it.
pub(super) async fn write_response(
    connection: &mut Connection,
    head: &RequestHead,
    response: HttpResponse,
) -> io::Result<Option<Upgrade>> {
    let HttpResponse { status, content_type, headers, body } = response;
    connection.write_buffer.clear();
    put_status(&mut connection.write_buffer, status);
    if !content_type.is_empty() {
        put_header(&mut connection.write_buffer, "content-type", content_type.as_bytes());
    }
    for (name, value) in &headers {
        put_header(&mut connection.write_buffer, name.as_str(), value.as_bytes());
    }
    match body {
        Body::Pieces(pieces) => {
            put_connection(connection, head);
            write_pieces(connection, head, status, &pieces).await?;
            Ok(None)
        }
        Body::Events(events) => {
            connection.keep_alive &= head.is_http11;
            put_connection(connection, head);
            if connection.read_buffer.is_empty() {
                // There may be many long streams, and their clients seldom send more: free the buffer.
                connection.read_buffer = BytesMut::new();
            }
            Box::pin(write_events(connection, head, events)).await?;
            Ok(None)
        }
        Body::Upgrade(upgrade) => {
            connection.write_buffer.extend_from_slice(b"\r\n");
            connection.flush().await?;
            Ok(Some(upgrade))
        }
    }
}

/// Writes `Date`, and `Connection` where it differs from the default of the HTTP version.
fn put_connection(connection: &mut Connection, head: &RequestHead) {
    connection.write_buffer.extend_from_slice(b"date: ");
    put_date(&mut connection.write_buffer);
    let end: &[u8] = match (connection.keep_alive, head.is_http11) {
        (false, _) => b"\r\nconnection: close\r\n",
        (true, false) => b"\r\nconnection: keep-alive\r\n",
        (true, true) => b"\r\n",
    };
    connection.write_buffer.extend_from_slice(end);
}

async fn write_pieces(
    connection: &mut Connection,
    head: &RequestHead,
    status: StatusCode,
    pieces: &[Bytes; 3],
) -> io::Result<()> {
    let length: usize = pieces.iter().map(Bytes::len).sum();
    if status != StatusCode::NO_CONTENT {
        connection.write_buffer.extend_from_slice(b"content-length: ");
        put_number(&mut connection.write_buffer, length);
        connection.write_buffer.extend_from_slice(b"\r\n");
    }
    connection.write_buffer.extend_from_slice(b"\r\n");
    if head.method == Method::HEAD {
        return connection.flush().await;
    }
    if length <= MAX_COPIED {
        pieces.iter().for_each(|piece| connection.write_buffer.extend_from_slice(piece));
        return connection.flush().await;
    }
    let [first, second, third] = pieces;
    let mut parts = [&*connection.write_buffer, first, second, third].map(IoSlice::new);
    let mut parts = &mut parts[..];
    while !parts.is_empty() {
        match connection.stream.write_vectored(parts).await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => IoSlice::advance_slices(&mut parts, written),
        }
    }
    Ok(())
}

/// Writes events as they come, until the end or until the client closes the connection.
async fn write_events(
    connection: &mut Connection,
    head: &RequestHead,
    mut events: Pin<Box<dyn Stream<Item = Bytes> + Send>>,
) -> io::Result<()> {
    let chunked = head.is_http11;
    let more: &[u8] = if chunked { b"transfer-encoding: chunked\r\n\r\n" } else { b"\r\n" };
    connection.write_buffer.extend_from_slice(more);
    loop {
        let mut ended = false;
        while !ended && connection.write_buffer.len() < MAX_COALESCED {
            match events.next().now_or_never() {
                Some(Some(event)) => put_event(&mut connection.write_buffer, &event, chunked),
                Some(None) => ended = true,
                None => break,
            }
        }
        if ended && chunked {
            connection.write_buffer.extend_from_slice(b"0\r\n\r\n");
        }
        connection.flush().await?;
        if ended {
            return Ok(());
        }
        let next = select! {
            biased;
            event = events.next() => event,
            () = connection.closed_by_client() => return Err(io::ErrorKind::ConnectionAborted.into()),
        };
        match next {
            Some(event) => put_event(&mut connection.write_buffer, &event, chunked),
            None => events = Box::pin(futures_util::stream::empty()),
        }
    }
}

fn put_status(out: &mut Vec<u8>, status: StatusCode) {
    if status == StatusCode::OK {
        return out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
    }
    out.extend_from_slice(b"HTTP/1.1 ");
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(status.canonical_reason().unwrap_or_default().as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn put_header(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value);
    out.extend_from_slice(b"\r\n");
}

fn put_number(out: &mut Vec<u8>, number: usize) {
    let (mut digits, mut left, mut start) = ([0; 20], number, 20);
    loop {
        start -= 1;
        // One digit.
        digits[start] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// Writes an event. An empty one is skipped: an empty chunk ends the body.
fn put_event(out: &mut Vec<u8>, event: &[u8], chunked: bool) {
    if !chunked {
        return out.extend_from_slice(event);
    }
    if event.is_empty() {
        return;
    }
    out.extend_from_slice(format!("{:x}\r\n", event.len()).as_bytes());
    out.extend_from_slice(event);
    out.extend_from_slice(b"\r\n");
}

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

thread_local! {
    /// The last formatted second: `Date` is formatted once a second.
    static LAST: RefCell<(u64, String)> = const { RefCell::new((0, String::new())) };
}

/// Writes the current date.
fn put_date(out: &mut Vec<u8>) {
    let second = timestamp::millis(SystemTime::now()) / 1000;
    LAST.with_borrow_mut(|(last, text)| {
        if *last != second || text.is_empty() {
            (*last, *text) = (second, format_date(second));
        }
        out.extend_from_slice(text.as_bytes());
    });
}

/// A second since 1970 in the format of HTTP (RFC 9110, section 5.6.7).
fn format_date(second: u64) -> String {
    let days = second / 86_400;
    let (year, month, day) = timestamp::date(days);
    let (hour, minute, second) = (second % 86_400 / 3600, second % 3600 / 60, second % 60);
    let name = DAYS[(days % 7) as usize];
    let month = MONTHS[(month as usize).clamp(1, 12) - 1];
    format!("{name}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_formatted_as_in_rfc_9110() {
        for (second, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
        ] {
            assert_eq!(format_date(second), text);
        }
    }
}
