//! The HTTP server: Streamable HTTP at `/mcp`, HTTP+SSE, WebSocket upgrades, tool calls of the
//! contract at `/call`, health checks, metrics, and mounted handlers.
//!
//! The way of a request: `listener` accepts a connection and assigns it to a worker of
//! `worker_pool`; `connection` parses `request_head`; `router` checks Host and Origin, authenticates
//! and finds the endpoint; `request_body` reads the body within its limits; `mcp_endpoint` hands the
//! message to `stateless_endpoint` or `session_endpoint`; `response_writer` writes the response.
//!
//! HTTP/1.1 is implemented here on `httparse` instead of hyper or axum. A handful of paths need no
//! router, and a connection that serves one request after the other needs no general state machine.
//! hyper took 16 of the 82 thousand instructions of a forwarded call and a dozen of its 48
//! allocations, most of them for a header map that is asked for eight names. Where two parsers might
//! disagree (request smuggling), `request_head` refuses; the tests in `tests/tests/http/framing`
//! compare it with hyper.

mod bearer_auth;
pub(crate) mod byte_budget;
pub(crate) mod client_stream;
mod connection;
mod connection_limits;
mod contract_call;
pub(crate) mod control_socket;
mod event_stream;
mod legacy_sse;
pub(crate) mod listener;
mod mcp_endpoint;
pub(crate) mod mount;
pub(crate) mod origin_check;
mod request_body;
pub(crate) mod request_head;
pub(crate) mod response;
mod response_writer;
mod router;
mod session_call;
mod session_endpoint;
mod stateless_endpoint;
pub(crate) mod timers;
mod worker_pool;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gantry_transport::log_limit::LogLimit;
use tokio_util::task::TaskTracker;

use crate::authenticator::AuthError;
use crate::http::byte_budget::ByteBudget;
use crate::http::connection_limits::ConnectionLimiter;
use crate::http::legacy_sse::Mailboxes;
use crate::http::mount::Mounts;
use crate::server_state::ServerState;
use crate::settings::Settings;

/// State shared by all connections of one listener, for one endpoint.
#[derive(Debug)]
pub(crate) struct HttpState {
    pub(crate) server_state: Arc<ServerState>,
    mailboxes: Mailboxes,
    connection_limiter: Arc<ConnectionLimiter>,
    pub(crate) receive_budget: Arc<ByteBudget>,
    send_budget: Arc<ByteBudget>,
    rejection_log: Arc<RejectionLog>,
    tasks: TaskTracker,
    address: SocketAddr,
    /// The only handlers that are served, if this is the listener of the control socket.
    control: Option<Mounts>,
}

impl HttpState {
    fn new(
        server_state: Arc<ServerState>,
        connection_limiter: ConnectionLimiter,
        address: SocketAddr,
        control: Option<Mounts>,
    ) -> Arc<Self> {
        Arc::new(Self {
            mailboxes: Mailboxes::default(),
            connection_limiter: Arc::new(connection_limiter),
            receive_budget: Arc::new(ByteBudget::for_requests(&server_state.settings)),
            send_budget: Arc::new(ByteBudget::for_responses(&server_state.settings)),
            rejection_log: Arc::new(RejectionLog::new(&server_state.settings)),
            tasks: TaskTracker::new(),
            address,
            control,
            server_state,
        })
    }

    /// The same listener for the endpoint of a virtual server.
    fn for_virtual_server(&self, server_state: Arc<ServerState>) -> Arc<Self> {
        Arc::new(Self {
            server_state,
            mailboxes: Mailboxes::default(),
            connection_limiter: self.connection_limiter.clone(),
            receive_budget: self.receive_budget.clone(),
            send_budget: self.send_budget.clone(),
            rejection_log: self.rejection_log.clone(),
            tasks: self.tasks.clone(),
            address: self.address,
            control: None,
        })
    }

    /// Spawns a task that may outlive the request that started it.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }
}

/// The period of the rate limits for log lines.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Logs rejected requests and connections. Clients can cause any number of these lines, so each
/// kind has a rate limit.
#[derive(Debug)]
struct RejectionLog {
    authentication: LogLimit,
    header: LogLimit,
    connection: LogLimit,
}

impl RejectionLog {
    fn new(settings: &Settings) -> Self {
        let limit = || LogLimit::new(settings.refusals_logged, LOG_INTERVAL);
        Self { authentication: limit(), header: limit(), connection: limit() }
    }

    /// Authentication failed. Neither token nor path is logged: both may be secret.
    fn authentication(&self, error: &AuthError) {
        if let Some(suppressed) = self.authentication.admit() {
            tracing::info!(reason = %error, suppressed, "authentication failed");
        }
    }

    /// The Host or Origin header is not an allowed one.
    fn header(&self, header: &str, value: &str) {
        if let Some(suppressed) = self.header.admit() {
            tracing::warn!(header, value, suppressed, "request rejected");
        }
    }

    /// A connection was not accepted.
    fn connection(&self, reason: &dyn std::fmt::Display) {
        if let Some(suppressed) = self.connection.admit() {
            tracing::warn!(%reason, suppressed, "connection rejected");
        }
    }
}
