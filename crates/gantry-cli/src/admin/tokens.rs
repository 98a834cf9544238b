//! `/api/tokens`: the tokens of callers, made and taken away while the gateway runs.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use gantry_gateway::contract::ErrorType;
use gantry_policy::{Clock, Role, TokenError, TokenRecord, Tokens};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{JsonLimits, RawJson};
use http::{Method, Request, StatusCode};
use serde::Deserialize;

use crate::admin::{Answer, path, refuse};

/// A page of tokens.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// All of them.
    List,
    /// One that is to be made, as the body says.
    Create(Bytes),
    /// One that is to be taken away, by its name or id.
    Revoke(String),
}

/// What a token is to be.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    name: String,
    /// What it is to be good for; everything if it is left out.
    allow: Option<Vec<String>>,
    #[serde(default)]
    role: Role,
    /// How long it is to be good, such as `30d`.
    expires: Option<String>,
}

impl Page {
    /// The page that is asked for, or the methods that it would take; none if the path is not one
    /// of tokens.
    pub(crate) fn of(request: &Request<Bytes>) -> Option<Result<Self, &'static str>> {
        let rest = path(request).strip_prefix("tokens")?;
        match (request.method(), rest.strip_prefix('/')) {
            (&Method::GET, None) if rest.is_empty() => Some(Ok(Self::List)),
            (&Method::POST, None) if rest.is_empty() => {
                Some(Ok(Self::Create(request.body().clone())))
            }
            (_, None) if rest.is_empty() => Some(Err("GET, POST")),
            (&Method::DELETE, Some(name)) if !name.is_empty() => {
                // Names have nothing that a path must escape, but some clients do.
                Some(Ok(Self::Revoke(name.replace("%40", "@"))))
            }
            (_, Some(name)) if !name.is_empty() => Some(Err("DELETE")),
            _ => None,
        }
    }

    /// The answer.
    pub(crate) async fn answer(self, tokens: &Tokens) -> Answer {
        match self {
            Self::List => {
                let all = tokens.list();
                let rows: Vec<RawJson> = all.iter().map(|it| row(it, tokens.clock())).collect();
                (StatusCode::OK, ObjectWriter::new().array("tokens", &rows).finish())
            }
            Self::Create(body) => create(tokens, body).await,
            Self::Revoke(name) => match tokens.revoke(&name).await {
                Ok(record) => (StatusCode::OK, row(&record, tokens.clock())),
                Err(error) => failed(&error),
            },
        }
    }
}

async fn create(tokens: &Tokens, body: Bytes) -> Answer {
    let read = RawJson::parse(body, JsonLimits::default());
    let wanted: Result<Wanted, _> = read
        .map_err(|error| error.to_string())
        .and_then(|body| body.try_read().map_err(|error| error.to_string()));
    let wanted = match wanted {
        Ok(wanted) => wanted,
        Err(error) => {
            let text = format!("the body is not a valid token request: {error}");
            return invalid(
                &text,
                r#"write {"name": "laptop", "allow": ["files_*"], "expires": "30d"}"#,
            );
        }
    };
    if wanted.role == Role::User {
        let text = "only the token of the first start has the role `user`";
        return invalid(text, r#"write "role": "approver", or leave it out"#);
    }
    let lifetime = wanted.expires.as_deref().map(|text| lifetime(text).ok_or(text));
    let expires = match lifetime.transpose() {
        Ok(lifetime) => lifetime.map(|lifetime| tokens.clock().now() + lifetime),
        Err(text) => return invalid(&format!("`{text}` is not a duration"), "write it as 30d"),
    };
    match tokens.create_as(wanted.role, &wanted.name, wanted.allow, expires).await {
        Ok((token, record)) => {
            let shown = row(&record, tokens.clock())
                .edit()
                .set("token", RawJson::string(token.expose()))
                .apply();
            (StatusCode::CREATED, shown)
        }
        Err(error) => failed(&error),
    }
}

fn invalid(text: &str, advice: &str) -> Answer {
    refuse(StatusCode::BAD_REQUEST, ErrorType::ValidationError, (text, advice))
}

/// What went wrong. What to do follows the semicolon of each message.
fn failed(error: &TokenError) -> Answer {
    let (status, kind) = match error {
        TokenError::Unknown(_) => (StatusCode::NOT_FOUND, ErrorType::ResourceNotFound),
        TokenError::Taken(_) | TokenError::TooMany(_) => {
            (StatusCode::CONFLICT, ErrorType::RegistrationError)
        }
        TokenError::Unwritten(..) | TokenError::DocumentStore(_) => {
            (StatusCode::INSUFFICIENT_STORAGE, ErrorType::RegistrationError)
        }
        _ => (StatusCode::BAD_REQUEST, ErrorType::ValidationError),
    };
    let text = error.to_string();
    let told = text.rsplit_once("; ").unwrap_or((&text, "repair the store, and try again"));
    refuse(status, kind, told)
}

/// A token as it may be shown: everything but its hash. Times are seconds since 1970.
pub(crate) fn row(record: &TokenRecord, clock: &Clock) -> RawJson {
    ObjectWriter::new()
        .value("name", &record.name)
        .value("id", &record.id)
        .value("state", state(record, clock))
        .value("allow", &record.allow)
        .value("role", record.role.as_str())
        .value("created", &record.created)
        .value("expires", &record.expires)
        .value("revoked", &record.revoked)
        .value("last_used", &record.last_used)
        .finish()
}

/// `active`, `expired` or `revoked`.
fn state(record: &TokenRecord, clock: &Clock) -> &'static str {
    match (record.revoked, record.is_dead(clock.seconds())) {
        (Some(_), _) => "revoked",
        (None, true) => "expired",
        (None, false) => "active",
    }
}

/// How long a token is to be good, written as `30d`: a number of `s`, `m`, `h`, `d` or `w`.
pub(crate) fn lifetime(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit())?);
    let factor = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        "w" => 7 * 24 * 3600,
        _ => return None,
    };
    let seconds = number.parse::<u64>().ok()?.checked_mul(factor)?;
    let lifetime = Duration::from_secs(seconds);
    // A time that no clock can show is none.
    let fits = seconds > 0 && SystemTime::now().checked_add(lifetime).is_some();
    fits.then_some(lifetime)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gantry_policy::{Clock, MemoryDocumentStore, Signer};

    use super::*;

    fn request(method: &str, path: &str, body: &'static str) -> Request<Bytes> {
        let uri = format!("/api/{path}");
        let request = Request::builder().method(method).uri(uri).body(Bytes::from(body));
        request.expect("a request")
    }

    #[test]
    fn pages() {
        let revoke = |name: &str| Some(Ok(Page::Revoke(name.to_owned())));
        let cases = [
            ("GET", "tokens", Some(Ok(Page::List))),
            ("POST", "tokens", Some(Ok(Page::Create(Bytes::new())))),
            ("PUT", "tokens", Some(Err("GET, POST"))),
            ("DELETE", "tokens/a", revoke("a")),
            ("DELETE", "tokens/me%40home", revoke("me@home")),
            ("GET", "tokens/a", Some(Err("DELETE"))),
            ("DELETE", "tokens/", None),
            ("GET", "tokensa", None),
            ("GET", "tools", None),
        ];
        for (method, path, expected) in cases {
            assert_eq!(Page::of(&request(method, path, "")), expected, "{method} {path}");
        }
    }

    #[tokio::test]
    async fn made_listed_and_taken_away() {
        let document_store = Arc::new(MemoryDocumentStore::default());
        let tokens = Tokens::open(document_store, Signer::new([7; 32]), Clock::system())
            .await
            .expect("memory");
        let cases = [
            ("POST", "tokens", "", 400),
            ("POST", "tokens", "[]", 400),
            ("POST", "tokens", r#"{"nam": "a"}"#, 400),
            ("POST", "tokens", r#"{"name": "a", "expires": "soon"}"#, 400),
            ("POST", "tokens", r#"{"name": "a b"}"#, 400),
            ("POST", "tokens", r#"{"name": "a", "allow": []}"#, 400),
            ("POST", "tokens", r#"{"name": "a", "role": "user"}"#, 400),
            ("POST", "tokens", r#"{"name": "a", "role": "king"}"#, 400),
            ("POST", "tokens", r#"{"name": "b", "role": "approver"}"#, 201),
            ("POST", "tokens", r#"{"name": "a", "allow": ["x*"], "expires": "30d"}"#, 201),
            ("POST", "tokens", r#"{"name": "A"}"#, 409),
            ("GET", "tokens", "", 200),
            ("DELETE", "tokens/a", "", 200),
            ("DELETE", "tokens/a", "", 404),
        ];
        for (method, path, body, expected) in cases {
            let page = Page::of(&request(method, path, body)).expect("a page").expect("a method");
            let (status, json) = page.answer(&tokens).await;
            assert_eq!(status, expected, "{method} {path} {body}: {json}");
            let shown = json.get("token").is_some();
            assert_eq!(shown, expected == 201, "a token is shown once: {json}");
            assert!(!json.as_str().contains("hash"), "{json}");
        }
    }
}

#[cfg(test)]
mod callers_tests {
    use super::*;

    #[test]
    fn lifetimes() {
        let cases = [
            ("1s", Some(1)),
            ("90m", Some(5400)),
            ("12h", Some(43_200)),
            ("30d", Some(2_592_000)),
            ("2w", Some(1_209_600)),
            ("0d", None),
            ("30", None),
            ("d", None),
            ("", None),
            ("-1d", None),
            ("1.5h", None),
            ("30 d", None),
            ("30days", None),
            ("99999999999999999d", None),
        ];
        for (text, expected) in cases {
            assert_eq!(lifetime(text), expected.map(Duration::from_secs), "{text}");
        }
    }
}
