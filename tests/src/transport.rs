//! One client's connection on any door: text goes in, messages come out in the order they came.

use std::net::SocketAddr;

use gantry::Link;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::http::{Answer, Outgoing};
use crate::test_server::{TestServer, soon};

/// A client's connection.
#[derive(Debug)]
pub enum ClientTransport {
    /// Inside the process.
    Link(Link),
    /// Streamable HTTP. An answer without body counts as the message of its status.
    Http(Post),
    /// HTTP+SSE: messages go to the endpoint that the stream named first.
    Sse(Post, Answer),
}

/// Sends POSTs and gathers what their answers say.
#[derive(Debug)]
pub struct Post {
    outgoing: Outgoing,
    address: SocketAddr,
    heard: mpsc::Receiver<Value>,
    hear: mpsc::Sender<Value>,
    reading: Vec<JoinHandle<()>>,
}

impl ClientTransport {
    /// Opens a connection on the door of that name.
    pub async fn open(test_server: &TestServer, transport: &str) -> Self {
        match transport {
            "http" => Self::Http(Post::new(test_server.address, "/mcp")),
            "sse" => Self::sse(test_server.address).await,
            _ => Self::Link(test_server.link()),
        }
    }

    /// Opens a connection of HTTP+SSE.
    pub async fn sse(address: SocketAddr) -> Self {
        let stream = Outgoing {
            method: "GET".to_owned(),
            path: "/sse".to_owned(),
            headers: vec![
                ("Host".to_owned(), "127.0.0.1".to_owned()),
                ("Accept".to_owned(), "text/event-stream".to_owned()),
            ],
            body: Vec::new(),
        };
        let mut stream = stream.send(address).await;
        let first = stream.event().await.expect("the stream names its endpoint");
        assert_eq!(first.name.as_deref(), Some("endpoint"), "the first event");
        let endpoint = first.data.expect("the endpoint has a path");
        Self::Sse(Post::new(address, &endpoint), stream)
    }

    /// Sends one text.
    pub async fn send(&mut self, text: String) {
        match self {
            Self::Link(link) => assert!(link.send(text).await, "the connection is over"),
            Self::Http(post) => post.send(text).await,
            Self::Sse(post, _) => {
                post.outgoing.body = text.into_bytes();
                let answer = post.outgoing.send(post.address).await;
                assert_eq!(answer.status, 202, "the status of a POST");
            }
        }
    }

    /// The next message; none when the connection is over.
    pub async fn receive(&mut self) -> Option<Value> {
        match self {
            Self::Link(link) => {
                let text = soon("a message", link.receive()).await?;
                let parsed = serde_json::from_slice(&text);
                Some(parsed.expect("every message is JSON"))
            }
            Self::Http(post) => soon("a message", post.heard.recv()).await,
            Self::Sse(_, stream) => {
                let event = stream.event().await?;
                assert_eq!(event.name.as_deref(), Some("message"), "the name of an event");
                let data = event.data.expect("an event has data");
                Some(serde_json::from_str(&data).expect("every message is JSON"))
            }
        }
    }
}

impl Post {
    fn new(address: SocketAddr, path: &str) -> Self {
        let headers = [
            ("Host", "127.0.0.1"),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let (hear, heard) = mpsc::channel(64);
        Self {
            outgoing: Outgoing {
                method: "POST".to_owned(),
                path: path.to_owned(),
                headers: headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
                body: Vec::new(),
            },
            address,
            heard,
            hear,
            reading: Vec::new(),
        }
    }

    async fn send(&mut self, text: String) {
        self.outgoing.body = text.into_bytes();
        let mut answer = self.outgoing.send(self.address).await;
        if let Some(session) = answer.header("mcp-session-id") {
            let header = ("Mcp-Session-Id".to_owned(), session.to_owned());
            self.outgoing.headers.push(header);
        }
        let hear = self.hear.clone();
        self.reading.push(tokio::spawn(async move {
            if answer.header("content-type").is_none() {
                let _ = hear.send(Value::from(answer.status)).await;
            }
            while let Some(message) = answer.message().await {
                let _ = hear.send(message).await;
            }
        }));
    }
}

impl Drop for Post {
    fn drop(&mut self) {
        self.reading.iter().for_each(JoinHandle::abort);
    }
}
