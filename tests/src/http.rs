//! A client of HTTP/1.1 that adds nothing to what a test says and hides nothing of the answer.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::test_server::soon;

/// What is sent: a method, a path, headers as they are written, a body.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The method.
    pub method: String,
    /// The path and query.
    pub path: String,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// An answer whose head has come. Dropping it hangs up.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    headers: Vec<(String, String)>,
    framing: Framing,
    source: BufReader<TcpStream>,
    /// What has come of the body and was not read yet.
    pending: Vec<u8>,
}

#[derive(Debug)]
enum Framing {
    Length(usize),
    Chunked,
    UntilClose,
}

/// One event of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Event {
    /// The `event` field.
    pub name: Option<String>,
    /// The `id` field.
    pub id: Option<String>,
    /// The `retry` field.
    pub retry: Option<String>,
    /// The `data` lines.
    pub data: Option<String>,
    /// A comment.
    pub comment: Option<String>,
}

impl Outgoing {
    /// Sends this on a connection of its own and reads the head of the answer.
    pub async fn send(&self, address: SocketAddr) -> Answer {
        let mut stream = TcpStream::connect(address).await.expect("the server listens");
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", self.body.len()));
        let bytes = [head.as_bytes(), &self.body].concat();
        stream.write_all(&bytes).await.expect("the server reads");
        soon("the head of an answer", Answer::read(stream)).await
    }
}

impl Answer {
    async fn read(stream: TcpStream) -> Self {
        let mut source = BufReader::new(stream);
        let status = line(&mut source).await;
        let status = status.split(' ').nth(1).and_then(|it| it.parse().ok());
        let mut headers = Vec::new();
        loop {
            let line = line(&mut source).await;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Self {
            status: status.expect("an answer begins with its status"),
            headers,
            framing: Framing::UntilClose,
            source,
            pending: Vec::new(),
        };
        if let Some(length) = answer.header("content-length") {
            answer.framing = Framing::Length(length.parse().expect("a length is a number"));
        } else if answer.header("transfer-encoding") == Some("chunked") {
            answer.framing = Framing::Chunked;
        }
        answer
    }

    /// A header of the answer, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether the answer is a stream of events.
    pub fn is_stream(&self) -> bool {
        self.header("content-type").is_some_and(|it| it.starts_with("text/event-stream"))
    }

    /// The whole body.
    pub async fn text(&mut self) -> String {
        while self.more().await {}
        String::from_utf8(std::mem::take(&mut self.pending)).expect("a body is UTF-8")
    }

    /// All messages of the body, of whatever kind it is.
    pub async fn messages(&mut self) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Some(message) = self.message().await {
            messages.push(message);
        }
        messages
    }

    /// The next message of the body.
    pub async fn message(&mut self) -> Option<Value> {
        if !self.is_stream() {
            let text = self.text().await;
            return (!text.is_empty()).then(|| parse(&text));
        }
        loop {
            let event = self.event().await?;
            if let Some(data) = event.data.filter(|data| !data.is_empty()) {
                return Some(parse(&data));
            }
        }
    }

    /// The next event of a stream; none at its end.
    pub async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some(end) = end_of_event(&self.pending) {
                let rest = self.pending.split_off(end);
                let text = std::mem::replace(&mut self.pending, rest);
                return Some(Event::parse(&String::from_utf8_lossy(&text)));
            }
            if !self.more().await {
                return None;
            }
        }
    }

    /// Reads some more of the body. False at its end.
    async fn more(&mut self) -> bool {
        soon("more of a body", self.read_more()).await
    }

    async fn read_more(&mut self) -> bool {
        let size = match self.framing {
            Framing::Length(left) => left,
            Framing::Chunked => {
                let size = line(&mut self.source).await;
                usize::from_str_radix(&size, 16).unwrap_or(0)
            }
            Framing::UntilClose => {
                return self.source.read_buf(&mut self.pending).await.unwrap_or(0) > 0;
            }
        };
        let start = self.pending.len();
        self.pending.resize(start + size, 0);
        let read = self.source.read_exact(&mut self.pending[start..]).await;
        if read.is_err() {
            self.pending.truncate(start);
        }
        let goes_on = read.is_ok() && size > 0;
        match self.framing {
            Framing::Chunked if goes_on => drop(line(&mut self.source).await),
            _ => self.framing = Framing::Length(0),
        }
        goes_on
    }
}

impl Event {
    fn parse(text: &str) -> Self {
        let mut event = Self::default();
        for line in text.lines() {
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match field {
                "event" => event.name = Some(value),
                "id" => event.id = Some(value),
                "retry" => event.retry = Some(value),
                "" => event.comment = Some(value),
                "data" => {
                    event.data = Some(match event.data.take() {
                        Some(before) => format!("{before}\n{value}"),
                        None => value,
                    });
                }
                _ => {}
            }
        }
        event
    }
}

/// Where the first event ends: after an empty line, whichever way lines end.
fn end_of_event(bytes: &[u8]) -> Option<usize> {
    let ends = ["\n\n", "\r\n\r\n"].map(|end| {
        let found = bytes.windows(end.len()).position(|window| window == end.as_bytes());
        found.map(|start| start + end.len())
    });
    ends.into_iter().flatten().min()
}

fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

async fn line(source: &mut BufReader<TcpStream>) -> String {
    let mut line = String::new();
    // A connection that breaks here ends the head or the body; the caller sees an empty line.
    let _ = source.read_line(&mut line).await;
    line.trim_end().to_owned()
}
