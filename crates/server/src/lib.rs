//! The doors of Gantry: stdio, Streamable HTTP, HTTP+SSE and WebSocket, on every revision.
//!
//! A door turns bytes into messages, lets [`era`] lift them to the newest form, steps the call
//! that the gateway runs, and writes down what it says. Everything about revisions is in `era`.

mod credentials;
mod doorman;
mod duplex;
mod era;
#[cfg(fuzzing)]
pub mod fuzzing;
mod guest;
mod headers;
mod http;
mod lobby;
mod memory;
mod outgoing;
mod quota;
mod seal;
mod settings;
mod stdio;
mod task_log;
mod underway;
mod websocket;

pub use doorman::{Doorman, Refusal, Visitor};
pub use http::annex::{Admission, Annex, Annexes, MoreMetrics};
pub use http::{ControlServer, HttpServer, ListenError, Names};
pub use lobby::Lobby;
pub use memory::Link;
pub use settings::{Eras, Settings};
pub use stdio::serve_stdio;
pub use task_log::{TaskLog, TaskLogError, TaskLogLimits, TaskRecord};
