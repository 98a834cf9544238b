//! The doors of Gantry: stdio, Streamable HTTP, HTTP+SSE and WebSocket, on every revision.
//!
//! A door turns bytes into messages, lets [`era`] lift them to the newest form, steps the call
//! that the gateway runs, and writes down what it says. Everything about revisions is in `era`.

mod authenticator;
mod client_identity;
mod credentials;
mod duplex;
mod era;
#[cfg(fuzzing)]
pub mod fuzzing;
mod headers;
mod http;
mod in_flight;
mod memory;
mod outgoing;
mod quota;
mod seal;
mod server_state;
mod settings;
mod stdio;
mod task_log;
mod websocket;

pub use authenticator::{AuthError, Authenticator, Identity};
pub use http::handler::{HandlerAccess, HttpHandler, MoreMetrics, Mounts};
pub use http::{AllowedHosts, ControlServer, HttpServer, ListenError};
pub use memory::Link;
pub use server_state::ServerState;
pub use settings::{Eras, Settings};
pub use stdio::serve_stdio;
pub use task_log::{TaskLog, TaskLogError, TaskLogLimits, TaskRecord};
