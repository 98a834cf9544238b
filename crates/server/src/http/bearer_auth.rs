//! Bearer token authentication of HTTP requests, before any body is read, and the 401 responses.

use gantry_gateway::ErrorDetail;
use gantry_gateway::contract::{ErrorType, ToolResult};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Revision, RpcError, code, jsonrpc};
use http::header::{CACHE_CONTROL, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};

use crate::authenticator::{AuthError, Identity};
use crate::http::request_head::RequestHead;
use crate::http::response::{self, HttpResponse};
use crate::http::{HttpState, contract_call};
use crate::request_headers::{Headers, PROTOCOL_VERSION, text};

/// The headers of a request, and its authenticated identity.
#[derive(Debug, Clone, Copy)]
pub(super) struct AuthedRequest<'a> {
    pub(super) headers: &'a Headers,
    pub(super) identity: &'a Identity,
}

/// Authenticates a request, or returns the 401 response.
pub(super) fn authenticate(
    http_state: &HttpState,
    head: &RequestHead,
) -> Result<Identity, Box<HttpResponse>> {
    let authenticated = bearer_token(&head.headers)
        .and_then(|token| http_state.server_state.authenticator().authenticate(token));
    authenticated.map_err(|error| {
        http_state.rejection_log.authentication(&error);
        Box::new(unauthorized(head, &error))
    })
}

/// The response to a request whose token was revoked while it was in flight.
pub(super) fn revoked(head: &RequestHead) -> HttpResponse {
    let message = "the token was revoked or has expired; its call was cancelled".to_owned();
    unauthorized(head, &AuthError { shown: true, message })
}

/// The token of `Authorization: Bearer`, if there is the header. Headers that can be read in two ways
/// are an error: a proxy in front of the gateway may have read the other one.
fn bearer_token(headers: &Headers) -> Result<Option<&str>, AuthError> {
    let mut values = headers.all("authorization");
    let Some(first) = values.next() else { return Ok(None) };
    let invalid = |message: &str| AuthError { shown: true, message: message.to_owned() };
    if values.next().is_some() {
        return Err(invalid("there are two `Authorization` headers; send one"));
    }
    let credentials = text(first).and_then(|text| text.split_once(' '));
    let token = credentials.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer"));
    let token = token.map(|(_, token)| token.trim_start_matches(' '));
    let is_valid = |token: &&str| !token.is_empty() && token.bytes().all(is_token_byte);
    match token.filter(is_valid) {
        Some(token) => Ok(Some(token)),
        None => Err(invalid("the `Authorization` header must be `Bearer` and one token")),
    }
}

/// Whether a token may have this byte (RFC 6750).
fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

/// Clients that support OAuth try to log in after a 401. Without metadata of an authorization server
/// they try to register here, and show the error of the response.
pub(super) const REGISTER: &str = "/register";

/// The response to dynamic client registration (RFC 7591).
pub(super) fn no_registration() -> HttpResponse {
    let text = ObjectWriter::new()
        .value("error", "access_denied")
        .value("error_description", &format!("{NO_LOGIN}; {HOW}"))
        .finish();
    response::json(StatusCode::BAD_REQUEST, text.bytes().clone())
        .with(CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

const NO_LOGIN: &str = "this gateway takes static tokens and has no OAuth login";
const HOW: &str = "make a token with `gantry token create --name NAME` and let the client send it \
                   in the header `Authorization: Bearer TOKEN`";

/// The 401 response, in the format of the endpoint.
fn unauthorized(head: &RequestHead, error: &AuthError) -> HttpResponse {
    let response = match head.path() {
        "/call" => {
            let message = error.message.clone();
            let advice = "show a token of this gateway; `gantry token` makes and lists them";
            let details = ObjectWriter::new().value("advice", advice).finish();
            let detail = ErrorDetail::new(ErrorType::AuthenticationError, message);
            let detail = detail.with_details(&details);
            contract_call::respond(&ToolResult::failure(detail), Some(StatusCode::UNAUTHORIZED))
        }
        _ => {
            let rpc_error = RpcError::new(code::REFUSED, error.message.clone());
            let version = head.headers.get(PROTOCOL_VERSION).and_then(Revision::parse);
            // JSON-RPC itself has a null id there, as older revisions do.
            let null_id = version.is_none_or(|revision| !revision.omits_unknown_id());
            response::reply(
                StatusCode::UNAUTHORIZED,
                jsonrpc::error_without_id(&rpc_error, null_id),
            )
        }
    };
    response.with(WWW_AUTHENTICATE, challenge(error))
}

/// The challenge (RFC 6750). It has no link to metadata, since there is no OAuth.
fn challenge(error: &AuthError) -> HeaderValue {
    let code = if error.shown { "error=\"invalid_token\", " } else { "" };
    let allowed = |sign: char| matches!(sign, ' '..='~') && !matches!(sign, '"' | '\\');
    let description = format!("{}; {NO_LOGIN}", error.message).replace(|it| !allowed(it), "'");
    let text = format!("Bearer realm=\"gantry\", {code}error_description=\"{description}\"");
    HeaderValue::from_maybe_shared(text)
        .unwrap_or_else(|_| HeaderValue::from_static("Bearer realm=\"gantry\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_valid_token_is_accepted() {
        let cases: [(&[&str], Option<Option<&str>>); 14] = [
            (&[], Some(None)),
            (&["Bearer abc"], Some(Some("abc"))),
            (&["bearer abc"], Some(Some("abc"))),
            (&["BEARER   abc "], Some(Some("abc"))),
            (&["Bearer abc", "Bearer abc"], None),
            (&["Bearer abc", "Basic abc"], None),
            (&["Bearer abc, Bearer def"], None),
            (&["Bearer abc,def"], None),
            (&["Bearer abc def"], None),
            (&["Bearer"], None),
            (&["Bearer "], None),
            (&["Basic abc"], None),
            (&["abc"], None),
            (&[""], None),
        ];
        for (given, expected) in cases {
            let mut headers = Headers::default();
            for value in given {
                headers.add("Authorization", value.as_bytes());
            }
            assert_eq!(bearer_token(&headers).ok(), expected, "{given:?}");
        }
    }
}
