//! Pages for people, each of them a file that needs nothing else.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use gantry_server::HttpHandler;
use http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use http::{HeaderValue, Method, Request, Response, StatusCode};

/// The pages under [`Pages::PREFIX`]. They hold nothing: what they show they ask the administration
/// for, with the token that a person gives them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pages;

/// Nothing but what this gateway serves itself, nothing inline, and in no frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

const FILES: [(&str, &str, &str); 3] = [
    ("approvals", "text/html; charset=utf-8", include_str!("../../ui/approvals.html")),
    ("approvals.js", "text/javascript; charset=utf-8", include_str!("../../ui/approvals.js")),
    ("approvals.css", "text/css; charset=utf-8", include_str!("../../ui/approvals.css")),
];

impl Pages {
    /// Where the pages are.
    pub(crate) const PREFIX: &str = "/ui";
}

impl HttpHandler for Pages {
    fn serve(&self, request: Request<Bytes>) -> BoxFuture<'static, Response<Bytes>> {
        let path = request.uri().path().strip_prefix(Self::PREFIX).unwrap_or_default();
        let path = path.trim_matches('/');
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let found = FILES.iter().find(|(name, ..)| is_read && *name == path);
        let response = match found {
            Some((_, kind, text)) => page(StatusCode::OK, kind, text),
            None => page(StatusCode::NOT_FOUND, "text/plain", "there is only /ui/approvals\n"),
        };
        Box::pin(std::future::ready(response))
    }
}

fn page(status: StatusCode, kind: &'static str, text: &'static str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::from_static(text.as_bytes()));
    *response.status_mut() = status;
    let headers = [
        (CONTENT_TYPE, kind),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-cache"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
