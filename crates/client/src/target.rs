//! Where a server is.

use std::path::PathBuf;

use gantry_process::Program;
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
    /// A Unix socket to connect to instead of the host and port of the address.
    pub socket: Option<UnixSocket>,
}

/// A Unix socket that a process of a known user serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixSocket {
    /// Its path.
    pub path: PathBuf,
    /// The user that must serve it; nothing is sent to a process of another one.
    pub owner: u32,
}

impl Endpoint {
    /// An address that needs no headers.
    pub fn new(url: Uri) -> Self {
        Self { url, headers: Vec::new(), socket: None }
    }
}
