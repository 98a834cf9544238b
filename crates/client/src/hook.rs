//! JSON posted to an address that is no MCP server, and what it answers. The same connections and
//! the same care with headers as for servers.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Uri};
use http_body_util::Full;

use crate::error::ClientError;
use crate::settings::Settings;
use crate::target::Endpoint;
use crate::wire::http::{Http, request_target};

/// An address that JSON is posted to.
#[derive(Debug)]
pub struct Hook {
    http: Http,
    target: Uri,
}

impl Hook {
    /// Connects to nothing yet.
    pub fn new(endpoint: &Endpoint) -> Result<Self, ClientError> {
        let http = Http::new(endpoint, &Settings::default())?;
        Ok(Self { http, target: request_target(&endpoint.url) })
    }

    /// Posts a JSON text. Gives the status and the body of the answer, if that is not too long; 401
    /// and 403 are errors. It sets no limit to the time.
    pub async fn post(&self, text: Bytes, longest: usize) -> Result<(u16, Bytes), ClientError> {
        let request = || {
            let mut request = Request::new(Full::new(text.clone()));
            *request.method_mut() = Method::POST;
            *request.uri_mut() = self.target.clone();
            *request.headers_mut() = self.http.headers().clone();
            let json = HeaderValue::from_static("application/json");
            request.headers_mut().insert(CONTENT_TYPE, json);
            request
        };
        let response = self.http.send(request).await?;
        let status = response.status().as_u16();
        Ok((status, response.into_body().whole(longest).await?))
    }
}
