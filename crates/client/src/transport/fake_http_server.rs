//! A server that plays a part, for tests: what it says to each request is written down beforehand.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use http::Uri;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

use crate::target::Endpoint;

/// What is done with one request, in the order in which they come.
#[derive(Debug, Clone)]
pub(crate) enum Play {
    /// Says this and waits for the next request.
    Say(String),
    /// Says this and closes the connection.
    SayAndClose(String),
    /// Says this and nothing more until the client closes the connection.
    SayAndHold(String),
}

/// What was seen of a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// A request.
    Request {
        /// The number of its connection.
        connection: usize,
        /// Its head, in lower case.
        head: String,
        /// Its body.
        body: String,
    },
    /// The client closed a connection.
    Closed(usize),
}

/// A server on loopback. It ends when it is dropped.
pub(crate) struct FakeHttpServer {
    /// Where it is.
    pub(crate) endpoint: Endpoint,
    seen: mpsc::Receiver<Seen>,
    server: JoinHandle<()>,
}

impl FakeHttpServer {
    /// Plays these, one for each request.
    pub(crate) async fn new(plays: impl IntoIterator<Item = Play>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let url: Uri = format!("http://{address}/mcp?key=hidden").parse().unwrap();
        let (tx, seen) = mpsc::channel(64);
        let plays = Arc::new(Mutex::new(plays.into_iter().collect::<VecDeque<_>>()));
        let server = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            for connection in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(play(stream, connection, plays.clone(), tx.clone()));
            }
        });
        Self { endpoint: Endpoint::new(url), seen, server }
    }

    /// The next thing seen.
    pub(crate) async fn seen(&mut self) -> Seen {
        self.seen.recv().await.unwrap()
    }

    /// The next request: its connection, head and body.
    pub(crate) async fn request(&mut self) -> (usize, String, String) {
        loop {
            if let Seen::Request { connection, head, body } = self.seen().await {
                return (connection, head, body);
            }
        }
    }
}

impl Drop for FakeHttpServer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn play(
    mut stream: TcpStream,
    connection: usize,
    plays: Arc<Mutex<VecDeque<Play>>>,
    tx: mpsc::Sender<Seen>,
) {
    while let Some((head, body)) = read_request(&mut stream).await {
        let _ = tx.send(Seen::Request { connection, head, body }).await;
        let play = plays.lock().unwrap().pop_front().expect("a play for every request");
        let (Play::Say(text) | Play::SayAndClose(text) | Play::SayAndHold(text)) = &play;
        stream.write_all(text.as_bytes()).await.unwrap();
        match play {
            Play::Say(_) => {}
            Play::SayAndClose(_) => return,
            Play::SayAndHold(_) => {
                let _ = stream.read(&mut [0; 1]).await;
                break;
            }
        }
    }
    let _ = tx.send(Seen::Closed(connection)).await;
}

/// The head, in lower case, and the body of the next request on a stream.
pub(crate) async fn read_request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let head = head.to_lowercase();
        let length = head
            .split("content-length: ")
            .nth(1)
            .map_or(0, |rest| rest.split("\r\n").next().unwrap().parse::<usize>().unwrap());
        if body.len() >= length {
            return Some((head, body.to_owned()));
        }
    }
}

/// A response with its length.
pub(crate) fn response(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}

/// A response of JSON.
pub(crate) fn json(body: &str) -> String {
    response("200 OK", "content-type: application/json\r\n", body)
}

/// The beginning of a response of events, of which more may come in chunks.
pub(crate) fn events(events: &str) -> String {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
    format!("{head}transfer-encoding: chunked\r\n\r\n{}", chunk(events))
}

/// A chunk; an empty one is the end.
pub(crate) fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}
