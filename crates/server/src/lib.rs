//! The MCP server of Gantry: stdio, Streamable HTTP, HTTP+SSE, WebSocket and in-process transports,
//! for every revision of the protocol.
//!
//! A transport turns bytes into messages. `session` (legacy) or `stateless` (modern) lifts them to the
//! newest form, steps the call that the gateway runs, and lowers what goes back to the client.

mod authenticator;
mod discover;
mod duplex;
mod era;
mod error_codes;
mod http;
mod in_flight;
mod in_process;
mod message_sink;
mod quota;
mod request;
mod request_headers;
mod revocation;
mod seal;
mod server_state;
mod session;
mod settings;
mod stateless;
mod stdio;
mod tasks;
mod virtual_servers;
mod websocket;

pub use authenticator::{AuthError, Authenticator, Identity};
pub use http::control_socket::ControlServer;
pub use http::listener::{HttpServer, ListenError};
pub use http::mount::{HandlerAccess, HttpHandler, MoreMetrics, Mounts};
pub use http::origin_check::AllowedHosts;
pub use in_process::Link;
pub use server_state::ServerState;
pub use settings::{Eras, Settings};
pub use stdio::serve_stdio;
pub use tasks::task_log::{TaskLog, TaskLogError, TaskLogLimits, TaskRecord};

/// Internals that the fuzz targets call.
#[cfg(fuzzing)]
pub mod fuzzing {
    use gantry_transport::http1::Framing;

    use crate::http::request_head;

    /// A parsed request head.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct RequestHead {
        /// Its length in bytes.
        pub length: usize,
        /// The method.
        pub method: String,
        /// Path and query.
        pub target: String,
        /// Names and values, in order.
        pub headers: Vec<(String, Vec<u8>)>,
        /// Where the body ends.
        pub framing: Framing,
    }

    /// Parses the head of a request; none while it is incomplete. The error is the reason for the
    /// refusal.
    pub fn request_head(bytes: &[u8]) -> Result<Option<RequestHead>, String> {
        let mut head = request_head::RequestHead::default();
        let read = head.parse(bytes).map_err(|bad| bad.reason)?;
        let headers = head.headers.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(read.map(|length| RequestHead {
            length,
            method: head.method.to_string(),
            target: head.target().to_owned(),
            headers: headers.collect(),
            framing: head.framing,
        }))
    }
}
