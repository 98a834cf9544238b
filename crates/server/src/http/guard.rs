//! Who may come in at all: the Host and Origin checks that keep other websites out.

use std::net::{IpAddr, SocketAddr};

use gantry_protocol::RpcError;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HOST, ORIGIN, VARY,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};

use super::answer;
use super::body::Body;
use super::names::Names;

/// Lets a request pass if it names this machine and comes from no foreign website. Gives the
/// origin that a browser needs to see named in the answer.
pub(crate) fn admit(
    names: &Names,
    local: SocketAddr,
    headers: &HeaderMap,
) -> Result<Option<HeaderValue>, Box<Response<Body>>> {
    let mut hosts = headers.get_all(HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
    if hosts.next().is_some() || !is_ours(names, local, host) {
        return Err(Box::new(refuse("Host", host, "allowedHosts")));
    }
    let Some(origin) = headers.get(ORIGIN) else {
        return Ok(None);
    };
    let name = origin.to_str().unwrap_or_default();
    let authority = name.split_once("://").map_or("", |(_, authority)| authority);
    if names.has_origin(name) || is_ours(names, local, authority) {
        return Ok(Some(origin.clone()));
    }
    Err(Box::new(refuse("Origin", name, "allowedOrigins")))
}

/// Answers a browser that asks before it sends.
pub(crate) fn preflight(origin: Option<HeaderValue>) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    let methods = HeaderValue::from_static("GET, POST, DELETE, OPTIONS");
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, methods);
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static("*, Authorization"));
    headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    mark(response, origin)
}

/// Lets the browser give the answer to the page that asked.
pub(crate) fn mark(mut response: Response<Body>, origin: Option<HeaderValue>) -> Response<Body> {
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(VARY, HeaderValue::from_static("Origin"));
        let exposed =
            HeaderValue::from_static("Mcp-Session-Id, MCP-Protocol-Version, Gantry-Contract");
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    }
    response
}

/// Whether an authority (`name` or `name:port`) means this machine.
fn is_ours(names: &Names, local: SocketAddr, authority: &str) -> bool {
    let Some(name) = host_name(authority) else { return false };
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback() || ip == local.ip())
        || names.has_host(authority, name)
}

/// The name in an authority, without port and brackets; none when that is not all there is.
fn host_name(authority: &str) -> Option<&str> {
    let (name, rest) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = rest.strip_prefix(':').unwrap_or(rest);
    port.bytes().all(|byte| byte.is_ascii_digit()).then_some(name)
}

fn refuse(header: &str, value: &str, setting: &str) -> Response<Body> {
    let shown: String = value.chars().take(100).collect();
    tracing::warn!(header, value = shown, "a request was refused");
    let text = format!(
        "the {header} `{shown}` is not one of this server's; add it to `{setting}` if it should be"
    );
    answer::error(StatusCode::FORBIDDEN, &RpcError::invalid_request(text))
}
