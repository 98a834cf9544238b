//! The head of a request: what is asked for, where its body ends, and whether the connection goes on.

use std::mem::MaybeUninit;

use gantry_transport::http1::{Framing, Hints};
use http::{Method, StatusCode};
use httparse::{ParserConfig, Status};

use crate::headers::Headers;

/// Headers that a request may have.
const HEADERS: usize = 100;
/// Bytes of a target whose memory is kept for the next request.
const KEPT: usize = 1024;

/// The head of a request. Its memory is used again for the next one.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) method: Method,
    pub(crate) headers: Headers,
    /// Path and query.
    target: String,
    /// Where the body ends.
    pub(crate) framing: Framing,
    /// Whether the client waits to be asked for the body.
    pub(super) waits: bool,
    /// Whether the connection may be used again.
    pub(super) lasts: bool,
    /// Whether it is of HTTP/1.1.
    pub(crate) is_newest: bool,
}

/// Why a head cannot be served.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadHead {
    pub(super) status: StatusCode,
    pub(crate) reason: String,
}

impl Default for Head {
    fn default() -> Self {
        Self {
            method: Method::GET,
            headers: Headers::default(),
            target: String::new(),
            framing: Framing::Length(0),
            waits: false,
            lasts: false,
            is_newest: true,
        }
    }
}

impl Head {
    /// What is asked for.
    pub(crate) fn path(&self) -> &str {
        self.target.split_once('?').map_or(&*self.target, |(path, _)| path)
    }

    /// What stands behind the path.
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

    /// Gives memory back that an unusual head has taken. To be called when it is served.
    pub(super) fn release(&mut self) {
        self.headers.release();
        if self.target.capacity() > KEPT {
            self.target = String::new();
        }
    }

    /// Reads the head that the bytes begin with, and gives its length; none while it is not there as
    /// a whole.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<Option<usize>, BadHead> {
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS];
        let mut request = httparse::Request::new(&mut []);
        let config = ParserConfig::default();
        let parsed = config.parse_request_with_uninit_headers(&mut request, bytes, &mut headers);
        let length = match parsed {
            Ok(Status::Complete(length)) => length,
            Ok(Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => {
                return Err(BadHead::too_large(format!("there are more than {HEADERS} headers")));
            }
            Err(error) => return Err(BadHead::new(error.to_string())),
        };
        if has_bare_line_feed(&bytes[..length]) {
            return Err(BadHead::new("a line of the head ends with a line feed alone"));
        }
        self.method = request
            .method
            .and_then(|method| Method::from_bytes(method.as_bytes()).ok())
            .ok_or_else(|| BadHead::new("the method is none"))?;
        if self.method == Method::CONNECT {
            // What follows would be read as requests here and as a tunnel elsewhere.
            return Err(BadHead::new("CONNECT is for proxies, and this is none"));
        }
        let target = Target::read(request.path.unwrap_or_default())?;
        self.target.clear();
        if !target.path.starts_with(['/', '*']) {
            self.target.push('/');
        }
        self.target.push_str(target.path);
        self.is_newest = request.version == Some(1);
        self.headers.clear();
        let mut hints = Hints::default();
        for header in request.headers.iter() {
            hints.note(header.name, header.value).map_err(BadHead::new)?;
            if is_single(header.name) && self.headers.all(header.name).next().is_some() {
                let name = header.name;
                return Err(BadHead::new(format!("the header `{name}` is there more than once")));
            }
            self.headers.add(header.name, header.value);
        }
        // What could be read in two ways is refused here too.
        let host = self.headers.get("host").unwrap_or_default();
        if target.host.is_some_and(|named| !named.eq_ignore_ascii_case(host)) {
            return Err(BadHead::new("the host is not the one that is asked for"));
        }
        self.lasts = hints.lasts(self.is_newest);
        self.framing = framing(&hints, self.is_newest)?;
        let expected = self.headers.get("expect").unwrap_or_default();
        self.waits = self.is_newest && expected.eq_ignore_ascii_case("100-continue");
        Ok(Some(length))
    }
}

/// Where the body ends. What could be read in two ways is refused: what stands before the gateway may
/// have read it in the other.
fn framing(hints: &Hints, is_newest: bool) -> Result<Framing, BadHead> {
    match hints.length {
        Some(_) if hints.encoded => Err(BadHead::new("the body has a length and an encoding")),
        Some(length) => Ok(Framing::Length(length)),
        None if !hints.encoded => Ok(Framing::Length(0)),
        None if hints.chunked && is_newest => Ok(Framing::chunked()),
        None => Err(BadHead::new("a transfer coding is taken only if it is `chunked` of HTTP/1.1")),
    }
}

/// Whether a header decides something, so that of two of them somebody else may follow the other.
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

/// Whether a line ends with a line feed that no carriage return stands before: others may not take
/// that for the end of a line.
fn has_bare_line_feed(head: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', head).any(|at| at == 0 || head[at - 1] != b'\r')
}

/// What is asked for.
struct Target<'a> {
    /// Whoever speaks to a proxy names the host too.
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
            _ => Err(BadHead::new("what is asked for is no path")),
        }
    }
}

impl BadHead {
    fn new(reason: impl Into<String>) -> Self {
        Self { status: StatusCode::BAD_REQUEST, reason: reason.into() }
    }

    /// It has too many bytes, or headers.
    pub(super) fn too_large(reason: String) -> Self {
        Self { status: StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, reason }
    }
}

#[cfg(test)]
mod tests;
