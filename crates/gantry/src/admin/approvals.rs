//! `/api/approvals`: calls that wait for a person, and what that person says.

use bytes::Bytes;
use gantry_gateway::contract::ErrorType;
use gantry_policy::approvals::{Answer as Word, AnswerError, Grant, Past, Pending};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonLimits, RawJson};
use http::header::AUTHORIZATION;
use http::{Method, Request, StatusCode};

use super::servers::decode;
use super::{Answer, path, refuse};
use crate::guard::Guard;

/// The longest name that who answers may give.
const LONGEST: usize = 100;

/// A page of approvals.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// All that wait, all that did, and what was granted.
    List,
    /// An answer to one that waits.
    Answer(String, Bytes),
    /// The end of a grant.
    End(String),
}

impl Page {
    /// The page that is asked for, or the methods that it would take.
    pub(super) fn of(request: &Request<Bytes>) -> Option<Result<Self, &'static str>> {
        let rest = path(request).strip_prefix("approvals")?;
        let method = request.method();
        if rest.is_empty() {
            return Some(if method == Method::GET { Ok(Self::List) } else { Err("GET") });
        }
        let id = decode(rest.strip_prefix('/')?).filter(|id| !id.is_empty())?;
        match *method {
            Method::POST => Some(Ok(Self::Answer(id, request.body().clone()))),
            Method::DELETE => Some(Ok(Self::End(id))),
            _ => Some(Err("POST, DELETE")),
        }
    }

    pub(super) async fn answer(self, guard: &Guard) -> Answer {
        match self {
            Self::List => list(guard),
            Self::Answer(id, body) => {
                let by = |body: &RawJson| {
                    let named = body.get("by").and_then(|it| it.to_text());
                    let named = named.filter(|it| !it.is_empty() && it.len() <= LONGEST);
                    named.unwrap_or_else(|| "the administrator".to_owned())
                };
                say(guard, &id, &body, by).await
            }
            Self::End(id) => match guard.trust().approvals().end_grant(&id).await {
                Ok(true) => (StatusCode::OK, ObjectWriter::new().value("ended", &id).finish()),
                Ok(false) => {
                    let text = format!("there is no grant `{id}`");
                    let told = (&*text, "/api/approvals lists those there are");
                    refuse(StatusCode::NOT_FOUND, ErrorType::ResourceNotFound, told)
                }
                Err(error) => {
                    let text = format!("it is ended, but only until the next start: {error}");
                    let told = (&*text, "mend the store, and end it again");
                    let status = StatusCode::INTERNAL_SERVER_ERROR;
                    refuse(status, ErrorType::ToolExecutionError, told)
                }
            },
        }
    }
}

/// Answers a request that shows the token which was given out for one call, and for that call only.
/// None if this is no such request.
pub(super) async fn by_token(guard: &Guard, request: &Request<Bytes>) -> Option<Answer> {
    let Some(Ok(Page::Answer(id, body))) = Page::of(request) else { return None };
    let shown = request.headers().get(AUTHORIZATION)?.to_str().ok()?;
    let token = shown.strip_prefix("Bearer ")?.trim();
    if !guard.trust().approvals().is_token_for(&id, token) {
        return None;
    }
    Some(say(guard, &id, &body, |_| "the webhook".to_owned()).await)
}

async fn say(guard: &Guard, id: &str, body: &Bytes, by: impl FnOnce(&RawJson) -> String) -> Answer {
    let read = RawJson::parse(body.clone(), JsonLimits::default());
    let read = read.map_err(|_| AnswerError::Form("the body is not JSON"));
    let word = read.and_then(|body| Word::read(&body, &by(&body)));
    let answered = match word {
        Ok(word) => guard.trust().approvals().answer(id, &word).await.map(|grant| (word, grant)),
        Err(error) => Err(error),
    };
    match answered {
        Ok((word, grant)) => {
            let decision = if word.approve { "approved" } else { "denied" };
            let said = ObjectWriter::new().value("id", id).value("verdict", decision);
            (StatusCode::OK, said.value_some("grant", grant.as_ref()).finish())
        }
        Err(error) => refused(&error),
    }
}

fn refused(error: &AnswerError) -> Answer {
    let text = error.to_string();
    let (status, error_type, advice) = match error {
        AnswerError::Unknown(_) => (
            StatusCode::NOT_FOUND,
            ErrorType::ResourceNotFound,
            "/api/approvals lists the calls that wait",
        ),
        AnswerError::AlreadyAnswered { .. } => (
            StatusCode::CONFLICT,
            ErrorType::ValidationError,
            "the first answer counts; /api/approvals tells it",
        ),
        AnswerError::NoSession(_) | AnswerError::Form(_) => (
            StatusCode::BAD_REQUEST,
            ErrorType::ValidationError,
            "send {\"decision\": \"approve\", \"scope\": {\"for\": \"1h\"}}",
        ),
    };
    refuse(status, error_type, (&text, advice))
}

fn list(guard: &Guard) -> Answer {
    let approvals = guard.trust().approvals();
    let pending: Vec<RawJson> = approvals.pending().iter().map(Pending::to_json).collect();
    let past: Vec<RawJson> = approvals.past().iter().map(Past::to_json).collect();
    let grants: Vec<RawJson> = approvals.grants().iter().map(grant).collect();
    let all = ObjectWriter::new().array("pending", &pending).array("past", &past);
    (StatusCode::OK, all.array("grants", &grants).finish())
}

fn grant(grant: &Grant) -> RawJson {
    RawJson::of(grant).unwrap_or(RawJson::NULL)
}
