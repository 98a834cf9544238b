//! Which path leads where, and who may take it. All of this is decided by the head of a request:
//! its body is read only if it is authenticated and there is somebody to take it.

use std::net::SocketAddr;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};

use super::answer::{self, Answer};
use super::body::Given;
use super::handler::{HandlerAccess, HttpHandler, Mounts};
use super::timer::ReusableTimer;
use super::{
    Head, HttpState, auth, call, endpoint, handler, legacy_sse, origin_check, status,
    virtual_servers,
};
use crate::authenticator::Identity;
use crate::settings::Eras;
use crate::websocket;

const NOTHING: &str = "nothing here; the MCP endpoint is /mcp\n";
const NOTHING_ON_CONTROL: &str =
    "the control socket serves MCP at /mcp and administration under /api\n";

/// That a request may be served.
pub(super) struct Pass {
    /// The website that it came from.
    origin: Option<HeaderValue>,
    to: Destination,
}

/// Who serves a request.
enum Destination {
    /// We do, for anyone.
    Open,
    /// We do, for someone who was authenticated.
    Caller(Identity),
    /// Others do.
    Mount { mount: Arc<dyn HttpHandler>, parts: Box<Parts>, admission: HandlerAccess },
}

impl Pass {
    /// Who was authenticated; none where nobody was.
    pub(super) fn principal(&self) -> Option<&Arc<str>> {
        match &self.to {
            Destination::Caller(identity) => Some(&identity.principal),
            Destination::Mount { admission: HandlerAccess::Authenticated(principal), .. } => {
                Some(principal)
            }
            Destination::Mount { .. } | Destination::Open => None,
        }
    }
}

impl HttpState {
    /// Lets a request pass, or answers it: Host and Origin first, then who makes it, then whether
    /// there is such a page, with such a method, that takes a body if there is one.
    pub(super) fn admit(&self, local: SocketAddr, head: &Head) -> Result<Pass, Box<Answer>> {
        if let Some(pages) = &self.control {
            // The peer was identified when it connected, and no browser reaches a Unix socket.
            let to = match head.path() {
                "/mcp" => Ok(Destination::Caller(self.server_state.local.clone())),
                _ => mounted(pages, head, NOTHING_ON_CONTROL),
            };
            return Ok(Pass { origin: None, to: to.and_then(|to| self.check(head, to))? });
        }
        let origin =
            origin_check::check(&self.server_state.names(), local, &head.headers, &self.refusals)?;
        if head.method == Method::OPTIONS {
            return Err(Box::new(origin_check::preflight(origin)));
        }
        match self.find(head).and_then(|to| self.check(head, to)) {
            Ok(to) => Ok(Pass { origin, to }),
            Err(refusal) => Err(Box::new(origin_check::mark(*refusal, origin))),
        }
    }

    fn find(&self, head: &Head) -> Result<Destination, Box<Answer>> {
        let path = head.path();
        match path {
            "/healthz" | "/readyz" => Ok(Destination::Open),
            "/metrics" if self.server_state.settings.metrics_open => Ok(Destination::Open),
            "/metrics" | "/mcp" | "/call" | "/sse" | "/message" | "/ws" => self.caller(head),
            _ if path.starts_with(virtual_servers::PATH) => self.caller(head),
            auth::REGISTER
                if head.method == Method::POST
                    && self.server_state.authenticator().requires_credentials() =>
            {
                Err(Box::new(auth::no_registration()))
            }
            _ => mounted(&self.server_state.mounts, head, NOTHING),
        }
    }

    fn caller(&self, head: &Head) -> Result<Destination, Box<Answer>> {
        auth::authenticate(self, head).map(Destination::Caller)
    }

    /// Checks the method, and whether a body may come with it.
    fn check(&self, head: &Head, to: Destination) -> Result<Destination, Box<Answer>> {
        let (path, method) = (head.path(), &head.method);
        let is_mount = matches!(to, Destination::Mount { .. });
        let allowed = match path {
            _ if is_mount => None,
            "/call" | "/message" => Some("POST"),
            "/mcp" => Some(self.endpoint_methods()),
            _ if path.starts_with(virtual_servers::PATH) => Some(self.endpoint_methods()),
            _ => Some("GET"),
        };
        if let Some(allowed) = allowed
            && !allowed.split(", ").any(|it| it == method.as_str())
        {
            let refusal = answer::not_allowed(allowed);
            return Err(Box::new(if path == "/call" { call::marked(refusal) } else { refusal }));
        }
        let takes_body = matches!(*method, Method::POST | Method::PUT | Method::PATCH)
            && !matches!(to, Destination::Open)
            && !matches!(to, Destination::Mount { admission: HandlerAccess::Open, .. });
        if head.has_body() && !takes_body {
            let text = format!("{method} {path} takes no body; send the request without one\n");
            return Err(Box::new(answer::text(StatusCode::PAYLOAD_TOO_LARGE, text)));
        }
        Ok(to)
    }

    fn endpoint_methods(&self) -> &'static str {
        match self.server_state.settings.eras {
            Eras::Modern => "POST",
            Eras::Both | Eras::Legacy => "GET, POST, DELETE",
        }
    }

    /// Serves a request.
    pub(super) async fn serve(
        self: &Arc<Self>,
        pass: Pass,
        silence: &mut ReusableTimer,
        head: &Head,
        body: Given,
    ) -> Answer {
        let answer = match pass.to {
            Destination::Caller(identity) => tokio::select! {
                // Most requests are answered when first looked at.
                biased;
                answer = self.serve_caller(&identity, silence, head, body) => {
                    answer.charged(&self.sending, &identity.principal)
                }
                // What is dropped here is given up: a call that waits must not outlive its token.
                () = identity.over() => auth::ended(head),
            },
            Destination::Mount { mount, parts, .. } => {
                Box::pin(handler::serve(&mount, *parts, body)).await
            }
            Destination::Open => self.serve_anyone(head),
        };
        origin_check::mark(answer, pass.origin)
    }

    /// Serves someone who was authenticated.
    async fn serve_caller(
        self: &Arc<Self>,
        identity: &Identity,
        silence: &mut ReusableTimer,
        head: &Head,
        body: Given,
    ) -> Answer {
        match head.path() {
            "/mcp" => endpoint::serve(self, identity, silence, head, body).await,
            "/call" => Box::pin(call::serve(self, identity, head, body)).await,
            "/sse" => legacy_sse::open(self, identity),
            "/message" => Box::pin(legacy_sse::post(self, identity, head, body)).await,
            "/ws" => websocket::upgrade(self, identity, head),
            path if path.starts_with(virtual_servers::PATH) => {
                Box::pin(self.serve_virtual_server(identity, silence, head, body)).await
            }
            _ => self.serve_anyone(head),
        }
    }

    /// Serves what tells nothing of a call.
    fn serve_anyone(&self, head: &Head) -> Answer {
        match head.path() {
            "/healthz" => answer::text(StatusCode::OK, "ok\n"),
            "/readyz" => status::ready(&self.server_state),
            "/metrics" => status::metrics(&self.server_state),
            _ => answer::text(StatusCode::NOT_FOUND, NOTHING),
        }
    }
}

/// The mounted handler of a path, once it has let the request pass; `nothing` says what there is
/// instead.
fn mounted(
    mounts: &Mounts,
    head: &Head,
    nothing: &'static str,
) -> Result<Destination, Box<Answer>> {
    let Some(mount) = mounts.find(head.path()) else {
        return Err(Box::new(answer::text(StatusCode::NOT_FOUND, nothing)));
    };
    let (parts, admission) = handler::authenticate(mount, head)?;
    Ok(Destination::Mount { mount: mount.clone(), parts, admission })
}
