//! What a person says to a call that waits, and how far that reaches.

use std::time::Duration;

use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;

use super::approver::Authority;

/// What a person says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Whether the call may run.
    pub approve: bool,
    /// What else may run without being asked again.
    pub scope: Scope,
    /// Who says so.
    pub by: String,
    /// In what capacity.
    pub authority: Authority,
}

/// What else is approved beside this one call: nothing, by default. Of several conditions all must
/// hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// All calls of this tool by this caller, until the grant is ended or the definition changes.
    pub always: bool,
    /// Calls of this session.
    pub session: bool,
    /// Calls within this time.
    pub lasting: Option<Duration>,
    /// Calls whose arguments match.
    pub matching: Option<Matching>,
}

/// Which arguments match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matching {
    /// The same ones.
    Exact,
    /// Those that have all members of this object, with the same values.
    Subset(RawJson),
}

/// Why an answer does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// Nothing of that name waits.
    #[error("no call `{0}` waits for an approval; `gantry approve` lists those that do")]
    Unknown(String),
    /// Somebody was faster, or it has ended otherwise.
    #[error("the call `{id}` waits no longer: {by} {verdict} it")]
    AlreadyAnswered {
        /// Which call.
        id: String,
        /// Who.
        by: String,
        /// What was said, as a verb: `approved`.
        verdict: &'static str,
    },
    /// The call belongs to no session that the answer could hold for.
    #[error("the call `{0}` belongs to no session; approve it once, or for a time: `--for 1h`")]
    NoSession(String),
    /// Whoever answers is not entitled to.
    #[error("you may not answer the approval `{id}`: {why}")]
    NotEntitled {
        /// Which approval.
        id: String,
        /// Why not.
        why: &'static str,
    },
    /// What the answer says makes no sense.
    #[error("{0}")]
    Form(&'static str),
}

/// The longest time that a grant may last.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

impl Answer {
    /// Yes, this once.
    pub fn once(by: impl Into<String>) -> Self {
        let authority = Authority::Administrator;
        Self { approve: true, scope: Scope::default(), by: by.into(), authority }
    }

    /// No.
    pub fn deny(by: impl Into<String>) -> Self {
        Self { approve: false, ..Self::once(by) }
    }

    /// The same in another capacity than that of an administrator.
    #[must_use]
    pub fn with(self, authority: Authority) -> Self {
        Self { authority, ..self }
    }

    /// Reads `{"decision": "approve" | "deny", "scope": …}`.
    pub fn read(value: &RawJson, by: &str) -> Result<Self, AnswerError> {
        let decision = value.get("decision").and_then(|it| it.to_text());
        let approve = match decision.as_deref() {
            Some("approve") => true,
            Some("deny") => false,
            _ => return Err(AnswerError::Form("`decision` must be \"approve\" or \"deny\"")),
        };
        let scope = value.get("scope").filter(|it| !it.is_null());
        let scope = scope.map(|it| Scope::read(&it)).transpose()?.unwrap_or_default();
        Ok(Self { approve, scope, ..Self::once(by) })
    }
}

impl Scope {
    /// Whether nothing else is approved.
    pub fn is_once(&self) -> bool {
        *self == Self::default()
    }

    /// All calls of the tool.
    pub fn always() -> Self {
        Self { always: true, ..Self::default() }
    }

    /// Reads `"once"`, `"session"`, `"always"`, or an object with `session`, `for` and `matching`.
    pub fn read(value: &RawJson) -> Result<Self, AnswerError> {
        const FORM: AnswerError = AnswerError::Form(
            "`scope` must be \"once\", \"session\", \"always\", or an object with `session`, `for` and \
             `matching`",
        );
        match value.to_text().as_deref() {
            Some("once") => return Ok(Self::default()),
            Some("session") => return Ok(Self { session: true, ..Self::default() }),
            Some("always") => return Ok(Self::always()),
            Some(_) => return Err(FORM),
            None => {}
        }
        if !value.is_object() {
            return Err(FORM);
        }
        let mut scope = Self::default();
        for member in value.members() {
            let value = member.value();
            match &*member.key() {
                "session" => scope.session = value.read().ok_or(FORM)?,
                "for" => {
                    const TIME: AnswerError =
                        AnswerError::Form("`for` must be a time such as \"1h\", of a year at most");
                    let text = value.to_text().unwrap_or_else(|| value.as_str().to_owned());
                    scope.lasting = Some(time(&text).ok_or(TIME)?);
                }
                "matching" => scope.matching = Matching::read(&value)?,
                _ => return Err(FORM),
            }
        }
        Ok(scope)
    }
}

impl Matching {
    fn read(value: &RawJson) -> Result<Option<Self>, AnswerError> {
        match (value.kind(), value.read()) {
            (JsonKind::Boolean, Some(true)) => Ok(Some(Self::Exact)),
            (JsonKind::Boolean, _) => Ok(None),
            (JsonKind::Object, _) => Ok(Some(Self::Subset(value.clone()))),
            _ => Err(AnswerError::Form("`matching` must be true, or an object of arguments")),
        }
    }
}

/// Reads `90s`, `30m`, `1h`, `7d`, or a number of seconds; nothing that lasts no time, or too long.
pub fn time(text: &str) -> Option<Duration> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    let unit = match &text[digits.len()..] {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 24 * 3600,
        _ => return None,
    };
    let time = Duration::from_secs(number.checked_mul(unit)?);
    (!time.is_zero() && time <= LONGEST).then_some(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_strictly() {
        let hour = Some(Duration::from_secs(3600));
        let subset = RawJson::from_static(r#"{"a":1}"#);
        let with = |scope: Scope| Some((true, scope));
        let cases = [
            (r#"{"decision":"approve"}"#, with(Scope::default())),
            (r#"{"decision":"deny"}"#, Some((false, Scope::default()))),
            (r#"{"decision":"approve","scope":"once"}"#, with(Scope::default())),
            (r#"{"decision":"approve","scope":null}"#, with(Scope::default())),
            (
                r#"{"decision":"approve","scope":"session"}"#,
                with(Scope { session: true, ..Scope::default() }),
            ),
            (r#"{"decision":"approve","scope":"always"}"#, with(Scope::always())),
            (r#"{"decision":"approve","scope":{"always":true}}"#, None),
            (
                r#"{"decision":"approve","scope":{"for":"1h"}}"#,
                with(Scope { lasting: hour, ..Scope::default() }),
            ),
            (
                r#"{"decision":"approve","scope":{"for":3600,"matching":true}}"#,
                with(Scope { lasting: hour, matching: Some(Matching::Exact), ..Scope::default() }),
            ),
            (
                r#"{"decision":"approve","scope":{"matching":{"a":1}}}"#,
                with(Scope { matching: Some(Matching::Subset(subset)), ..Scope::default() }),
            ),
            (r#"{"decision":"yes"}"#, None),
            (r#"{}"#, None),
            (r#"[]"#, None),
            (r#"{"decision":"approve","scope":"ever"}"#, None),
            (r#"{"decision":"approve","scope":{"for":"0s"}}"#, None),
            (r#"{"decision":"approve","scope":{"for":"99999d"}}"#, None),
            (r#"{"decision":"approve","scope":{"for":"-1h"}}"#, None),
            (r#"{"decision":"approve","scope":{"matching":"a"}}"#, None),
            (r#"{"decision":"approve","scope":{"who":"a"}}"#, None),
            (r#"{"decision":"approve","scope":7}"#, None),
        ];
        for (text, expected) in cases {
            let read = Answer::read(&RawJson::from_static(text), "me").ok();
            assert_eq!(read.map(|it| (it.approve, it.scope)), expected, "{text}");
        }
    }
}
