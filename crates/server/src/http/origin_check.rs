//! Protection against DNS rebinding and cross-site requests: the checks of the Host and Origin
//! headers against the allowed ones, and CORS headers for browsers.

use std::net::{IpAddr, SocketAddr};

use gantry_protocol::RpcError;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, VARY,
};
use http::{HeaderValue, StatusCode};

use crate::http::response::{Body, HttpResponse};
use crate::http::{RejectionLog, response};
use crate::request_headers::{Headers, text};

/// Checks that Host and Origin are those of this machine or allowed ones. Returns the Origin, for CORS.
pub(super) fn check(
    allowed: &AllowedHosts,
    local: SocketAddr,
    headers: &Headers,
    log: &RejectionLog,
) -> Result<Option<HeaderValue>, Box<HttpResponse>> {
    let host = headers.get("host").unwrap_or_default();
    if !is_allowed(allowed, local, host) {
        return Err(Box::new(reject("Host", host, "allowedHosts", log)));
    }
    let Some(origin) = headers.all("origin").next() else {
        return Ok(None);
    };
    let name = text(origin).unwrap_or_default();
    let authority = name.split_once("://").map_or("", |(_, authority)| authority);
    if allowed.has_origin(name) || is_allowed(allowed, local, authority) {
        return Ok(HeaderValue::from_bytes(origin).ok());
    }
    Err(Box::new(reject("Origin", name, "allowedOrigins", log)))
}

/// The response to a CORS preflight request.
pub(super) fn preflight(origin: Option<HeaderValue>) -> HttpResponse {
    let value = HeaderValue::from_static;
    let response = HttpResponse::new(StatusCode::NO_CONTENT, Body::empty())
        .with(ACCESS_CONTROL_ALLOW_METHODS, value("GET, POST, DELETE, OPTIONS"))
        .with(ACCESS_CONTROL_ALLOW_HEADERS, value("*, Authorization"))
        .with(ACCESS_CONTROL_MAX_AGE, value("600"));
    add_cors(response, origin)
}

/// Adds the CORS headers that let a browser give the response to its page.
pub(super) fn add_cors(response: HttpResponse, origin: Option<HeaderValue>) -> HttpResponse {
    let Some(origin) = origin else { return response };
    let exposed = "Mcp-Session-Id, MCP-Protocol-Version, Gantry-Contract";
    response
        .with(ACCESS_CONTROL_ALLOW_ORIGIN, origin)
        .with(VARY, HeaderValue::from_static("Origin"))
        .with(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed))
}

/// Whether an authority (`name` or `name:port`) is this machine or an allowed host.
fn is_allowed(allowed: &AllowedHosts, local: SocketAddr, authority: &str) -> bool {
    let Some(name) = host_name(authority) else { return false };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback() || ip == local.ip())
        || allowed.has_host(authority, name)
}

/// The name in an authority, without port and brackets; none if there is anything else.
fn host_name(authority: &str) -> Option<&str> {
    let (name, rest) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = rest.strip_prefix(':').unwrap_or(rest);
    port.bytes().all(|byte| byte.is_ascii_digit()).then_some(name)
}

fn reject(header: &str, value: &str, setting: &str, log: &RejectionLog) -> HttpResponse {
    let shown: String = value.chars().take(100).collect();
    log.header(header, &shown);
    let text = format!(
        "the {header} `{shown}` is not one of this server's; add it to `{setting}` if it should be"
    );
    response::error(StatusCode::FORBIDDEN, &RpcError::invalid_request(text))
}

/// The Host and Origin values that are allowed beside those of this machine. They can change while the
/// server runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AllowedHosts {
    /// Hosts, as `name` for every port or `name:port`.
    pub hosts: Vec<String>,
    /// Origins, as browsers write them.
    pub origins: Vec<String>,
}

impl AllowedHosts {
    /// Whether an authority or its name is an allowed host. Hosts are compared without case.
    fn has_host(&self, authority: &str, name: &str) -> bool {
        let is_it =
            |host: &String| host.eq_ignore_ascii_case(authority) || host.eq_ignore_ascii_case(name);
        self.hosts.iter().any(is_it)
    }

    fn has_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|it| it == origin)
    }
}
