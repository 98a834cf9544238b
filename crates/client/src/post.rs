//! JSON posted to an address that is no MCP server: a collector, a hook. The same connections and
//! the same care with headers as for servers.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Uri};
use http_body_util::Full;

use crate::error::ClientError;
use crate::settings::Settings;
use crate::target::Endpoint;
use crate::wire::http::Http;

/// Bytes that are read of an answer, so that its connection can be used again.
const ANSWER: usize = 64 * 1024;

/// An address to post to.
#[derive(Debug)]
pub struct Post {
    http: Http,
    /// The path of the address, without a slash at its end.
    path: String,
}

impl Post {
    /// Connects to nothing yet.
    pub fn new(endpoint: &Endpoint) -> Result<Self, ClientError> {
        let http = Http::new(endpoint, &Settings::default())?;
        Ok(Self { http, path: endpoint.url.path().trim_end_matches('/').to_owned() })
    }

    /// Posts a JSON text to a path below the address, which begins with a slash or is empty. Gives
    /// the status of the answer; 401 and 403 are errors. It sets no limit to the time.
    pub async fn json(&self, below: &str, text: Bytes) -> Result<u16, ClientError> {
        let target = format!("{}{below}", self.path);
        let target = if target.is_empty() { "/".to_owned() } else { target };
        let unusable = |_| ClientError::Unreachable(format!("`{target}` is no path"));
        let target: Uri = target.parse().map_err(unusable)?;
        let request = || {
            let mut request = Request::new(Full::new(text.clone()));
            *request.method_mut() = Method::POST;
            *request.uri_mut() = target.clone();
            *request.headers_mut() = self.http.headers().clone();
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().insert(CONTENT_TYPE, json);
            request
        };
        let response = self.http.send(request).await?;
        let status = response.status().as_u16();
        response.into_body().beginning(ANSWER).await;
        Ok(status)
    }
}
