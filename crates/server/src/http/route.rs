//! Which path leads where, and who may take it.

use std::net::SocketAddr;
use std::sync::Arc;

use http::{HeaderValue, Method, StatusCode};

use super::alarm::Alarm;
use super::answer::{self, Answer};
use super::body::Given;
use super::{Hall, Head, annex, call, endpoint, entrance, faces, guard, legacy_sse, status};
use crate::doorman::Visitor;
use crate::websocket;

const NOTHING: &str = "nothing here; the MCP endpoint is /mcp\n";

/// That a request may be served.
pub(super) struct Pass {
    /// The website that it came from.
    origin: Option<HeaderValue>,
    /// Who makes it; none where that is not asked.
    visitor: Option<Visitor>,
}

impl Hall {
    /// Lets a request pass, or answers it: Host and Origin first, then who makes it. Its body is read
    /// only after that.
    pub(super) fn admit(&self, local: SocketAddr, head: &Head) -> Result<Pass, Box<Answer>> {
        let origin = guard::admit(&self.lobby.names(), local, &head.headers)?;
        if head.method == Method::OPTIONS {
            return Err(Box::new(guard::preflight(origin)));
        }
        if self.is_open(head.path()) {
            return Ok(Pass { origin, visitor: None });
        }
        match entrance::admit(&self.lobby, head.path(), &head.headers) {
            Ok(visitor) => Ok(Pass { origin, visitor: Some(visitor) }),
            Err(refusal) => Err(Box::new(guard::mark(*refusal, origin))),
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
        let answer = match &pass.visitor {
            Some(visitor) => self.serve_visitor(visitor, silence, head, body).await,
            None => Box::pin(self.serve_anyone(head, body)).await,
        };
        guard::mark(answer, pass.origin)
    }

    /// Whether a path is for anyone: nothing there reaches a call. What the counters tell of the
    /// tools is for this machine alone.
    fn is_open(&self, path: &str) -> bool {
        match path {
            "/mcp" | "/call" | "/sse" | "/message" | "/ws" => false,
            "/metrics" => self.address.ip().is_loopback(),
            path => !path.starts_with(faces::PATH),
        }
    }

    /// Serves someone who was let in.
    async fn serve_visitor(
        self: &Arc<Self>,
        visitor: &Visitor,
        silence: &mut Alarm,
        head: &Head,
        body: Given,
    ) -> Answer {
        match (head.path(), &head.method) {
            ("/mcp", _) => endpoint::serve(self, visitor, silence, head, body).await,
            ("/call", _) => Box::pin(call::serve(self, visitor, head, body)).await,
            ("/sse", &Method::GET) => legacy_sse::open(self, visitor),
            ("/message", &Method::POST) => {
                Box::pin(legacy_sse::post(self, visitor, head, body)).await
            }
            ("/ws", &Method::GET) => websocket::upgrade(self, visitor, head, &body),
            ("/sse" | "/ws", _) => answer::not_allowed("GET"),
            ("/message", _) => answer::not_allowed("POST"),
            (path, _) if path.starts_with(faces::PATH) => {
                Box::pin(self.serve_face(visitor, silence, head, body)).await
            }
            _ => Box::pin(self.serve_anyone(head, body)).await,
        }
    }

    /// Serves what is for anyone.
    async fn serve_anyone(&self, head: &Head, body: Given) -> Answer {
        match (head.path(), &head.method) {
            ("/healthz", &Method::GET) => answer::text(StatusCode::OK, "ok\n"),
            ("/readyz", &Method::GET) => status::ready(&self.lobby),
            ("/metrics", &Method::GET) => status::metrics(&self.lobby),
            ("/healthz" | "/readyz" | "/metrics", _) => answer::not_allowed("GET"),
            (path, _) => match self.lobby.annexes.find(path) {
                Some(annex) => annex::serve(annex, head, body).await,
                None => answer::text(StatusCode::NOT_FOUND, NOTHING),
            },
        }
    }
}
