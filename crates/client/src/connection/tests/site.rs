//! A server on the web that answers by a rule.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::SOON;
use crate::client::Client;
use crate::connection::Connection;
use crate::error::ClientError;
use crate::event::Event;
use crate::settings::Settings;
use crate::target::{Endpoint, HttpKind, Target};

const SESSION: &str = "mcp-session-id: s1\r\n";

/// One request as the server saw it.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    verb: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or(&self.verb)
    }
}

/// A status, further headers, and a body. With no status the connection is closed without a word.
pub(crate) type Reply = (u16, &'static str, Value);

/// What a server answers to each request.
pub(crate) type Rule = fn(&Seen) -> Option<Reply>;

/// A server that answers by a rule, and keeps what it saw. A rule without a reply leaves the
/// request open.
pub(crate) struct Site {
    target: Target,
    pub(crate) seen: mpsc::Receiver<Seen>,
    _serving: JoinSet<()>,
}

impl Site {
    pub(crate) async fn open(
        rule: impl Fn(&Seen) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        Self::at(TcpListener::bind("127.0.0.1:0").await.unwrap(), rule)
    }

    /// The same at an address that is bound already.
    pub(crate) fn at(
        listener: TcpListener,
        rule: impl Fn(&Seen) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (sender, seen) = mpsc::channel(64);
        let rule = Arc::new(rule);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (rule, sender) = (rule.clone(), sender.clone());
                connections.spawn(async move { serve(stream, &*rule, &sender).await });
            }
        });
        let endpoint = Endpoint::new(url.parse().unwrap());
        let target = Target::Http(endpoint, HttpKind::Streamable);
        Self { target, seen, _serving: serving }
    }

    pub(crate) async fn connect(&self) -> Result<Arc<Connection>, ClientError> {
        let (events, _) = mpsc::channel(1);
        let settings = Arc::new(Settings::default());
        Connection::open(&self.target, settings, events).await.map(Arc::new)
    }

    /// A client of it.
    pub(crate) fn client(&self, settings: Settings) -> Client {
        let (events, _) = mpsc::channel(1);
        self.client_telling(settings, events)
    }

    /// The same, heard by somebody.
    pub(crate) fn client_telling(&self, settings: Settings, events: mpsc::Sender<Event>) -> Client {
        Client::new(self.target.clone(), settings, events)
    }

    /// The next request of that method, or verb.
    pub(crate) async fn next(&mut self, method: &str) -> Seen {
        loop {
            let seen = timeout(SOON, self.seen.recv()).await.expect("it comes in time");
            let seen = seen.expect("the server is there");
            if seen.method() == method {
                return seen;
            }
        }
    }
}

/// Serves one connection, which ends with its first response.
async fn serve(
    stream: TcpStream,
    rule: &(dyn Fn(&Seen) -> Option<Reply> + Send + Sync),
    sender: &mpsc::Sender<Seen>,
) {
    let mut stream = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        match stream.read_line(&mut line).await {
            Ok(2..) if line != "\r\n" => lines.push(line.trim_end().to_owned()),
            Ok(2) => break,
            _ => return,
        }
    }
    let headers: Vec<_> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().unwrap())];
    stream.read_exact(&mut body).await.unwrap();
    let verb = lines[0].split(' ').next().unwrap_or_default().to_owned();
    let seen = Seen { verb, headers, body: serde_json::from_slice(&body).unwrap_or_default() };
    let reply = rule(&seen);
    sender.send(seen).await.unwrap();
    let Some((status, headers, body)) = reply else { return std::future::pending().await };
    // No response at all.
    if status == 0 {
        return;
    }
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let response = format!(
        "HTTP/1.1 {status} x\r\n{headers}content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(response.as_bytes()).await;
}

/// A server with handshake and sessions.
pub(crate) fn older(seen: &Seen) -> Option<Reply> {
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}});
    Some(match seen.method() {
        "server/discover" => (400, "", json!({"nothing": "known"})),
        "initialize" => (200, SESSION, result(seen, &hello)),
        "GET" => (405, "", Value::Null),
        "tools/call" => (200, "", result(seen, &json!({"content": []}))),
        _ => (202, "", Value::Null),
    })
}

/// A server without.
pub(crate) fn newer(seen: &Seen) -> Option<Reply> {
    let discovered =
        json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}});
    Some(match seen.method() {
        "server/discover" => (200, "", result(seen, &discovered)),
        "tools/call" => (200, "", result(seen, &json!({"content": []}))),
        _ => (405, "", Value::Null),
    })
}

/// The response that this is the result of.
pub(crate) fn result(seen: &Seen, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": seen.body["id"], "result": result})
}

/// The response that this is the error of.
pub(crate) fn error(seen: &Seen, error: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": seen.body["id"], "error": error})
}
