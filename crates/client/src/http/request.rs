//! A request, as it is written to a connection.

use std::io::Write;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Uri};

use crate::error::ClientError;
use crate::target::Endpoint;

/// One request. It borrows everything, so that it can be sent again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    /// What to do.
    pub(crate) method: &'a Method,
    /// With what: path and query.
    pub(crate) target: &'a Uri,
    /// The headers, but for those that say where the body ends.
    pub(crate) headers: &'a HeaderMap,
    /// Headers that take the place of those with the same name.
    pub(crate) more: &'a [(HeaderName, HeaderValue)],
    /// The body.
    pub(crate) body: &'a Bytes,
}

impl<'a> Request<'a> {
    /// A request that carries something.
    pub(crate) fn post(target: &'a Uri, headers: &'a HeaderMap, body: &'a Bytes) -> Self {
        Self { method: &Method::POST, target, headers, more: &[], body }
    }

    /// A request that asks for something.
    pub(crate) fn get(target: &'a Uri, headers: &'a HeaderMap) -> Self {
        static NOTHING: Bytes = Bytes::new();
        Self { method: &Method::GET, target, headers, more: &[], body: &NOTHING }
    }

    /// Writes all but the body.
    pub(super) fn write_head(&self, head: &mut Vec<u8>) {
        head.extend_from_slice(self.method.as_str().as_bytes());
        head.push(b' ');
        let target = self.target.path_and_query();
        head.extend_from_slice(target.map_or("/", |target| target.as_str()).as_bytes());
        head.extend_from_slice(b" HTTP/1.1\r\n");
        for (name, value) in self.headers {
            if !self.more.iter().any(|(other, _)| other == name) {
                line(head, name, value);
            }
        }
        for (name, value) in self.more {
            line(head, name, value);
        }
        if self.method == Method::POST {
            // A vector takes everything.
            let _ = write!(head, "content-length: {}\r\n", self.body.len());
        }
        head.extend_from_slice(b"\r\n");
    }
}

fn line(head: &mut Vec<u8>, name: &HeaderName, value: &HeaderValue) {
    head.extend_from_slice(name.as_str().as_bytes());
    head.extend_from_slice(b": ");
    head.extend_from_slice(value.as_bytes());
    head.extend_from_slice(b"\r\n");
}

/// Headers that say how a message is cut out of a connection: ours to write, not the user's.
const OURS: [HeaderName; 6] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The headers of an endpoint. What is wrong with one is told without its value.
pub(crate) fn endpoint_headers(endpoint: &Endpoint) -> Result<HeaderMap, ClientError> {
    let mut headers = HeaderMap::with_capacity(endpoint.headers.len() + 8);
    for (name, value) in &endpoint.headers {
        let key = HeaderName::try_from(name.as_str())
            .map_err(|_| unusable(name, "its name has a character that no header may have"))?;
        if OURS.contains(&key) {
            return Err(unusable(name, "it belongs to the connection; leave it out"));
        }
        let mut value = HeaderValue::try_from(value.expose())
            .map_err(|_| unusable(name, "its value has a character that no header may have"))?;
        value.set_sensitive(true);
        headers.append(key, value);
    }
    Ok(headers)
}

fn unusable(name: &str, why: &str) -> ClientError {
    ClientError::Unreachable(format!("the header `{}` cannot be sent: {why}", name.escape_debug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written() {
        let target = Uri::from_static("/mcp?key=1");
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("a.test"));
        headers.append("x-key", HeaderValue::from_static("one"));
        headers.append("x-key", HeaderValue::from_static("two"));
        let more = [(HeaderName::from_static("x-key"), HeaderValue::from_static("three"))];
        let body = Bytes::from_static(b"{}");
        let post = Request::post(&target, &headers, &body);
        for (request, expected) in [
            (
                post,
                "POST /mcp?key=1 HTTP/1.1\r\nhost: a.test\r\nx-key: one\r\nx-key: two\r\n\
                 content-length: 2\r\n\r\n",
            ),
            (
                Request { more: &more, ..post },
                "POST /mcp?key=1 HTTP/1.1\r\nhost: a.test\r\nx-key: three\r\n\
                 content-length: 2\r\n\r\n",
            ),
            (Request::get(&target, &HeaderMap::new()), "GET /mcp?key=1 HTTP/1.1\r\n\r\n"),
        ] {
            let mut head = Vec::new();
            request.write_head(&mut head);
            assert_eq!(String::from_utf8(head).unwrap(), expected);
        }
    }
}
