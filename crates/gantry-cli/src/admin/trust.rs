//! `/api/trust`: how far the gateway, its servers and its tools are trusted.

use bytes::Bytes;
use gantry::policy_set::PolicySet;
use gantry_gateway::contract::ErrorType;
use gantry_policy::trust::{Level, Subject, TrustDecision, TrustError};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonLimits, RawJson};
use http::{Method, Request, StatusCode};

use crate::admin::servers::decode;
use crate::admin::{Answer, path, refuse};

/// Who decides here.
const BY: &str = "the administrator";

/// A page about trust.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// The level of the gateway, and every decision.
    Show,
    /// A decision.
    Decide(Bytes),
    /// A decision that is taken back.
    Revoke(String),
}

impl Page {
    /// The page that is asked for, or the methods that it would take.
    pub(crate) fn of(request: &Request<Bytes>) -> Option<Result<Self, &'static str>> {
        let rest = path(request).strip_prefix("trust")?;
        let method = request.method();
        if rest.is_empty() {
            return Some(match *method {
                Method::GET => Ok(Self::Show),
                Method::POST => Ok(Self::Decide(request.body().clone())),
                _ => Err("GET, POST"),
            });
        }
        let subject = decode(rest.strip_prefix('/')?).filter(|it| !it.is_empty())?;
        let is_fit = method == Method::DELETE;
        Some(if is_fit { Ok(Self::Revoke(subject)) } else { Err("DELETE") })
    }

    pub(crate) async fn answer(self, policies: &PolicySet) -> Answer {
        match self {
            Self::Show => (StatusCode::OK, shown(policies)),
            Self::Decide(body) => decide(policies, &body).await,
            Self::Revoke(subject) => revoke(policies, &subject).await,
        }
    }
}

/// The level of the gateway, and every decision.
fn shown(policies: &PolicySet) -> RawJson {
    let decisions: Vec<RawJson> = policies.trust().decisions().iter().map(row).collect();
    let level = policies.trust().level();
    ObjectWriter::new().value("level", &level).array("rulings", &decisions).finish()
}

fn row(decision: &TrustDecision) -> RawJson {
    RawJson::of(decision).unwrap_or(RawJson::NULL)
}

async fn decide(policies: &PolicySet, body: &Bytes) -> Answer {
    let body = RawJson::parse(body.clone(), JsonLimits::default()).unwrap_or(RawJson::NULL);
    let text = |key| body.get(key).and_then(|it| it.to_text()).unwrap_or_default();
    let (subject, level) = (Subject::parse(&text("subject")), Level::parse(&text("level")));
    let (Some(subject), Some(level)) = (subject, level) else {
        let told = (
            "invalid decision",
            "send {\"subject\": \"server:NAME\", \"level\": \"trusted\"}; a subject is gateway, \
             server:NAME or tool:NAME",
        );
        return refuse(StatusCode::BAD_REQUEST, ErrorType::ValidationError, told);
    };
    let Some(gateway) = policies.gateway() else {
        let told = ("the gateway is not ready", "try again shortly");
        return refuse(StatusCode::SERVICE_UNAVAILABLE, ErrorType::TransportError, told);
    };
    let snapshot = gateway.catalog().snapshot();
    match policies.trust().rule(subject, level, BY, &snapshot).await {
        Ok(decision) => (StatusCode::OK, row(&decision)),
        Err(error) => refused(&error),
    }
}

async fn revoke(policies: &PolicySet, subject: &str) -> Answer {
    let Some(subject) = Subject::parse(subject) else { return unknown(subject) };
    match policies.trust().revoke(&subject, BY).await {
        Ok(true) => {
            (StatusCode::OK, ObjectWriter::new().value("revoked", &subject.to_string()).finish())
        }
        Ok(false) => unknown(&subject.to_string()),
        Err(error) => refused(&error),
    }
}

fn unknown(subject: &str) -> Answer {
    let text = format!("there is no decision about {subject}");
    let told = (&*text, "/api/trust and `gantry trust` list decisions");
    refuse(StatusCode::NOT_FOUND, ErrorType::ResourceNotFound, told)
}

fn refused(error: &TrustError) -> Answer {
    let text = error.to_string();
    match error {
        TrustError::Unknown(_) => {
            let told = (&*text, "look at /api/servers and /api/tools");
            refuse(StatusCode::NOT_FOUND, ErrorType::ResourceNotFound, told)
        }
        TrustError::DocumentStore(_) => {
            let told = (&*text, "repair the store, and decide again");
            refuse(StatusCode::INTERNAL_SERVER_ERROR, ErrorType::ToolExecutionError, told)
        }
    }
}
