//! `/api/approvals`: calls that wait for a person, and what that person says.

use std::sync::Arc;

use bytes::Bytes;
use gantry::policy_set::PolicySet;
use gantry_gateway::contract::ErrorType;
use gantry_policy::approvals::{Answer as Word, AnswerError, Authority, Grant, Past, Pending};
use gantry_policy::pins::Line;
use gantry_policy::{ADMINISTRATOR, Tokens};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonLimits, RawJson};
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, Method, Request, StatusCode};

use crate::admin::servers::decode;
use crate::admin::{Answer, below, path, refuse};

/// The longest name that who answers may give.
const LONGEST: usize = 100;

/// How the answers of approvers are told from those of others.
const APPROVER: &str = "approver";

/// A page of approvals.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// All that wait, all that did, and what was granted.
    List,
    /// One that waits.
    Show(String),
    /// One that waits, with its real arguments.
    Reveal(String),
    /// An answer to one that waits.
    Answer(String, Bytes),
    /// The end of a grant.
    End(String),
}

impl Page {
    /// The page that is asked for, or the methods that it would take.
    pub(crate) fn of(request: &Request<Bytes>) -> Option<Result<Self, &'static str>> {
        let rest = path(request).strip_prefix("approvals")?;
        let method = request.method();
        if rest.is_empty() {
            return Some(if method == Method::GET { Ok(Self::List) } else { Err("GET") });
        }
        let id = decode(rest.strip_prefix('/')?).filter(|id| !id.is_empty())?;
        match *method {
            Method::GET if request.uri().query() == Some("reveal=1") => Some(Ok(Self::Reveal(id))),
            Method::GET => Some(Ok(Self::Show(id))),
            Method::POST => Some(Ok(Self::Answer(id, request.body().clone()))),
            Method::DELETE => Some(Ok(Self::End(id))),
            _ => Some(Err("GET, POST, DELETE")),
        }
    }

    pub(crate) async fn answer(self, policies: &PolicySet) -> Answer {
        match self {
            Self::List => list(policies),
            Self::Show(id) => show(policies, id, |_| true),
            Self::Reveal(id) => reveal(policies, id, ADMINISTRATOR, |_| true).await,
            Self::Answer(id, body) => {
                let by = |body: &RawJson| {
                    let named = body.get("by").and_then(|it| it.to_text());
                    let named = named.filter(|it| !it.is_empty() && it.len() <= LONGEST);
                    named.unwrap_or_else(|| "the administrator".to_owned())
                };
                say(policies, &id, &body, Authority::Administrator, by).await
            }
            Self::End(id) => end(policies, &id).await,
        }
    }

    /// The answer to an approver, who sees what they may answer and ends what they have granted.
    async fn answer_approver(self, policies: &PolicySet, name: Arc<str>) -> Answer {
        let (by, approver) = (format!("`{name}`"), Authority::Approver(name.clone()));
        match self {
            Self::List => list_for(policies, &approver, &by),
            Self::Show(id) => {
                show(policies, id, |it| policies.trust().approvals().may_answer(&approver, it))
            }
            // Who decides must see what it is about.
            Self::Reveal(id) => {
                let approvals = policies.trust().approvals();
                let sees = |it: &Pending| approvals.may_answer(&approver, it);
                reveal(policies, id, &name, sees).await
            }
            Self::Answer(id, body) => say(policies, &id, &body, approver, |_| by).await,
            Self::End(id) => match is_given_by(policies, &id, &by) {
                true => end(policies, &id).await,
                false => no_grant(&id),
            },
        }
    }
}

/// One call that waits, among those that the reader may see.
fn show(policies: &PolicySet, id: String, sees: impl Fn(&Pending) -> bool) -> Answer {
    let all = policies.trust().approvals().pending();
    let found = all.iter().find(|it| it.id == id && sees(it)).map(Pending::to_json);
    found.map_or_else(|| refused(&AnswerError::Unknown(id)), |it| (StatusCode::OK, it))
}

async fn end(policies: &PolicySet, id: &str) -> Answer {
    match policies.trust().approvals().end_grant(id).await {
        Ok(true) => (StatusCode::OK, ObjectWriter::new().value("ended", id).finish()),
        Ok(false) => no_grant(id),
        Err(error) => {
            let text = format!("revoked, but only until the next start: {error}");
            let told = (&*text, "repair the store, and revoke it again");
            refuse(StatusCode::INTERNAL_SERVER_ERROR, ErrorType::ToolExecutionError, told)
        }
    }
}

fn no_grant(id: &str) -> Answer {
    let text = format!("there is no grant `{id}`");
    let told = (&*text, "/api/approvals lists those there are");
    refuse(StatusCode::NOT_FOUND, ErrorType::ResourceNotFound, told)
}

/// Whether an approver has approved this.
fn is_given_by(policies: &PolicySet, id: &str, by: &str) -> bool {
    let is_approver = |given_by: &str, via: &str| given_by == by && via == APPROVER;
    let approvals = policies.trust().approvals();
    approvals.past().iter().any(|it| it.pending.id == id && is_approver(&it.by, &it.via))
        || approvals.grants().iter().any(|it| it.id == id && is_approver(&it.by, &it.via))
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let shown = headers.get(AUTHORIZATION)?.to_str().ok()?;
    Some(shown.strip_prefix("Bearer ")?.trim())
}

/// Answers a request about approvals that shows the token of an approver. None if this is no such
/// request.
pub(crate) async fn by_approver(
    policies: &PolicySet,
    tokens: &Tokens,
    request: &Request<Bytes>,
) -> Option<Answer> {
    let Some(Ok(page)) = Page::of(request) else { return None };
    let name = approver(policies, tokens, request.headers())?;
    Some(page.answer_approver(policies, name).await)
}

/// Answers a request that shows the token which was given out for one call, and for that call only.
/// None if this is no such request.
pub(crate) async fn by_token(policies: &PolicySet, request: &Request<Bytes>) -> Option<Answer> {
    let Some(Ok(Page::Answer(id, body))) = Page::of(request) else { return None };
    if !shows_token(policies, &id, request.headers()) {
        return None;
    }
    let webhook = Authority::Webhook;
    Some(say(policies, &id, &body, webhook, |_| "the webhook".to_owned()).await)
}

/// Who answers approvals without being the administrator, by the head of a request: the webhook of the
/// call that it answers, or an approver.
pub(crate) fn authenticate(
    policies: &PolicySet,
    tokens: Option<&Tokens>,
    head: &Parts,
) -> Option<Arc<str>> {
    let page = below(&head.uri);
    let id = page.strip_prefix("approvals/").and_then(decode);
    if head.method == Method::POST && id.is_some_and(|id| shows_token(policies, &id, &head.headers))
    {
        return Some("webhook".into());
    }
    let is_page = page == "approvals" || page.starts_with("approvals/");
    tokens.filter(|_| is_page).and_then(|tokens| approver(policies, tokens, &head.headers))
}

/// The approver whose token the headers show.
fn approver(policies: &PolicySet, tokens: &Tokens, headers: &HeaderMap) -> Option<Arc<str>> {
    let principal = tokens.check(Some(bearer(headers)?)).ok()?;
    Some(principal.name).filter(|name| policies.trust().approvals().is_approver(name))
}

fn shows_token(policies: &PolicySet, id: &str, headers: &HeaderMap) -> bool {
    bearer(headers).is_some_and(|token| policies.trust().approvals().is_token_for(id, token))
}

async fn say(
    policies: &PolicySet,
    id: &str,
    body: &Bytes,
    authority: Authority,
    by: impl FnOnce(&RawJson) -> String,
) -> Answer {
    let read = RawJson::parse(body.clone(), JsonLimits::default());
    let read = read.map_err(|_| AnswerError::Form("the body is not JSON"));
    let word = read.and_then(|body| Word::read(&body, &by(&body))).map(|word| word.with(authority));
    let answered = match word {
        Ok(word) => policies.trust().approvals().answer(id, &word).await.map(|grant| (word, grant)),
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

/// A call that waits with the arguments that its tool will get. Nothing is shown unless it is on record
/// who looked.
async fn reveal(
    policies: &PolicySet,
    id: String,
    principal: &str,
    sees: impl Fn(&Pending) -> bool,
) -> Answer {
    let found = policies.trust().approvals().reveal(&id).filter(|(pending, _)| sees(pending));
    let Some((pending, arguments)) = found else {
        return refused(&AnswerError::Unknown(id));
    };
    tracing::info!(id, tool = pending.tool, "unredacted arguments of a pending approval shown");
    let audit = policies.audit();
    let recorded = audit.administration(principal, "approvals/reveal", &id, &pending.tool).await;
    if let Err(error) = recorded {
        let text = format!("nothing is shown, because it could not be recorded: {error}");
        let told = (&*text, "repair the audit log, whose mode is strict");
        return refuse(StatusCode::INTERNAL_SERVER_ERROR, ErrorType::ToolExecutionError, told);
    }
    let text = RawJson::string(arguments.as_str());
    let shown = pending.to_json();
    let shown = shown.edit().set("arguments", arguments).set("argumentsText", text).apply();
    (StatusCode::OK, shown)
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
        AnswerError::NotEntitled { .. } => (
            StatusCode::FORBIDDEN,
            ErrorType::PermissionError,
            "let another approver or the administrator answer",
        ),
        AnswerError::NoSession(_) | AnswerError::Form(_) => (
            StatusCode::BAD_REQUEST,
            ErrorType::ValidationError,
            "send {\"decision\": \"approve\", \"scope\": {\"for\": \"1h\"}}",
        ),
    };
    refuse(status, error_type, (&text, advice))
}

fn list(policies: &PolicySet) -> Answer {
    let approvals = policies.trust().approvals();
    let (status, all) = told(&approvals.pending(), &approvals.past(), &approvals.grants());
    // What waits for a person besides calls; who may only answer calls cannot accept it.
    let held: Vec<RawJson> = policies.pins().lines().iter().map(line).collect();
    (status, all.edit().set("definitions", RawJson::array(&held)).apply())
}

/// What is held back of a server, or has changed.
fn line(line: &Line) -> RawJson {
    ObjectWriter::new()
        .value("server", &*line.server)
        .value("held", &line.held)
        .value("changed", &line.changed)
        .value("text", &line.text)
        .finish()
}

/// What an approver may answer, what could have been theirs to answer, and what they granted.
fn list_for(policies: &PolicySet, approver: &Authority, by: &str) -> Answer {
    let approvals = policies.trust().approvals();
    let (mut pending, mut past, mut grants) =
        (approvals.pending(), approvals.past(), approvals.grants());
    pending.retain(|it| approvals.may_answer(approver, it));
    past.retain(|it| approvals.may_answer(approver, &it.pending));
    grants.retain(|it| it.by == by && it.via == APPROVER);
    told(&pending, &past, &grants)
}

fn told(pending: &[Pending], past: &[Past], grants: &[Grant]) -> Answer {
    // All of them together must stay readable, however large the arguments of each are.
    let short = |it: &Pending| it.clone().shortened().to_json();
    let pending: Vec<RawJson> = pending.iter().map(short).collect();
    let past: Vec<RawJson> = past.iter().map(Past::to_json).collect();
    let grants: Vec<RawJson> = grants.iter().map(grant).collect();
    let all = ObjectWriter::new().array("pending", &pending).array("past", &past);
    (StatusCode::OK, all.array("grants", &grants).finish())
}

fn grant(grant: &Grant) -> RawJson {
    RawJson::of(grant).unwrap_or(RawJson::NULL)
}
