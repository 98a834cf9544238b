//! Who comes in: every request that may reach a call says who makes it.

use gantry_gateway::ErrorDetail;
use gantry_gateway::contract::{ErrorType, ToolResult};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{RpcError, code};
use http::header::WWW_AUTHENTICATE;
use http::{HeaderValue, StatusCode};

use super::answer::{self, Answer};
use super::{Hall, Head, call};
use crate::doorman::{Refusal, Visitor, shown};
use crate::headers::Headers;

/// A request's headers, and who makes it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Knock<'a> {
    pub(crate) headers: &'a Headers,
    pub(crate) visitor: &'a Visitor,
}

/// Lets whoever makes a request in, or says why not.
pub(super) fn admit(hall: &Hall, head: &Head) -> Result<Visitor, Box<Answer>> {
    let admitted = shown(&head.headers).and_then(|shown| hall.lobby.doorman().admit(shown));
    admitted.map_err(|refusal| {
        hall.refusals.authentication(&refusal);
        Box::new(refuse(head.path(), &refusal))
    })
}

/// The answer to someone whose credential was taken away while they were served.
pub(super) fn ended(head: &Head) -> Answer {
    let message = "the token was revoked or has expired; its call was given up".to_owned();
    refuse(head.path(), &Refusal { shown: true, message })
}

/// The answer to someone who is not let in, in the form of what they asked for.
fn refuse(path: &str, refusal: &Refusal) -> Answer {
    let answer = match path {
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
            answer::error(StatusCode::UNAUTHORIZED, &error)
        }
    };
    let challenge = match refusal.shown {
        true => "Bearer realm=\"gantry\", error=\"invalid_token\"",
        false => "Bearer realm=\"gantry\"",
    };
    answer.with(WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
}
