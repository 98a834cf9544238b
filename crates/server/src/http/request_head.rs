//! Parses the head of a request: method, target, headers, the framing of the body, and keep-alive.
//!
//! Whatever two parsers might read differently is refused, against request smuggling: a body with a
//! length and an encoding, a transfer coding other than `chunked`, a bare line feed, and two of any
//! header that decides something.

use std::mem::MaybeUninit;

use gantry_transport::http1::{Framing, Hints};
use http::{Method, StatusCode};
use httparse::{ParserConfig, Status};

use crate::request_headers::Headers;

/// The maximum number of headers.
const MAX_HEADERS: usize = 100;
/// The memory of a target up to this size is kept for the next request.
const MAX_KEPT: usize = 1024;

/// The head of a request. Its memory is reused for the next one.
#[derive(Debug)]
pub(crate) struct RequestHead {
    pub(crate) method: Method,
    pub(crate) headers: Headers,
    /// Path and query.
    target: String,
    /// Where the body ends.
    pub(crate) framing: Framing,
    /// Whether the client waits for `100 Continue` before it sends the body.
    pub(super) expects_continue: bool,
    /// Whether the connection may be reused.
    pub(super) keep_alive: bool,
    /// Whether it is HTTP/1.1, not 1.0.
    pub(crate) is_http11: bool,
}

/// Why a head is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadHead {
    pub(super) status: StatusCode,
    pub(crate) reason: String,
}

impl Default for RequestHead {
    fn default() -> Self {
        Self {
            method: Method::GET,
            headers: Headers::default(),
            target: String::new(),
            framing: Framing::Length(0),
            expects_continue: false,
            keep_alive: false,
            is_http11: true,
        }
    }
}

impl RequestHead {
    /// The path of the target.
    pub(crate) fn path(&self) -> &str {
        self.target.split_once('?').map_or(&*self.target, |(path, _)| path)
    }

    /// The query of the target, without `?`.
    pub(crate) fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// Path and query.
    pub(crate) fn target(&self) -> &str {
        &self.target
    }

    /// Whether a body comes with it.
    pub(super) fn has_body(&self) -> bool {
        self.framing != Framing::Length(0)
    }

    /// Frees the memory of an unusually large head. To be called after its response.
    pub(super) fn release(&mut self) {
        self.headers.release();
        if self.target.capacity() > MAX_KEPT {
            self.target = String::new();
        }
    }

    /// Parses the head at the start of the bytes. Returns its length; none while it is incomplete.
    pub(crate) fn parse(&mut self, bytes: &[u8]) -> Result<Option<usize>, BadHead> {
        let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut []);
        let config = ParserConfig::default();
        let parsed = config.parse_request_with_uninit_headers(&mut request, bytes, &mut headers);
        let length = match parsed {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(BadHead::too_large(format!(
                    "there are more than {MAX_HEADERS} headers"
                )));
            }
            Err(error) => return Err(BadHead::new(error.to_string())),
        };
        if has_bare_line_feed(&bytes[..length]) {
            return Err(BadHead::new("a line of the head ends with a line feed alone"));
        }
        self.method = request
            .method
            .and_then(|method| Method::from_bytes(method.as_bytes()).ok())
            .ok_or_else(|| BadHead::new("the method is malformed"))?;
        if self.method == Method::CONNECT {
            // What follows would be read as requests here and as a tunnel by a proxy.
            return Err(BadHead::new("CONNECT is for proxies, and this is not a proxy"));
        }
        let target = Target::read(request.path.unwrap_or_default())?;
        self.target.clear();
        if !target.path.starts_with(['/', '*']) {
            self.target.push('/');
        }
        self.target.push_str(target.path);
        self.is_http11 = request.version == Some(1);
        self.headers.clear();
        let mut hints = Hints::default();
        for header in request.headers.iter() {
            hints.note(header.name, header.value).map_err(BadHead::new)?;
            if is_single(header.name) && self.headers.all(header.name).next().is_some() {
                let name = header.name;
                return Err(BadHead::new(format!("the header `{name}` occurs more than once")));
            }
            self.headers.add(header.name, header.value);
        }
        let host = self.headers.get("host").unwrap_or_default();
        if target.host.is_some_and(|named| !named.eq_ignore_ascii_case(host)) {
            return Err(BadHead::new("the host of the target is not that of the header `Host`"));
        }
        self.keep_alive = hints.lasts(self.is_http11);
        self.framing = framing(&hints, self.is_http11)?;
        let expected = self.headers.get("expect").unwrap_or_default();
        self.expects_continue = self.is_http11 && expected.eq_ignore_ascii_case("100-continue");
        Ok(Some(length))
    }
}

/// Where the body ends. Whatever a proxy in front of the gateway may read differently is refused.
fn framing(hints: &Hints, is_http11: bool) -> Result<Framing, BadHead> {
    match hints.length {
        Some(_) if hints.encoded => Err(BadHead::new("the body has a length and an encoding")),
        Some(length) => Ok(Framing::Length(length)),
        None if !hints.encoded => Ok(Framing::Length(0)),
        None if hints.chunked && is_http11 => Ok(Framing::chunked()),
        None => Err(BadHead::new("the only transfer coding accepted is `chunked` of HTTP/1.1")),
    }
}

/// Whether a header decides something, so that a proxy may follow the other one of two.
fn is_single(name: &str) -> bool {
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    let is_known = match name.len() {
        4 => is("host"),
        6 => is("origin") || is("expect"),
        12 => is("content-type"),
        13 => is("authorization") || is("last-event-id"),
        14 => is("content-length"),
        17 => is("transfer-encoding") || is("sec-websocket-key"),
        21 => is("sec-websocket-version"),
        _ => false,
    };
    is_known || name.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("mcp-"))
}

/// Whether a line ends with a line feed without a carriage return, which other parsers may not take
/// for the end of a line.
fn has_bare_line_feed(head: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', head).any(|at| at == 0 || head[at - 1] != b'\r')
}

/// The target of a request.
struct Target<'a> {
    /// The host of an absolute target, as proxies get it.
    host: Option<&'a str>,
    /// Path and query.
    path: &'a str,
}

impl<'a> Target<'a> {
    fn read(text: &'a str) -> Result<Self, BadHead> {
        if text.starts_with('/') || text == "*" {
            return Ok(Self { host: None, path: text });
        }
        let is_ours = |it: &str| ["http", "https"].iter().any(|own| it.eq_ignore_ascii_case(own));
        match text.split_once("://") {
            Some((scheme, rest)) if is_ours(scheme) => {
                let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
                Ok(Self { host: Some(host), path })
            }
            _ => Err(BadHead::new("the target is not a path")),
        }
    }
}

impl BadHead {
    fn new(reason: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, reason: reason.into() }
    }

    /// It has too many bytes or headers.
    pub(super) fn too_large(reason: String) -> Self {
        Self { status: StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, reason }
    }
}

#[cfg(test)]
mod tests;
