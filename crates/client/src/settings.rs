//! Settings of a client: timeouts, limits, backoff and retries, each with its default.

use std::time::Duration;

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonLimits, RawJson, Revision};

use crate::backoff::Backoff;

/// Which era of the protocol to speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Era {
    /// Probe the server; the modern era if it supports both.
    #[default]
    Auto,
    /// Revisions from 2026-07-28: every request is self-contained.
    Modern,
    /// Revisions up to 2025-11-25, which open with `initialize`.
    Legacy,
}

/// When to connect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// At once, and again whenever the connection is lost.
    #[default]
    Eager,
    /// When something is asked for.
    Lazy,
}

/// How much of a server's lists is read. What is beyond is left out, and told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListLimits {
    /// Items that one list may have.
    pub items: usize,
    /// Bytes of one definition.
    pub definition: usize,
    /// Bytes of the definitions of all lists together.
    pub total: usize,
    /// Bytes of the definitions on one page.
    pub page: usize,
}

impl Default for ListLimits {
    fn default() -> Self {
        Self {
            items: 20_000,
            definition: 64 * 1024,
            total: 16 * 1024 * 1024,
            page: 8 * 1024 * 1024,
        }
    }
}

/// Flood limits: how much a server may send that answers no request (notifications, server
/// requests, log lines, invalid messages). Beyond them, it is read no faster, so that it has to
/// wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FloodLimits {
    /// Messages in a second. A long one counts for each 4 KiB of it.
    pub messages: u32,
    /// Bytes in a second that a program may write to standard error.
    pub stderr: u32,
    /// How many seconds' worth may come at once.
    pub burst: u32,
    /// How long it may go on before the server is disconnected.
    pub disconnect_after: Duration,
}

impl Default for FloodLimits {
    fn default() -> Self {
        Self {
            messages: 5000,
            stderr: 8 * 1024 * 1024,
            burst: 5,
            disconnect_after: Duration::from_secs(30),
        }
    }
}

/// Retries of requests that failed transiently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetrySettings {
    /// How often a request is made at most; one for never again.
    pub attempts: u32,
    /// The waits between attempts.
    pub backoff: Backoff,
    /// The longest `Retry-After` that is waited for.
    pub retry_after: Duration,
    /// Requests that may wait for their next attempt at once; beyond, they fail at once.
    pub waiting: usize,
}

impl Default for RetrySettings {
    fn default() -> Self {
        let backoff =
            Backoff { first: Duration::from_millis(200), at_most: Duration::from_secs(2) };
        Self { attempts: 4, backoff, retry_after: Duration::from_secs(10), waiting: 64 }
    }
}

/// How a client behaves.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which era to speak.
    pub era: Era,
    /// The revision that the handshake offers.
    pub offer: Revision,
    /// Who this client says it is.
    pub info: RawJson,
    /// What the handshake declares, in the newest form. Requests that stand alone declare their own.
    pub capabilities: RawJson,
    /// The answer to `roots/list` that comes outside of any call; none refuses it.
    pub roots: Option<RawJson>,
    /// Size and depth of one message.
    pub message: JsonLimits,
    /// Messages in one batch (2025-03-26). A longer one is skipped.
    pub batch: usize,
    /// Messages that may wait to be sent, and events of one call that may wait to be heard.
    pub queue: usize,
    /// Requests in flight at once on one connection.
    pub in_flight: usize,
    /// What a server may list.
    pub lists: ListLimits,
    /// What a server may say that answers no request.
    pub flood: FloodLimits,
    /// Timeout for connecting and negotiating.
    pub connect_within: Duration,
    /// How long a program may leave the probe unanswered before it is taken for a legacy server.
    pub probe_within: Duration,
    /// Idle timeout of a request. Progress restarts it, and it is paused while an input request is
    /// open.
    pub silence: Duration,
    /// Total timeout of a request, without the time that input requests are open.
    pub at_most: Duration,
    /// The backoff between attempts to connect.
    pub backoff: Backoff,
    /// Retries of requests that failed transiently.
    pub retry: RetrySettings,
    /// When to connect.
    pub start: Start,
    /// Idle timeout of a connection; none to keep it open.
    pub idle: Option<Duration>,
    /// Maximum lifetime of a connection; none to keep it.
    pub lifetime: Option<Duration>,
    /// Bytes kept of what a program writes to standard error.
    pub log: usize,
    /// How long a program may take to end when it is asked to.
    pub grace: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        let info =
            ObjectWriter::new().value("name", "gantry").value("version", env!("CARGO_PKG_VERSION"));
        Self {
            era: Era::Auto,
            offer: Revision::LATEST_WITH_HANDSHAKE,
            info: info.finish(),
            capabilities: RawJson::EMPTY_OBJECT,
            roots: None,
            message: JsonLimits { size: 32 * 1024 * 1024, depth: 128 },
            batch: 100,
            queue: 256,
            in_flight: 1024,
            lists: ListLimits::default(),
            flood: FloodLimits::default(),
            connect_within: Duration::from_secs(60),
            probe_within: Duration::from_secs(5),
            silence: Duration::from_secs(60),
            at_most: Duration::from_secs(10 * 60),
            backoff: Backoff::default(),
            retry: RetrySettings::default(),
            start: Start::Eager,
            idle: None,
            lifetime: None,
            log: 256 * 1024,
            grace: Duration::from_secs(2),
        }
    }
}
