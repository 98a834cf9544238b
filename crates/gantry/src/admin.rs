//! Administration over HTTP: who holds the token may list, register and remove tools.

mod kept;
mod tools;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use gantry_gateway::ErrorDetail;
use gantry_gateway::contract::ErrorType;
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use gantry_providers::Tools;
use gantry_server::Annex;
use http::header::{ALLOW, AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};

pub use kept::Kept;

/// The pages under [`Admin::PREFIX`].
#[derive(Debug, Clone)]
pub struct Admin {
    tools: Tools,
    kept: Kept,
    token: String,
}

/// An answer: its status and its JSON.
type Answer = (StatusCode, RawJson);

impl Admin {
    /// Where the pages are.
    pub const PREFIX: &str = "/api";

    /// Administration of these tools for who holds the token. What is registered is kept.
    pub fn new(tools: Tools, kept: Kept, token: impl Into<String>) -> Self {
        Self { tools, kept, token: token.into() }
    }

    fn answer(&self, request: &Request<Bytes>) -> Response<Bytes> {
        if !is_held(request.headers(), &self.token) {
            let text = "this needs the administrator's token as `Authorization: Bearer TOKEN`";
            let mut response =
                respond(refuse(StatusCode::UNAUTHORIZED, ErrorType::AuthenticationError, text));
            let challenge = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            return response;
        }
        let path = request.uri().path().strip_prefix(Self::PREFIX).unwrap_or_default();
        let path = path.trim_start_matches('/');
        let name = path.strip_prefix("tools/");
        match (request.method(), path, name) {
            (&Method::GET, "tools", _) => respond(self.list()),
            (&Method::POST, "tools", _) => respond(self.register(request.body())),
            (&Method::GET, _, Some(name)) => respond(self.show(name)),
            (&Method::DELETE, _, Some(name)) => respond(self.remove(name)),
            (_, "tools", _) => not_allowed("GET, POST"),
            (_, _, Some(_)) => not_allowed("GET, DELETE"),
            _ => {
                let text = format!("there is no page {}/{path}; there is /api/tools", Self::PREFIX);
                respond(refuse(StatusCode::NOT_FOUND, ErrorType::ResourceNotFound, &text))
            }
        }
    }
}

impl Annex for Admin {
    fn serve(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>> {
        let admin = self.clone();
        // Manifests are files and folders: looking at them may block.
        Box::pin(async move {
            let answered = tokio::task::spawn_blocking(move || admin.answer(&request)).await;
            answered.unwrap_or_else(|_| {
                let text = "the request could not be served; the log says why";
                respond(refuse(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    ErrorType::ToolExecutionError,
                    text,
                ))
            })
        })
    }
}

/// Whether the request shows the token. The time this takes does not tell how much of it is right.
fn is_held(headers: &HeaderMap, token: &str) -> bool {
    let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let shown = shown.and_then(|it| it.strip_prefix("Bearer ")).unwrap_or_default().trim();
    let pairs = shown.bytes().zip(token.bytes());
    let difference = pairs.fold(0, |difference, (one, other)| difference | (one ^ other));
    !token.is_empty() && shown.len() == token.len() && difference == 0
}

/// A failure in the form of an error detail.
fn refuse(status: StatusCode, error_type: ErrorType, text: &str) -> Answer {
    let detail = ErrorDetail::new(error_type, text.to_owned());
    (status, ObjectWriter::new().value("error", &detail).finish())
}

fn respond((status, json): Answer) -> Response<Bytes> {
    let mut response = Response::new(json.bytes().clone());
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn not_allowed(allowed: &'static str) -> Response<Bytes> {
    let text = format!("use {allowed}");
    let mut response =
        respond(refuse(StatusCode::METHOD_NOT_ALLOWED, ErrorType::ValidationError, &text));
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
