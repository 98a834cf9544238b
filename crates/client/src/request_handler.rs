//! The caller of a request, as the server reaches it while it works: progress, log messages, input
//! requests.

use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_protocol::{Level, Method, RawJson};

/// A request of a legacy server (elicitation, sampling, roots) as an input request of the newest
/// form.
#[derive(Debug, Clone)]
pub struct InputRequest {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: Method,
    /// Its parameters.
    pub params: Option<RawJson>,
    /// The key that the server would give it among several, if it hints one.
    pub key: Option<String>,
}

/// Why an input request was not answered. The server is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputRefusal {
    /// The client did not declare the capability.
    #[error("{0}")]
    Unsupported(String),
    /// The user or client declined.
    #[error("{0}")]
    Refused(String),
    /// The client is gone or does not respond.
    #[error("{0}")]
    Gone(String),
}

/// Receives what a server sends while it works on a request, in the newest form.
pub trait RequestHandler: Send + Sync {
    /// The params of a progress notification, without the token.
    fn progress(&self, params: RawJson);

    /// The params of a log message.
    fn log(&self, level: Level, params: RawJson) -> BoxFuture<'_, ()>;

    /// Answers an input request.
    fn ask(&self, input_request: InputRequest) -> BoxFuture<'_, Result<RawJson, InputRefusal>>;

    /// The server closed the stream and is reconnected to after this time, which may be long.
    fn hang_up(&self, _retry: Duration) {}

    /// Identifies the client of a request. Input requests that could belong to either of two calls
    /// of one identity may go to any of them.
    fn identity(&self) -> &str {
        ""
    }
}

/// Ignores everything and refuses input requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoopHandler;

impl RequestHandler for NoopHandler {
    fn progress(&self, _params: RawJson) {}

    fn log(&self, _level: Level, _params: RawJson) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn ask(&self, input_request: InputRequest) -> BoxFuture<'_, Result<RawJson, InputRefusal>> {
        let text = format!("there is no client to answer {}", input_request.method);
        Box::pin(async { Err(InputRefusal::Unsupported(text)) })
    }
}
