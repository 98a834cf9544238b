//! HTTP handlers of the embedder, mounted under a path prefix: administration, for example, so that
//! this crate need not know it.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{Request, Response, StatusCode};

use crate::http::request_body::BodyResult;
use crate::http::request_head::RequestHead;
use crate::http::response;
use crate::http::response::HttpResponse;

/// The result of a handler's authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandlerAccess {
    /// No authentication: no body is read.
    Open,
    /// This principal. A body is read if the method has one: POST, PUT or PATCH.
    Authenticated(Arc<str>),
}

/// Handles the requests under one path prefix. They have passed the checks of Host and Origin, and
/// their body is within the limits of the server. Dropping the future cancels the request.
pub trait HttpHandler: Send + Sync {
    /// Authenticates a request by its head, before its body is read, or rejects it with a response.
    fn authenticate(&self, _head: &Parts) -> Result<HandlerAccess, Box<Response<Bytes>>> {
        Ok(HandlerAccess::Open)
    }

    /// Handles one request. Its path includes the prefix.
    fn serve(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>>;
}

/// Appends metrics to the text of `/metrics`.
pub type MoreMetrics = Arc<dyn Fn(&mut String) + Send + Sync>;

/// Mounted handlers by path prefix. The server's own paths take precedence.
#[derive(Clone, Default)]
pub struct Mounts {
    handlers: Vec<(String, Arc<dyn HttpHandler>)>,
    metrics: Vec<MoreMetrics>,
}

impl Mounts {
    /// Mounts a handler at `prefix`, which begins with a slash, and everything under it.
    pub fn mount(&mut self, prefix: &str, handler: Arc<dyn HttpHandler>) {
        self.handlers.push((prefix.trim_end_matches('/').to_owned(), handler));
        // Of two prefixes that match, the longer one wins.
        self.handlers.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
    }

    /// Adds metrics to `/metrics`.
    pub fn add_metrics(&mut self, metrics: MoreMetrics) {
        self.metrics.push(metrics);
    }

    pub(crate) fn find(&self, path: &str) -> Option<&Arc<dyn HttpHandler>> {
        let under = |prefix: &str| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.handlers.iter().find(|(prefix, _)| under(prefix)).map(|(_, handler)| handler)
    }

    pub(crate) fn write_metrics(&self, out: &mut String) {
        self.metrics.iter().for_each(|write| write(out));
    }
}

impl fmt::Debug for Mounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefixes: Vec<_> = self.handlers.iter().map(|(prefix, _)| prefix).collect();
        formatter.debug_struct("Mounts").field("prefixes", &prefixes).finish_non_exhaustive()
    }
}

/// Authenticates a request to a handler. Returns its head in the handler's form.
pub(super) fn authenticate(
    handler: &Arc<dyn HttpHandler>,
    head: &RequestHead,
) -> Result<(Box<Parts>, HandlerAccess), Box<HttpResponse>> {
    let mut request = Request::builder().method(&head.method).uri(head.target());
    for (name, value) in head.headers.iter() {
        request = request.header(name, value);
    }
    let parts = match request.body(()) {
        Ok(request) => request.into_parts().0,
        Err(error) => {
            return Err(Box::new(response::text(StatusCode::BAD_REQUEST, format!("{error}\n"))));
        }
    };
    let access =
        handler.authenticate(&parts).map_err(|response| Box::new(HttpResponse::from(*response)))?;
    Ok((Box::new(parts), access))
}

/// Hands a request to its handler.
pub(super) async fn handle(
    handler: &Arc<dyn HttpHandler>,
    parts: Parts,
    body: BodyResult,
) -> HttpResponse {
    match body {
        Ok(body) => handler.serve(Request::from_parts(parts, body)).await.into(),
        Err(error) => response::text(error.status, format!("{}\n", error.reason)),
    }
}
