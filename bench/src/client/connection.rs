//! One keep-alive HTTP/1.1 connection: bodies with a length, chunked bodies, and event streams.

use std::io::ErrorKind;

use bytes::{Buf, BytesMut};
use memchr::memmem;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::request::Address;
use crate::fault::Fault;

/// What the head of a reply says.
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The body is an event stream rather than one JSON message.
    pub(crate) events: bool,
    /// The session id the server gave.
    pub(crate) session: Option<String>,
    length: usize,
    chunked: bool,
}

/// A connection, with the bytes read ahead and the latest body.
pub(crate) struct Connection {
    stream: TcpStream,
    input: BytesMut,
    body: Vec<u8>,
}

impl Connection {
    /// Connects to the server.
    pub(crate) async fn open(address: &Address) -> Result<Self, Fault> {
        let failed = || Fault::machine(format!("connect to {}", address.authority));
        let stream = TcpStream::connect(&address.authority).await.map_err(failed())?;
        stream.set_nodelay(true).map_err(failed())?;
        Ok(Self { stream, input: BytesMut::with_capacity(4096), body: Vec::new() })
    }

    /// Sends a request and reads the whole reply.
    pub(crate) async fn context(&mut self, request: &[u8]) -> Result<Reply, Fault> {
        let reply = self.open_stream(request).await?;
        self.body.clear();
        if reply.chunked {
            while self.read_chunk().await? {}
        } else {
            self.fill(reply.length).await?;
            self.body.extend_from_slice(&self.input[..reply.length]);
            self.input.advance(reply.length);
        }
        Ok(reply)
    }

    /// Sends a request and reads no more than the head of the reply.
    pub(crate) async fn open_stream(&mut self, request: &[u8]) -> Result<Reply, Fault> {
        self.stream.write_all(request).await.map_err(Fault::machine("send a request"))?;
        self.read_head().await
    }

    /// Whether the other side still holds the connection; what it has sent meanwhile is dropped.
    pub(crate) fn is_open(&self) -> bool {
        let mut buffer = [0; 4096];
        loop {
            match self.stream.try_read(&mut buffer) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }

    /// The latest body.
    pub(crate) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Fails unless the reply has the status that the exchange calls for.
    pub(crate) fn expect(
        &self,
        reply: &Reply,
        what: &'static str,
        status: u16,
    ) -> Result<(), Fault> {
        if reply.status == status {
            return Ok(());
        }
        let body = String::from_utf8_lossy(&self.body).chars().take(300).collect();
        Err(Fault::Status { what, status: reply.status, body })
    }

    async fn read_head(&mut self) -> Result<Reply, Fault> {
        let end = self.find(b"\r\n\r\n").await?;
        let head =
            str::from_utf8(&self.input[..end]).map_err(|_| Fault::Http("head is not text"))?;
        let reply = parse_head(head)?;
        self.input.advance(end + 4);
        Ok(reply)
    }

    /// Reads one chunk into the body; false after the last one.
    async fn read_chunk(&mut self) -> Result<bool, Fault> {
        let end = self.find(b"\r\n").await?;
        let size = str::from_utf8(&self.input[..end])
            .ok()
            .and_then(|line| usize::from_str_radix(line.split(';').next()?.trim(), 16).ok())
            .ok_or(Fault::Http("bad chunk size"))?;
        self.input.advance(end + 2);
        self.fill(size + 2).await?;
        self.body.extend_from_slice(&self.input[..size]);
        self.input.advance(size + 2);
        Ok(size > 0)
    }

    async fn find(&mut self, mark: &[u8]) -> Result<usize, Fault> {
        loop {
            if let Some(at) = memmem::find(&self.input, mark) {
                return Ok(at);
            }
            self.read().await?;
        }
    }

    async fn fill(&mut self, length: usize) -> Result<(), Fault> {
        while self.input.len() < length {
            self.input.reserve(length - self.input.len());
            self.read().await?;
        }
        Ok(())
    }

    async fn read(&mut self) -> Result<(), Fault> {
        match self.stream.read_buf(&mut self.input).await {
            Ok(0) => Err(Fault::Closed("the connection")),
            Ok(_) => Ok(()),
            Err(source) => Err(Fault::machine("read a reply")(source)),
        }
    }
}

fn parse_head(head: &str) -> Result<Reply, Fault> {
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1)?.parse().ok())
        .ok_or(Fault::Http("no status"))?;
    let mut reply = Reply { status, events: false, session: None, length: 0, chunked: false };
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            reply.length = value.parse().map_err(|_| Fault::Http("bad content-length"))?;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            reply.chunked = value.eq_ignore_ascii_case("chunked");
        } else if name.eq_ignore_ascii_case("content-type") {
            reply.events = value.starts_with("text/event-stream");
        } else if name.eq_ignore_ascii_case("mcp-session-id") {
            reply.session = Some(value.to_owned());
        }
    }
    Ok(reply)
}
