//! A TCP connection on which a test writes whatever it likes.

use std::net::SocketAddr;

use gantry_tests::test_server::soon;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A connection.
pub(crate) struct Socket {
    stream: TcpStream,
    pending: Vec<u8>,
}

impl Socket {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.expect("the server listens");
        Self { stream, pending: Vec::new() }
    }

    /// Writes bytes. A server that has had enough may already have hung up.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> bool {
        soon("a write", self.stream.write_all(bytes)).await.is_ok()
    }

    /// Says that nothing more will be written.
    pub(crate) async fn finish(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    /// Everything until the server hangs up.
    pub(crate) async fn rest(mut self) -> String {
        let _ = soon("the end of a connection", self.stream.read_to_end(&mut self.pending)).await;
        String::from_utf8_lossy(&self.pending).into_owned()
    }

    /// Reads until `enough` finds what it looks for, and takes that out.
    pub(crate) async fn until<T>(
        &mut self,
        enough: impl Fn(&[u8]) -> Option<(usize, T)>,
    ) -> Option<T> {
        loop {
            if let Some((length, found)) = enough(&self.pending) {
                self.pending.drain(..length);
                return Some(found);
            }
            let read = soon("more bytes", self.stream.read_buf(&mut self.pending)).await;
            if read.unwrap_or(0) == 0 {
                return None;
            }
        }
    }

    /// The head of the next answer.
    pub(crate) async fn head(&mut self) -> Option<String> {
        self.until(|bytes| {
            let end = bytes.windows(4).position(|it| it == b"\r\n\r\n")? + 4;
            Some((end, String::from_utf8_lossy(&bytes[..end]).into_owned()))
        })
        .await
    }

    /// The status of the next answer, whose body is read too.
    pub(crate) async fn status(&mut self) -> Option<u16> {
        let head = self.head().await?.to_ascii_lowercase();
        let length = head.split("content-length: ").nth(1).and_then(|it| it.lines().next());
        let length: usize = length.map_or(0, |it| it.trim().parse().expect("a length"));
        self.until(|bytes| (bytes.len() >= length).then_some((length, ()))).await?;
        head.split(' ').nth(1).and_then(|it| it.parse().ok())
    }
}

/// A POST to the endpoint with these headers.
pub(crate) fn post(headers: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}
