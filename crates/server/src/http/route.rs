//! Which path leads where, and who may take it.

use std::net::SocketAddr;
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;

use super::alarm::Alarm;
use super::body::Body;
use super::{Hall, annex, answer, call, endpoint, entrance, faces, guard, legacy_sse, status};
use crate::doorman::Visitor;
use crate::websocket;

const NOTHING: &str = "nothing here; the MCP endpoint is /mcp\n";

impl Hall {
    /// Serves one request: Host and Origin first, then who makes it, then its path.
    pub(super) async fn route(
        self: Arc<Self>,
        local: SocketAddr,
        alarm: &Alarm,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let origin = match guard::admit(&self.lobby.names(), local, request.headers()) {
            Ok(origin) => origin,
            Err(refusal) => return *refusal,
        };
        if request.method() == Method::OPTIONS {
            return guard::preflight(origin);
        }
        let response = match self.is_open(request.uri().path()) {
            true => Box::pin(self.serve_anyone(request)).await,
            false => match entrance::admit(&self.lobby, request.uri().path(), request.headers()) {
                Ok(visitor) => self.serve(visitor, alarm, request).await,
                Err(refusal) => *refusal,
            },
        };
        guard::mark(response, origin)
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
    async fn serve(
        self: &Arc<Self>,
        visitor: Visitor,
        alarm: &Alarm,
        request: Request<Incoming>,
    ) -> Response<Body> {
        match (request.uri().path(), request.method()) {
            ("/mcp", _) => endpoint::serve(self, &visitor, alarm, request).await,
            ("/call", _) => Box::pin(call::serve(self, visitor, request)).await,
            ("/sse", &Method::GET) => legacy_sse::open(self, &visitor),
            ("/message", &Method::POST) => {
                Box::pin(legacy_sse::post(self, &visitor, request)).await
            }
            ("/ws", &Method::GET) => websocket::upgrade(self, visitor, request),
            ("/sse" | "/ws", _) => answer::not_allowed("GET"),
            ("/message", _) => answer::not_allowed("POST"),
            (path, _) if path.starts_with(faces::PATH) => {
                Box::pin(self.serve_face(&visitor, alarm, request)).await
            }
            _ => Box::pin(self.serve_anyone(request)).await,
        }
    }

    /// Serves what is for anyone.
    async fn serve_anyone(&self, request: Request<Incoming>) -> Response<Body> {
        match (request.uri().path(), request.method()) {
            ("/healthz", &Method::GET) => answer::text(StatusCode::OK, "ok\n"),
            ("/readyz", &Method::GET) => status::ready(&self.lobby),
            ("/metrics", &Method::GET) => status::metrics(&self.lobby),
            ("/healthz" | "/readyz" | "/metrics", _) => answer::not_allowed("GET"),
            (path, _) => match self.lobby.annexes.find(path) {
                Some(annex) => annex::serve(&self.lobby.settings, annex, request).await,
                None => answer::text(StatusCode::NOT_FOUND, NOTHING),
            },
        }
    }
}
