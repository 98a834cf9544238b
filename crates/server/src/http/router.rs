//! Routes requests by path. All of this is decided by the head of a request: Host and Origin first,
//! then authentication, then the path, the method, and whether it takes a body. A body is read only
//! for an authenticated request to an endpoint that takes one.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};

use crate::authenticator::Identity;
use crate::http::mount::{HandlerAccess, HttpHandler, Mounts};
use crate::http::request_body::BodyResult;
use crate::http::request_head::RequestHead;
use crate::http::response::{self, HttpResponse};
use crate::http::timers::ReusableTimer;
use crate::http::{
    HttpState, bearer_auth, contract_call, legacy_sse, mcp_endpoint, mount, origin_check,
};
use crate::server_state::ServerState;
use crate::settings::Eras;
use crate::virtual_servers::PATH_PREFIX;
use crate::websocket;

const NOT_FOUND: &str = "nothing here; the MCP endpoint is /mcp\n";
const NOT_FOUND_ON_CONTROL: &str =
    "the control socket serves MCP at /mcp and administration under /api\n";

/// Where a request goes.
pub(super) struct Route {
    /// The Origin, if a browser sent the request.
    origin: Option<HeaderValue>,
    target: Target,
}

enum Target {
    /// An endpoint without authentication.
    Open,
    /// An endpoint of ours, for an authenticated client.
    Endpoint(Identity),
    /// A mounted handler.
    Mount { handler: Arc<dyn HttpHandler>, parts: Box<Parts>, access: HandlerAccess },
}

impl Route {
    /// The authenticated principal; none where nobody was authenticated.
    pub(super) fn principal(&self) -> Option<&Arc<str>> {
        match &self.target {
            Target::Endpoint(identity) => Some(&identity.principal),
            Target::Mount { access: HandlerAccess::Authenticated(principal), .. } => {
                Some(principal)
            }
            Target::Mount { .. } | Target::Open => None,
        }
    }
}

/// Finds the route of a request, or the response that rejects it.
pub(super) fn route(
    http_state: &HttpState,
    local: SocketAddr,
    head: &RequestHead,
) -> Result<Route, Box<HttpResponse>> {
    if let Some(handlers) = &http_state.control {
        // The peer was authenticated when it connected, and no browser reaches a Unix socket.
        let target = match head.path() {
            "/mcp" => Ok(Target::Endpoint(http_state.server_state.local.clone())),
            _ => find_mount(handlers, head, NOT_FOUND_ON_CONTROL),
        };
        let target = target.and_then(|target| check_method(http_state, head, target))?;
        return Ok(Route { origin: None, target });
    }
    let allowed = http_state.server_state.allowed_hosts();
    let origin = origin_check::check(&allowed, local, &head.headers, &http_state.rejection_log)?;
    if head.method == Method::OPTIONS {
        return Err(Box::new(origin_check::preflight(origin)));
    }
    let target = find_target(http_state, head);
    match target.and_then(|target| check_method(http_state, head, target)) {
        Ok(target) => Ok(Route { origin, target }),
        Err(response) => Err(Box::new(origin_check::add_cors(*response, origin))),
    }
}

fn find_target(http_state: &HttpState, head: &RequestHead) -> Result<Target, Box<HttpResponse>> {
    let server_state = &http_state.server_state;
    let authenticated = || bearer_auth::authenticate(http_state, head).map(Target::Endpoint);
    let path = head.path();
    match path {
        "/healthz" | "/readyz" => Ok(Target::Open),
        "/metrics" if server_state.settings.metrics_open => Ok(Target::Open),
        "/metrics" | "/mcp" | "/call" | "/sse" | "/message" | "/ws" => authenticated(),
        _ if path.starts_with(PATH_PREFIX) => authenticated(),
        bearer_auth::REGISTER
            if head.method == Method::POST
                && server_state.authenticator().requires_credentials() =>
        {
            Err(Box::new(bearer_auth::no_registration()))
        }
        _ => find_mount(&server_state.mounts, head, NOT_FOUND),
    }
}

/// The mounted handler of a path, if it authenticates the request.
fn find_mount(
    mounts: &Mounts,
    head: &RequestHead,
    not_found: &'static str,
) -> Result<Target, Box<HttpResponse>> {
    let Some(handler) = mounts.find(head.path()) else {
        return Err(Box::new(response::text(StatusCode::NOT_FOUND, not_found)));
    };
    let (parts, access) = mount::authenticate(handler, head)?;
    Ok(Target::Mount { handler: handler.clone(), parts, access })
}

/// Checks the method, and whether it may have a body.
fn check_method(
    http_state: &HttpState,
    head: &RequestHead,
    target: Target,
) -> Result<Target, Box<HttpResponse>> {
    let (path, method) = (head.path(), &head.method);
    let endpoint_methods = || match http_state.server_state.settings.eras {
        Eras::Modern => "POST",
        Eras::Both | Eras::Legacy => "GET, POST, DELETE",
    };
    let allowed = match path {
        _ if matches!(target, Target::Mount { .. }) => None,
        "/call" | "/message" => Some("POST"),
        "/mcp" => Some(endpoint_methods()),
        _ if path.starts_with(PATH_PREFIX) => Some(endpoint_methods()),
        _ => Some("GET"),
    };
    if let Some(allowed) = allowed
        && !allowed.split(", ").any(|it| it == method.as_str())
    {
        let response = response::not_allowed(allowed);
        return Err(Box::new(match path {
            "/call" => contract_call::with_version(response),
            _ => response,
        }));
    }
    let takes_body = matches!(*method, Method::POST | Method::PUT | Method::PATCH)
        && !matches!(target, Target::Open)
        && !matches!(target, Target::Mount { access: HandlerAccess::Open, .. });
    if head.has_body() && !takes_body {
        let text = format!("{method} {path} takes no body; send the request without one\n");
        return Err(Box::new(response::text(StatusCode::PAYLOAD_TOO_LARGE, text)));
    }
    Ok(target)
}

/// Handles a routed request.
pub(super) async fn handle(
    http_state: &Arc<HttpState>,
    route: Route,
    keep_alive: &mut ReusableTimer,
    head: &RequestHead,
    body: BodyResult,
) -> HttpResponse {
    let response = match route.target {
        Target::Endpoint(identity) => tokio::select! {
            // Most requests are complete at the first poll.
            biased;
            response = handle_endpoint(http_state, &identity, keep_alive, head, body) => {
                response.charged(&http_state.send_budget, &identity.principal)
            }
            // Dropping the request cancels its call: it must not outlive its token.
            () = identity.revoked() => bearer_auth::revoked(head),
        },
        Target::Mount { handler, parts, .. } => {
            Box::pin(mount::handle(&handler, *parts, body)).await
        }
        Target::Open => handle_open(http_state, head),
    };
    origin_check::add_cors(response, route.origin)
}

async fn handle_endpoint(
    http_state: &Arc<HttpState>,
    identity: &Identity,
    keep_alive: &mut ReusableTimer,
    head: &RequestHead,
    body: BodyResult,
) -> HttpResponse {
    match head.path() {
        "/mcp" => mcp_endpoint::handle(http_state, identity, keep_alive, head, body).await,
        // Boxed: every connection has room for the largest future that it may run.
        "/call" => Box::pin(contract_call::handle(http_state, identity, head, body)).await,
        "/sse" => legacy_sse::open(http_state, identity),
        "/message" => Box::pin(legacy_sse::post(http_state, identity, head, body)).await,
        "/ws" => websocket::upgrade(http_state, identity, head),
        path if path.starts_with(PATH_PREFIX) => {
            Box::pin(mcp_endpoint::handle_virtual_server(
                http_state, identity, keep_alive, head, body,
            ))
            .await
        }
        _ => handle_open(http_state, head),
    }
}

/// Health checks and metrics.
fn handle_open(http_state: &HttpState, head: &RequestHead) -> HttpResponse {
    match head.path() {
        "/healthz" => response::text(StatusCode::OK, "ok\n"),
        "/readyz" => match http_state.server_state.stopping.is_cancelled() {
            false => response::text(StatusCode::OK, "ready\n"),
            true => response::text(StatusCode::SERVICE_UNAVAILABLE, "stopping\n"),
        },
        "/metrics" => response::text(StatusCode::OK, metrics(&http_state.server_state)),
        _ => response::text(StatusCode::NOT_FOUND, NOT_FOUND),
    }
}

/// The metrics in the text format of Prometheus.
fn metrics(server_state: &ServerState) -> String {
    let mut out = String::with_capacity(8192);
    let gateway = &server_state.gateway;
    gateway.metrics().write(&mut out);
    let gauges = [
        ("gantry_calls_in_flight", "Calls in flight.", gateway.calls_in_flight()),
        (
            "gantry_calls_parked",
            "Parked calls, which wait for a client's input.",
            server_state.parked_calls.count(),
        ),
        ("gantry_tasks", "Running tasks.", server_state.task_table.count()),
        ("gantry_sessions", "Sessions in memory.", server_state.sessions.count()),
        ("gantry_streams", "Open event streams.", server_state.open_streams()),
    ];
    for (name, help, value) in gauges {
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}");
    }
    server_state.mounts.write_metrics(&mut out);
    out
}
