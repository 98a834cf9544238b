//! Pages that others serve behind this door, under a path of their own.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{Request, Response, StatusCode};

use super::Head;
use super::answer::{self, Answer};
use super::body::Given;

/// Who makes a request to a page of others, as far as its head tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandlerAccess {
    /// Anyone: nobody was authenticated, and no body is read.
    Open,
    /// This principal. A body is read if the method has one: POST, PUT or PATCH.
    Authenticated(Arc<str>),
}

/// Serves whatever is under one path. Requests have passed the checks of Host and Origin, and
/// their body is within the limits of the door. Dropping the future gives the request up.
pub trait HttpHandler: Send + Sync {
    /// Authenticates a request by its head, before any of its body is read, or answers it.
    fn authenticate(&self, _head: &Parts) -> Result<HandlerAccess, Box<Response<Bytes>>> {
        Ok(HandlerAccess::Open)
    }

    /// Serves one request, whose path is the whole one.
    fn serve(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>>;
}

/// Adds text of others to `/metrics`.
pub type MoreMetrics = Arc<dyn Fn(&mut String) + Send + Sync>;

/// What others serve behind the doors. The doors' own paths go first.
#[derive(Clone, Default)]
pub struct Mounts {
    pages: Vec<(String, Arc<dyn HttpHandler>)>,
    metrics: Vec<MoreMetrics>,
}

impl Mounts {
    /// Serves `prefix`, which begins with a slash, and everything under it.
    pub fn mount(&mut self, prefix: &str, handler: Arc<dyn HttpHandler>) {
        self.pages.push((prefix.trim_end_matches('/').to_owned(), handler));
        // Of two prefixes that fit, the longer one is meant.
        self.pages.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
    }

    /// Adds to what `/metrics` says.
    pub fn measure(&mut self, metrics: MoreMetrics) {
        self.metrics.push(metrics);
    }

    pub(crate) fn find(&self, path: &str) -> Option<&Arc<dyn HttpHandler>> {
        let under = |prefix: &str| {
            path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.pages.iter().find(|(prefix, _)| under(prefix)).map(|(_, handler)| handler)
    }

    pub(crate) fn write_metrics(&self, out: &mut String) {
        self.metrics.iter().for_each(|write| write(out));
    }
}

impl fmt::Debug for Mounts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefixes: Vec<_> = self.pages.iter().map(|(prefix, _)| prefix).collect();
        formatter.debug_struct("Annexes").field("pages", &prefixes).finish_non_exhaustive()
    }
}

/// Lets a request pass to who serves it, in the form in which it is passed on.
pub(crate) fn authenticate(
    handler: &Arc<dyn HttpHandler>,
    head: &Head,
) -> Result<(Box<Parts>, HandlerAccess), Box<Answer>> {
    let mut request = Request::builder().method(&head.method).uri(head.target());
    for (name, value) in head.headers.iter() {
        request = request.header(name, value);
    }
    let parts = match request.body(()) {
        Ok(request) => request.into_parts().0,
        Err(error) => {
            return Err(Box::new(answer::text(StatusCode::BAD_REQUEST, format!("{error}\n"))));
        }
    };
    let admission =
        handler.authenticate(&parts).map_err(|refusal| Box::new(Answer::from(*refusal)))?;
    Ok((Box::new(parts), admission))
}

/// Passes a request on.
pub(crate) async fn serve(handler: &Arc<dyn HttpHandler>, parts: Parts, body: Given) -> Answer {
    match body {
        Ok(body) => handler.serve(Request::from_parts(parts, body)).await.into(),
        Err(unread) => answer::text(unread.status, format!("{}\n", unread.reason)),
    }
}
