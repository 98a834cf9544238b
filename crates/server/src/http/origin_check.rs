//! Who may come in at all: the Host and Origin checks that keep other websites out.

use std::net::{IpAddr, SocketAddr};

use gantry_protocol::RpcError;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, VARY,
};
use http::{HeaderValue, StatusCode};

use super::allowed_hosts::AllowedHosts;
use super::answer::{self, Answer};
use super::body::Body;
use super::refusals::RefusalLog;
use crate::headers::{Headers, text};

/// Lets a request pass if it names this machine and comes from no foreign website. Gives the
/// origin that a browser needs to see named in the answer.
pub(crate) fn check(
    names: &AllowedHosts,
    local: SocketAddr,
    headers: &Headers,
    log: &RefusalLog,
) -> Result<Option<HeaderValue>, Box<Answer>> {
    let host = headers.get("host").unwrap_or_default();
    if !is_ours(names, local, host) {
        return Err(Box::new(refuse("Host", host, "allowedHosts", log)));
    }
    let Some(origin) = headers.all("origin").next() else {
        return Ok(None);
    };
    let name = text(origin).unwrap_or_default();
    let authority = name.split_once("://").map_or("", |(_, authority)| authority);
    if names.has_origin(name) || is_ours(names, local, authority) {
        return Ok(HeaderValue::from_bytes(origin).ok());
    }
    Err(Box::new(refuse("Origin", name, "allowedOrigins", log)))
}

/// Answers a browser that asks before it sends.
pub(crate) fn preflight(origin: Option<HeaderValue>) -> Answer {
    let said = HeaderValue::from_static;
    let answer = Answer::new(StatusCode::NO_CONTENT, Body::empty())
        .with(ACCESS_CONTROL_ALLOW_METHODS, said("GET, POST, DELETE, OPTIONS"))
        .with(ACCESS_CONTROL_ALLOW_HEADERS, said("*, Authorization"))
        .with(ACCESS_CONTROL_MAX_AGE, said("600"));
    mark(answer, origin)
}

/// Lets the browser give the answer to the page that asked.
pub(crate) fn mark(answer: Answer, origin: Option<HeaderValue>) -> Answer {
    let Some(origin) = origin else { return answer };
    let exposed = "Mcp-Session-Id, MCP-Protocol-Version, Gantry-Contract";
    answer
        .with(ACCESS_CONTROL_ALLOW_ORIGIN, origin)
        .with(VARY, HeaderValue::from_static("Origin"))
        .with(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed))
}

/// Whether an authority (`name` or `name:port`) means this machine.
fn is_ours(names: &AllowedHosts, local: SocketAddr, authority: &str) -> bool {
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

fn refuse(header: &str, value: &str, setting: &str, log: &RefusalLog) -> Answer {
    let shown: String = value.chars().take(100).collect();
    log.header(header, &shown);
    let text = format!(
        "the {header} `{shown}` is not one of this server's; add it to `{setting}` if it should be"
    );
    answer::error(StatusCode::FORBIDDEN, &RpcError::invalid_request(text))
}
