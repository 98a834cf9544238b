//! What can go wrong while measuring. Each fault says which part of the run it ends.

use std::io;

/// Why a figure could not be taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The machine refused something.
    #[error("cannot {action}: {source}")]
    Machine { action: String, source: io::Error },
    /// The server closed the connection or the pipe.
    #[error("the server closed {0}")]
    Closed(&'static str),
    /// The server took longer than any measurement can bear.
    #[error("the server did not {0} in time")]
    Slow(&'static str),
    /// The server answered with another status than the exchange calls for.
    #[error("the server answered {status} to {what}: {body}")]
    Status { what: &'static str, status: u16, body: String },
    /// The bytes are not the HTTP this client reads.
    #[error("the reply is not the HTTP that was expected: {0}")]
    Http(&'static str),
    /// The reply is not the answer to the question.
    #[error("wrong answer to call {id}: {body}")]
    Answer { id: u64, body: String },
    /// A process said nothing that holds a URL.
    #[error("`{program}` ended without printing a URL; it said: {output}")]
    NoUrl { program: String, output: String },
    /// A program that was started by hand did not end well.
    #[error("a program that was started by hand ended with {0}")]
    Ended(String),
    /// The library refused the folder of tools.
    #[error("the tools cannot be served: {0}")]
    Tools(String),
    /// There is no `uv`, without which no Python tool runs.
    #[error("`uv` is missing; install it with `cargo xtask provision` or give --uv")]
    NoUv,
    /// Nobody said where the peers are.
    #[error("no peers; install them with `cargo xtask provision` and give --peers")]
    NoPeers,
    /// The load process failed.
    #[error("the load process failed: {0}")]
    Load(String),
    /// A program to measure is not there.
    #[error("`{path}` is missing; build it with `{build}`")]
    Missing { path: String, build: &'static str },
}

impl Fault {
    /// A refusal by the machine, with what was tried.
    pub(crate) fn machine(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |source| Self::Machine { action, source }
    }
}
