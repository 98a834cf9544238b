//! Where a server is.

use gantry_transport::child::Program;
use http::Uri;

use gantry_protocol::Secret;

/// Where a server is, and how to get there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A program that is started, and spoken to over its standard streams.
    Program(Program),
    /// An address on the web.
    Http(Endpoint, HttpKind),
    /// A WebSocket: one message a frame.
    WebSocket(Endpoint),
}

/// How to speak to an address on the web.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HttpKind {
    /// Streamable HTTP; when the server does not know it, HTTP+SSE.
    #[default]
    Auto,
    /// Streamable HTTP only.
    Streamable,
    /// HTTP+SSE of the first revision only.
    Events,
}

/// An address, and what goes with every request to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The address.
    pub url: Uri,
    /// Headers that go with every request.
    pub headers: Vec<(String, Secret)>,
}

impl Endpoint {
    /// An address that needs no headers.
    pub fn new(url: Uri) -> Self {
        Self { url, headers: Vec::new() }
    }
}
