//! Which path leads where, and who may take it. All of this is decided by the head of a request:
//! its body is read only if it is authenticated and there is somebody to take it.

use std::net::SocketAddr;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};

use super::alarm::Alarm;
use super::annex::{Admission, Annex, Annexes};
use super::answer::{self, Answer};
use super::body::Given;
use super::{Hall, Head, annex, call, endpoint, entrance, faces, guard, legacy_sse, status};
use crate::doorman::Visitor;
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
    Caller(Visitor),
    /// Others do.
    Mount { mount: Arc<dyn Annex>, parts: Box<Parts>, admission: Admission },
}

impl Pass {
    /// Who was authenticated; none where nobody was.
    pub(super) fn principal(&self) -> Option<&Arc<str>> {
        match &self.to {
            Destination::Caller(visitor) => Some(&visitor.principal),
            Destination::Mount { admission: Admission::Authenticated(principal), .. } => {
                Some(principal)
            }
            Destination::Mount { .. } | Destination::Open => None,
        }
    }
}

impl Hall {
    /// Lets a request pass, or answers it: Host and Origin first, then who makes it, then whether
    /// there is such a page, with such a method, that takes a body if there is one.
    pub(super) fn admit(&self, local: SocketAddr, head: &Head) -> Result<Pass, Box<Answer>> {
        if let Some(pages) = &self.control {
            // The peer was identified when it connected, and no browser reaches a Unix socket.
            let to = match head.path() {
                "/mcp" => Ok(Destination::Caller(self.lobby.local.clone())),
                _ => mounted(pages, head, NOTHING_ON_CONTROL),
            };
            return Ok(Pass { origin: None, to: to.and_then(|to| self.check(head, to))? });
        }
        let origin = guard::admit(&self.lobby.names(), local, &head.headers, &self.refusals)?;
        if head.method == Method::OPTIONS {
            return Err(Box::new(guard::preflight(origin)));
        }
        match self.find(head).and_then(|to| self.check(head, to)) {
            Ok(to) => Ok(Pass { origin, to }),
            Err(refusal) => Err(Box::new(guard::mark(*refusal, origin))),
        }
    }

    fn find(&self, head: &Head) -> Result<Destination, Box<Answer>> {
        let path = head.path();
        match path {
            "/healthz" | "/readyz" => Ok(Destination::Open),
            "/metrics" if self.lobby.settings.metrics_open => Ok(Destination::Open),
            "/metrics" | "/mcp" | "/call" | "/sse" | "/message" | "/ws" => self.caller(head),
            _ if path.starts_with(faces::PATH) => self.caller(head),
            entrance::REGISTER if head.method == Method::POST && self.lobby.doorman().asks() => {
                Err(Box::new(entrance::no_registration()))
            }
            _ => mounted(&self.lobby.annexes, head, NOTHING),
        }
    }

    fn caller(&self, head: &Head) -> Result<Destination, Box<Answer>> {
        entrance::admit(self, head).map(Destination::Caller)
    }

    /// Checks the method, and whether a body may come with it.
    fn check(&self, head: &Head, to: Destination) -> Result<Destination, Box<Answer>> {
        let (path, method) = (head.path(), &head.method);
        let is_mount = matches!(to, Destination::Mount { .. });
        let allowed = match path {
            _ if is_mount => None,
            "/call" | "/message" => Some("POST"),
            "/mcp" => Some(self.endpoint_methods()),
            _ if path.starts_with(faces::PATH) => Some(self.endpoint_methods()),
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
            && !matches!(to, Destination::Mount { admission: Admission::Open, .. });
        if head.has_body() && !takes_body {
            let text = format!("{method} {path} takes no body; send the request without one\n");
            return Err(Box::new(answer::text(StatusCode::PAYLOAD_TOO_LARGE, text)));
        }
        Ok(to)
    }

    fn endpoint_methods(&self) -> &'static str {
        match self.lobby.settings.eras {
            Eras::Modern => "POST",
            Eras::Both | Eras::Legacy => "GET, POST, DELETE",
        }
    }

    /// Serves a request.
    pub(super) async fn serve(
        self: &Arc<Self>,
        pass: Pass,
        silence: &mut Alarm,
        head: &Head,
        body: Given,
    ) -> Answer {
        let answer = match pass.to {
            Destination::Caller(visitor) => tokio::select! {
                // Most requests are answered when first looked at.
                biased;
                answer = self.serve_caller(&visitor, silence, head, body) => answer,
                // What is dropped here is given up: a call that waits must not outlive its token.
                () = visitor.over() => entrance::ended(head),
            },
            Destination::Mount { mount, parts, .. } => {
                Box::pin(annex::serve(&mount, *parts, body)).await
            }
            Destination::Open => self.serve_anyone(head),
        };
        guard::mark(answer, pass.origin)
    }

    /// Serves someone who was authenticated.
    async fn serve_caller(
        self: &Arc<Self>,
        visitor: &Visitor,
        silence: &mut Alarm,
        head: &Head,
        body: Given,
    ) -> Answer {
        match head.path() {
            "/mcp" => endpoint::serve(self, visitor, silence, head, body).await,
            "/call" => Box::pin(call::serve(self, visitor, head, body)).await,
            "/sse" => legacy_sse::open(self, visitor),
            "/message" => Box::pin(legacy_sse::post(self, visitor, head, body)).await,
            "/ws" => websocket::upgrade(self, visitor, head),
            path if path.starts_with(faces::PATH) => {
                Box::pin(self.serve_face(visitor, silence, head, body)).await
            }
            _ => self.serve_anyone(head),
        }
    }

    /// Serves what tells nothing of a call.
    fn serve_anyone(&self, head: &Head) -> Answer {
        match head.path() {
            "/healthz" => answer::text(StatusCode::OK, "ok\n"),
            "/readyz" => status::ready(&self.lobby),
            "/metrics" => status::metrics(&self.lobby),
            _ => answer::text(StatusCode::NOT_FOUND, NOTHING),
        }
    }
}

/// The mounted handler of a path, once it has let the request pass; `nothing` says what there is
/// instead.
fn mounted(
    mounts: &Annexes,
    head: &Head,
    nothing: &'static str,
) -> Result<Destination, Box<Answer>> {
    let Some(mount) = mounts.find(head.path()) else {
        return Err(Box::new(answer::text(StatusCode::NOT_FOUND, nothing)));
    };
    let (parts, admission) = annex::admit(mount, head)?;
    Ok(Destination::Mount { mount: mount.clone(), parts, admission })
}
