//! Who comes in: every request that may reach a call says who makes it.

use gantry_gateway::ErrorDetail;
use gantry_gateway::contract::{ErrorType, ToolResult};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Revision, RpcError, code, jsonrpc};
use http::header::{CACHE_CONTROL, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};

use super::answer::{self, Answer};
use super::{Head, HttpState, call};
use crate::authenticator::{AuthError, Identity, shown};
use crate::headers::{Headers, PROTOCOL_VERSION};

/// A request's headers, and who makes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AuthedRequest<'a> {
    pub(crate) headers: &'a Headers,
    pub(crate) identity: &'a Identity,
}

/// Lets whoever makes a request in, or says why not.
pub(super) fn authenticate(http_state: &HttpState, head: &Head) -> Result<Identity, Box<Answer>> {
    let admitted = shown(&head.headers)
        .and_then(|shown| http_state.server_state.authenticator().authenticate(shown));
    admitted.map_err(|refusal| {
        http_state.refusals.authentication(&refusal);
        Box::new(refuse(head, &refusal))
    })
}

/// The answer to someone whose credential was taken away while they were served.
pub(super) fn ended(head: &Head) -> Answer {
    let message = "the token was revoked or has expired; its call was given up".to_owned();
    refuse(head, &AuthError { shown: true, message })
}

/// Clients that know OAuth look for a way to log in when they are refused. Where nothing is said of
/// one they try to register here, and show what the answer says.
pub(super) const REGISTER: &str = "/register";

/// The answer to a client that wants to register for OAuth (RFC 7591).
pub(super) fn no_registration() -> Answer {
    let text = ObjectWriter::new()
        .value("error", "access_denied")
        .value("error_description", &format!("{NO_LOGIN}; {HOW}"))
        .finish();
    answer::json(StatusCode::BAD_REQUEST, text.bytes().clone())
        .with(CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

const NO_LOGIN: &str = "this gateway takes static tokens and has no OAuth login";
const HOW: &str = "make a token with `gantry token create --name NAME` and let the client send it \
                   in the header `Authorization: Bearer TOKEN`";

/// The answer to someone who is not let in, in the form of what they asked for.
fn refuse(head: &Head, refusal: &AuthError) -> Answer {
    let answer = match head.path() {
        "/call" => {
            let message = refusal.message.clone();
            let advice = "show a token of this gateway; `gantry token` makes and lists them";
            let details = ObjectWriter::new().value("advice", advice).finish();
            let detail = ErrorDetail::new(ErrorType::AuthenticationError, message);
            let detail = detail.with_details(&details);
            call::respond(&ToolResult::failure(detail), Some(StatusCode::UNAUTHORIZED))
        }
        _ => {
            let error = RpcError::new(code::REFUSED, refusal.message.clone());
            let version = head.headers.get(PROTOCOL_VERSION).and_then(Revision::parse);
            // Base JSON-RPC has null there, and older revisions follow it.
            let null_id = version.is_none_or(|revision| !revision.omits_unknown_id());
            answer::reply(StatusCode::UNAUTHORIZED, jsonrpc::error_without_id(&error, null_id))
        }
    };
    answer.with(WWW_AUTHENTICATE, challenge(refusal))
}

/// The challenge (RFC 6750). It names no metadata, since there is no OAuth, and says what to do.
fn challenge(refusal: &AuthError) -> HeaderValue {
    let error = if refusal.shown { "error=\"invalid_token\", " } else { "" };
    let allowed = |sign: char| matches!(sign, ' '..='~') && !matches!(sign, '"' | '\\');
    let description = format!("{}; {NO_LOGIN}", refusal.message).replace(|it| !allowed(it), "'");
    let text = format!("Bearer realm=\"gantry\", {error}error_description=\"{description}\"");
    HeaderValue::from_maybe_shared(text)
        .unwrap_or_else(|_| HeaderValue::from_static("Bearer realm=\"gantry\""))
}
