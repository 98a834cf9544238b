//! JSON posted to an address that is no MCP server: a collector, a hook. The same connections and
//! the same care with headers as for servers.

use bytes::Bytes;
use http::Uri;
use http::header::{CONTENT_TYPE, HeaderValue};

use crate::error::ClientError;
use crate::http::{Body, Head, Http, Request, request_target};
use crate::settings::Settings;
use crate::target::Endpoint;

/// Bytes that are read of an answer, so that its connection can be used again.
const ANSWER: usize = 64 * 1024;

/// An address to post to.
#[derive(Debug)]
pub struct Post {
    http: Http,
    url: Uri,
}

impl Post {
    /// Connects to nothing yet.
    pub fn new(endpoint: &Endpoint) -> Result<Self, ClientError> {
        let http = Http::new(endpoint, &Settings::default())?;
        Ok(Self { http, url: endpoint.url.clone() })
    }

    /// Posts a JSON text to a path below the address, which begins with a slash. Gives the status of
    /// the answer; 401 and 403 are errors. It sets no limit to the time.
    pub async fn below(&self, path: &str, text: Bytes) -> Result<u16, ClientError> {
        let target = format!("{}{path}", self.url.path().trim_end_matches('/'));
        let unusable = |_| ClientError::Unreachable(format!("`{target}` is no path"));
        let (head, body) = self.send(&target.parse().map_err(unusable)?, &text).await?;
        body.beginning(ANSWER).await;
        Ok(head.status.as_u16())
    }

    /// Posts a JSON text to the address itself. Gives the status and the body of the answer, if that
    /// is not too long; 401 and 403 are errors. It sets no limit to the time.
    pub async fn json(&self, text: Bytes, longest: usize) -> Result<(u16, Bytes), ClientError> {
        let (head, body) = self.send(&request_target(&self.url), &text).await?;
        Ok((head.status.as_u16(), body.whole(longest).await?))
    }

    async fn send(&self, target: &Uri, text: &Bytes) -> Result<(Head, Body), ClientError> {
        let json = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        let post = Request::post(target, self.http.headers(), text);
        self.http.send(Request { more: &json, ..post }).await
    }
}
