//! The one who made a request, as the server reaches them while it works on it.

use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_protocol::{Level, Method, RawJson};

/// A question of a server with handshake, in the newest form.
#[derive(Debug, Clone)]
pub struct InputRequest {
    /// `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: Method,
    /// Its parameters.
    pub params: Option<RawJson>,
    /// The name that the server would give it among several, when it hints one.
    pub key: Option<String>,
}

/// Why a question has no answer. The server is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputRefusal {
    /// The one who asked for the work did not declare that it can answer this.
    #[error("{0}")]
    Unsupported(String),
    /// It was asked and said no.
    #[error("{0}")]
    Refused(String),
    /// It is gone, or says nothing.
    #[error("{0}")]
    Gone(String),
}

/// Hears and answers what a server says while it works on a request. Everything is in the newest
/// form.
pub trait RequestHandler: Send + Sync {
    /// The params of a progress notification, without the token.
    fn progress(&self, params: RawJson);

    /// The params of a log message.
    fn log(&self, level: Level, params: RawJson) -> BoxFuture<'_, ()>;

    /// Answers a question.
    fn ask(&self, input_request: InputRequest) -> BoxFuture<'_, Result<RawJson, InputRefusal>>;

    /// The server hung up, and is called back after this time: it may take long.
    fn hang_up(&self, _retry: Duration) {}

    /// Whether two requests are made by one and the same, so that a question that could belong to
    /// either may go to any of them.
    fn identity(&self) -> &str {
        ""
    }
}

/// Hears nothing and answers nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoopHandler;

impl RequestHandler for NoopHandler {
    fn progress(&self, _params: RawJson) {}

    fn log(&self, _level: Level, _params: RawJson) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn ask(&self, input_request: InputRequest) -> BoxFuture<'_, Result<RawJson, InputRefusal>> {
        let text = format!("nobody is there to answer {}", input_request.method);
        Box::pin(async { Err(InputRefusal::Unsupported(text)) })
    }
}
