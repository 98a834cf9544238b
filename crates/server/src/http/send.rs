//! An answer on its way: its head, and a body that is known or that comes event by event.

use std::io::{self, IoSlice};
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use futures_util::{FutureExt, Stream, StreamExt};
use http::{Method, StatusCode};
use tokio::io::AsyncWriteExt;
use tokio::select;

use super::answer::Answer;
use super::body::{Body, Upgrade};
use super::connection::Connection;
use super::date;
use super::head::Head;

/// A body up to this size is copied to where its head is written, so that both are one piece.
pub(super) const COPIED: usize = 16 * 1024;
/// Events that are ready are written together, up to about this many bytes.
const TOGETHER: usize = 64 * 1024;
/// Bytes of memory that a connection keeps for its next answer.
const KEPT: usize = 32 * 1024;

impl Connection {
    /// Sends an answer. Gives what the connection is to be used for after it, if that is not HTTP.
    pub(super) async fn send(
        &mut self,
        head: &Head,
        answer: Answer,
    ) -> io::Result<Option<Upgrade>> {
        let Answer { status, kind, headers, body } = answer;
        self.outgoing.clear();
        put_status(&mut self.outgoing, status);
        if !kind.is_empty() {
            put_header(&mut self.outgoing, "content-type", kind.as_bytes());
        }
        for (name, value) in &headers {
            put_header(&mut self.outgoing, name.as_str(), value.as_bytes());
        }
        match body {
            Body::Pieces(pieces) => {
                self.put_connection(head);
                self.send_pieces(head, status, &pieces).await?;
                Ok(None)
            }
            Body::Events(events) => {
                self.lasts &= head.is_newest;
                self.put_connection(head);
                if self.inbox.is_empty() {
                    // Streams are many and last long, and their clients seldom say more.
                    self.inbox = BytesMut::new();
                }
                Box::pin(self.send_events(head, events)).await?;
                Ok(None)
            }
            Body::Upgrade(upgrade) => {
                self.outgoing.extend_from_slice(b"\r\n");
                self.flush().await?;
                Ok(Some(upgrade))
            }
        }
    }

    /// Says when this is, and whether the connection goes on where that is not to be expected.
    fn put_connection(&mut self, head: &Head) {
        self.outgoing.extend_from_slice(b"date: ");
        date::put(&mut self.outgoing);
        let more: &[u8] = match (self.lasts, head.is_newest) {
            (false, _) => b"\r\nconnection: close\r\n",
            (true, false) => b"\r\nconnection: keep-alive\r\n",
            (true, true) => b"\r\n",
        };
        self.outgoing.extend_from_slice(more);
    }

    async fn send_pieces(
        &mut self,
        head: &Head,
        status: StatusCode,
        pieces: &[Bytes; 3],
    ) -> io::Result<()> {
        let length: usize = pieces.iter().map(Bytes::len).sum();
        if status != StatusCode::NO_CONTENT {
            self.outgoing.extend_from_slice(b"content-length: ");
            put_number(&mut self.outgoing, length);
            self.outgoing.extend_from_slice(b"\r\n");
        }
        self.outgoing.extend_from_slice(b"\r\n");
        if head.method == Method::HEAD {
            return self.flush().await;
        }
        if length <= COPIED {
            pieces.iter().for_each(|piece| self.outgoing.extend_from_slice(piece));
            return self.flush().await;
        }
        let [first, second, third] = pieces;
        let mut parts = [&*self.outgoing, first, second, third].map(IoSlice::new);
        let mut parts = &mut parts[..];
        while !parts.is_empty() {
            match self.stream.write_vectored(parts).await? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                written => IoSlice::advance_slices(&mut parts, written),
            }
        }
        Ok(())
    }

    /// Sends events as they come, until there are no more or the client hangs up.
    async fn send_events(
        &mut self,
        head: &Head,
        mut events: Pin<Box<dyn Stream<Item = Bytes> + Send>>,
    ) -> io::Result<()> {
        let chunked = head.is_newest;
        let more: &[u8] = if chunked { b"transfer-encoding: chunked\r\n\r\n" } else { b"\r\n" };
        self.outgoing.extend_from_slice(more);
        loop {
            let mut ended = false;
            while !ended && self.outgoing.len() < TOGETHER {
                match events.next().now_or_never() {
                    Some(Some(event)) => put_event(&mut self.outgoing, &event, chunked),
                    Some(None) => ended = true,
                    None => break,
                }
            }
            if ended && chunked {
                self.outgoing.extend_from_slice(b"0\r\n\r\n");
            }
            self.flush().await?;
            if ended {
                return Ok(());
            }
            let next = select! {
                biased;
                event = events.next() => event,
                () = self.hung_up() => return Err(io::ErrorKind::ConnectionAborted.into()),
            };
            match next {
                Some(event) => put_event(&mut self.outgoing, &event, chunked),
                None => events = Box::pin(futures_util::stream::empty()),
            }
        }
    }

    /// Writes all that is to be written.
    pub(super) async fn flush(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.outgoing).await?;
        self.outgoing.clear();
        self.outgoing.shrink_to(KEPT);
        Ok(())
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

/// Writes an event, which is never empty: a chunk without bytes would be the last one.
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
