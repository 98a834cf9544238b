//! The requests of both eras as ready-made bytes. A call is laid out once for each connection, and
//! only the nine digits of its id change afterwards.

use std::str::FromStr;

use clap::ValueEnum;

const DIGITS: usize = 9;
const HOLE: &str = "@@@@@@@@@";
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"gantry-bench","version":"1"}}"#;

/// `initialize` of 2025-11-25.
pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"gantry-bench","version":"1"}}}"#;

/// What ends the handshake of 2025-11-25.
pub(crate) const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The lowest id; all ids have the same number of digits so that all requests have the same length.
pub(crate) const FIRST_ID: u64 = 100_000_000;

/// The two ways of speaking the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Era {
    /// 2026-07-28: no session, all context in each request.
    Modern,
    /// 2025-11-25: a handshake and a session id.
    Legacy,
}

impl Era {
    /// The revision this client speaks in the era.
    pub(crate) fn revision(self) -> &'static str {
        match self {
            Self::Modern => "2026-07-28",
            Self::Legacy => "2025-11-25",
        }
    }
}

/// What each call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Work {
    /// `tools/call` of `echo`.
    Echo,
    /// `tools/call` of `bench.echo`, a program.
    Tool,
    /// `tools/list`, first page.
    List,
    /// The same, of a server that writes fixed bytes and so a fixed id.
    FixedList,
}

impl Work {
    fn method(self) -> &'static str {
        match self {
            Self::Echo | Self::Tool => "tools/call",
            Self::List | Self::FixedList => "tools/list",
        }
    }

    fn name(self) -> Option<&'static str> {
        match self {
            Self::Echo => Some("echo"),
            Self::Tool => Some("bench.echo"),
            Self::List | Self::FixedList => None,
        }
    }
}

/// Where a server listens: `http://HOST:PORT/PATH`.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    pub(crate) authority: String,
    pub(crate) path: String,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(url: &str) -> Result<Self, String> {
        let rest =
            url.strip_prefix("http://").ok_or_else(|| format!("`{url}` is not an http URL"))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, "mcp"));
        let path = if path.is_empty() { "mcp" } else { path };
        Ok(Self { authority: authority.to_owned(), path: format!("/{path}") })
    }
}

impl Address {
    /// The URL again.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{}", self.authority, self.path)
    }
}

/// One HTTP request, with the places where its id stands.
pub(crate) struct Request {
    bytes: Vec<u8>,
    holes: Vec<usize>,
}

impl Request {
    /// `initialize` of 2025-11-25.
    pub(crate) fn initialize(address: &Address) -> Self {
        Self::post(address, "", INITIALIZE)
    }

    /// `notifications/initialized` of 2025-11-25.
    pub(crate) fn initialized(address: &Address, session: Option<&str>) -> Self {
        Self::post(address, &session_headers(session), INITIALIZED)
    }

    /// A call that can be repeated with [`Request::number`].
    pub(crate) fn call(address: &Address, era: Era, session: Option<&str>, work: Work) -> Self {
        let headers = match era {
            Era::Legacy => session_headers(session),
            Era::Modern => modern_headers(work.method(), work.name()),
        };
        Self::post(address, &headers, &body(era, work))
    }

    /// The same call as a line for stdio.
    pub(crate) fn line(era: Era, work: Work) -> Self {
        Self::with_holes(body(era, work) + "\n")
    }

    /// The request that opens a stream of notices: GET in the session era, else a subscription.
    pub(crate) fn stream(address: &Address, era: Era, session: Option<&str>) -> Self {
        if era == Era::Legacy {
            let Address { authority, path } = address;
            let headers = session_headers(session);
            let head = format!(
                "GET {path} HTTP/1.1\r\nHost: {authority}\r\nAccept: text/event-stream\r\n{headers}\r\n"
            );
            return Self::with_holes(head);
        }
        let method = "subscriptions/listen";
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{FIRST_ID},"method":"{method}","params":{{"notifications":{{"toolsListChanged":true}},{META}}}}}"#
        );
        Self::post(address, &modern_headers(method, None), &body)
    }

    /// Writes the id into its places.
    pub(crate) fn number(&mut self, id: u64) {
        let digits = id.to_string();
        debug_assert_eq!(digits.len(), DIGITS);
        for &at in &self.holes {
            self.bytes[at..at + DIGITS].copy_from_slice(digits.as_bytes());
        }
    }

    /// The request as it goes on the wire.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn post(address: &Address, headers: &str, body: &str) -> Self {
        let Address { authority, path } = address;
        let length = body.len();
        Self::with_holes(format!(
            "POST {path} HTTP/1.1\r\nHost: {authority}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        ))
    }

    fn with_holes(text: String) -> Self {
        let bytes = text.into_bytes();
        let holes = memchr::memmem::find_iter(&bytes, HOLE).collect();
        Self { bytes, holes }
    }
}

/// The text that call `id` sends and wants back.
pub(crate) fn text(id: impl std::fmt::Display) -> String {
    format!("this is call {id} of the bench")
}

/// The JSON of a call, with holes for its id.
fn body(era: Era, work: Work) -> String {
    let mut members = Vec::new();
    if let Some(name) = work.name() {
        let text = text(HOLE);
        members.push(format!(r#""name":"{name}","arguments":{{"text":"{text}"}}"#));
    }
    if era == Era::Modern {
        members.push(META.to_owned());
    }
    let (method, members) = (work.method(), members.join(","));
    format!(r#"{{"jsonrpc":"2.0","id":{HOLE},"method":"{method}","params":{{{members}}}}}"#)
}

fn session_headers(session: Option<&str>) -> String {
    let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
    format!("MCP-Protocol-Version: 2025-11-25\r\n{session}")
}

fn modern_headers(method: &str, name: Option<&str>) -> String {
    let name = name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
    format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_carries_its_number_in_id_and_text() {
        let address: Address = "http://127.0.0.1:1/mcp".parse().expect("a URL");
        for era in [Era::Modern, Era::Legacy] {
            let mut request = Request::call(&address, era, Some("s"), Work::Echo);
            request.number(123_456_789);
            let sent = String::from_utf8_lossy(request.bytes());
            assert!(sent.contains(r#""id":123456789,"#), "{sent}");
            assert!(sent.contains(&text(123_456_789)), "{sent}");
            assert!(!sent.contains(HOLE), "{sent}");
        }
    }

    #[test]
    fn an_address_without_a_path_means_the_endpoint() {
        for (url, path) in
            [("http://a:1", "/mcp"), ("http://a:1/", "/mcp"), ("http://a:1/mcp/x", "/mcp/x")]
        {
            assert_eq!(url.parse::<Address>().expect("a URL").path, path);
        }
    }
}
