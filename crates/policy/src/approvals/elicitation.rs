//! The elicitation that asks the client's own user for an approval, and how its answer is read.
//!
//! It cannot be answered in advance: answers that a call brings along do not count, so that a model
//! or a program cannot approve its own call.

use gantry_gateway::InputRequest;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Method, RawJson};

use super::answer::{Answer, Scope};
use super::approver::Authority;
use super::pending::Pending;

/// The key of the question. Only who was asked it can answer it.
pub const QUESTION: &str = "gantry/approval";

const MEMBER: &str = "decision";
const ALLOW: &str = "allow once";
const SESSION: &str = "allow for this session";
const ALWAYS: &str = "always allow this tool";
const DENY: &str = "deny";

/// The longest arguments that the question shows whole.
const LONGEST: usize = 2000;

/// What the client's user is asked.
pub(super) fn input_request(pending: &Pending) -> InputRequest {
    let Pending { tool, arguments, reason, .. } = pending;
    let server = pending.server.as_ref().map(|it| format!(" of the server `{it}`"));
    let server = server.unwrap_or_default();
    let shown: String = arguments.chars().take(LONGEST).collect();
    let more = if shown.len() < arguments.len() { "… (cut short)" } else { "" };
    let message = format!(
        "May `{tool}`{server} run? It was stopped because {reason}.\n\nArguments: {shown}{more}"
    );
    let choices: &[&str] = match pending.session {
        Some(_) => &[ALLOW, SESSION, ALWAYS, DENY],
        None => &[ALLOW, ALWAYS, DENY],
    };
    let choice = ObjectWriter::new()
        .value("type", "string")
        .value("title", "Decision")
        .value("enum", choices)
        .finish();
    let schema = ObjectWriter::new()
        .value("type", "object")
        .raw("properties", &ObjectWriter::new().raw(MEMBER, &choice).finish())
        .value("required", &[MEMBER])
        .finish();
    let params = ObjectWriter::new()
        .value("mode", "form")
        .value("message", &message)
        .raw("requestedSchema", &schema)
        .finish();
    InputRequest::new(Method::Elicit, params)
}

/// What the client's user has said; none if they dismissed the question, or nobody was asked. All
/// else that is no clear yes is a no.
pub(super) fn read(answer: &RawJson, pending: &Pending) -> Option<Answer> {
    let by = format!("the user of the client (`{}`)", pending.principal);
    let text = |path: &[&str]| answer.at(path).and_then(|it| it.to_text());
    let action = text(&["action"]);
    if action.as_deref() == Some("cancel") {
        return None;
    }
    let is_accepted = action.as_deref() == Some("accept");
    let said = match text(&["content", MEMBER]).as_deref().filter(|_| is_accepted) {
        Some(ALLOW) => Answer::once(by),
        Some(SESSION) if pending.session.is_some() => {
            Answer { scope: Scope { session: true, ..Scope::default() }, ..Answer::once(by) }
        }
        Some(ALWAYS) => Answer { scope: Scope::always(), ..Answer::once(by) },
        _ => Answer::deny(by),
    };
    Some(said.with(Authority::Elicitation))
}

/// What a client answers whose user said yes or no to this one call, or nothing.
pub fn reply(approve: Option<bool>) -> RawJson {
    RawJson::from_static(match approve {
        Some(true) => r#"{"action":"accept","content":{"decision":"allow once"}}"#,
        Some(false) => r#"{"action":"decline"}"#,
        None => r#"{"action":"cancel"}"#,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        let cases = [
            (r#"{"action":"accept","content":{"decision":"allow once"}}"#, "once"),
            (r#"{"action":"accept","content":{"decision":"allow for this session"}}"#, "session"),
            (r#"{"action":"accept","content":{"decision":"always allow this tool"}}"#, "always"),
            (r#"{"action":"accept","content":{"decision":"always"}}"#, "no"),
            (r#"{"action":"accept","content":{"decision":"deny"}}"#, "no"),
            (r#"{"action":"accept","content":{"decision":true}}"#, "no"),
            (r#"{"action":"accept","content":{}}"#, "no"),
            (r#"{"action":"accept"}"#, "no"),
            (r#"{"action":"decline","content":{"decision":"allow once"}}"#, "no"),
            (r#"{"action":"cancel"}"#, "nothing"),
            (r#"{"action":"cancel","content":{"decision":"allow once"}}"#, "nothing"),
            (r#"{}"#, "no"),
            (reply(Some(true)).to_string().leak(), "once"),
            (reply(Some(false)).to_string().leak(), "no"),
            (reply(None).to_string().leak(), "nothing"),
        ];
        let mut pending = Pending { session: Some("s".to_owned()), ..Pending::default() };
        for (text, expected) in cases {
            let answer = read(&RawJson::from_static(text), &pending);
            let said = match answer {
                None => "nothing",
                Some(it) if !it.approve => "no",
                Some(it) if it.scope.session => "session",
                Some(it) if it.scope.always => "always",
                Some(_) => "once",
            };
            assert_eq!(said, expected, "{text}");
        }
        pending.session = None;
        let session = RawJson::from_static(cases[1].0);
        let read = read(&session, &pending);
        assert!(read.is_some_and(|it| !it.approve), "there is no session");
    }
}
