//! Where requests go: scheme, host and port of an address, and how they may be spoken of.

use std::fmt;

use http::uri::PathAndQuery;
use http::{HeaderValue, Uri};

use crate::error::ClientError;

/// Scheme, host and port. Printed without anything that could be secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    host: String,
    port: u16,
    secure: bool,
}

impl Origin {
    /// The origin of an address with one of the schemes `http`, `https`, `ws` and `wss`.
    pub(crate) fn of(url: &Uri) -> Result<Self, ClientError> {
        let secure = match url.scheme_str() {
            Some("http" | "ws") => false,
            Some("https" | "wss") => true,
            other => return Err(unusable(&format!("its scheme is {}", quoted(other)))),
        };
        let authority = url.authority().ok_or_else(|| unusable("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(unusable("it holds a user name; give the header `Authorization` instead"));
        }
        if authority.host().is_empty() {
            return Err(unusable("it names no host"));
        }
        let port = authority.port_u16().unwrap_or(if secure { 443 } else { 80 });
        Ok(Self { host: authority.host().to_ascii_lowercase(), port, secure })
    }

    /// The host to look up, an IPv6 address without its brackets.
    pub(crate) fn host(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// The port, also when the address leaves it out.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Whether TLS is spoken.
    pub(crate) fn is_secure(&self) -> bool {
        self.secure
    }

    /// The header `Host`.
    pub(crate) fn host_header(&self) -> Result<HeaderValue, ClientError> {
        let usual = if self.secure { 443 } else { 80 };
        let text = match self.port == usual {
            true => self.host.clone(),
            false => self.to_string(),
        };
        HeaderValue::try_from(text).map_err(|_| unusable("its host cannot be sent in a header"))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}

/// An address as it stands in a request: path and query alone.
pub(crate) fn request_target(url: &Uri) -> Uri {
    let path = url.path_and_query().cloned();
    Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")))
}

fn unusable(why: &str) -> ClientError {
    ClientError::Unreachable(format!("the address of the server cannot be used: {why}"))
}

fn quoted(scheme: Option<&str>) -> String {
    match scheme {
        Some(scheme) => format!("`{scheme}`, which is not one of http, https, ws and wss"),
        None => "missing; begin it with `http://` or `https://`".to_owned(),
    }
}
