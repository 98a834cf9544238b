//! What is written of a call: one object, whose members are in docs/audit.md.

use std::borrow::Cow;
use std::fmt::Write;
use std::time::SystemTime;

use gantry_gateway::policy::{CallEnd, CallSummary, Decision, Ending};
use gantry_gateway::{ErrorKind, Target};
use gantry_protocol::{Method, RawJson, timestamp};

use super::Redaction;
use super::arguments;
use super::settings::AuditSettings;

/// How far a call has come.
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase<'a> {
    /// Its provider is next.
    Begun,
    /// It is over.
    Ended(&'a CallEnd<'a>),
}

/// Most records are shorter.
const USUAL: usize = 512;

/// Writes the record of a call: the members of an object, without its braces. This is on the way of
/// every call, so that nothing is made here that is only copied then.
pub(super) fn write(
    summary: &CallSummary<'_>,
    phase: Phase<'_>,
    settings: &AuditSettings,
    redaction: &Redaction,
) -> String {
    let (call, caller) = (summary.call, &summary.call.caller);
    let mut out = String::with_capacity(USUAL);
    out.push_str("\"at\":\"");
    timestamp::append(SystemTime::now(), &mut out);
    // Writing to a string does not fail.
    let _ = write!(out, "\",\"call\":\"{}\"", summary.exchange.number());
    out.push_str(match phase {
        Phase::Begun => ",\"phase\":\"begun\"",
        Phase::Ended(_) => ",\"phase\":\"ended\"",
    });
    let longest = settings.name;
    put(&mut out, ",\"principal\":", &caller.principal, longest);
    let client = caller.client_info.as_ref().and_then(|info| info.get("name"));
    put_said(&mut out, ",\"client\":", client.as_ref(), longest);
    if let Some(face) = &caller.face {
        put(&mut out, ",\"face\":", face, longest);
    }
    put(&mut out, ",\"method\":", call.method.as_str(), longest);
    put_target(&mut out, summary, longest);
    summary.exchange.among_decisions(|all| put_decisions(&mut out, all));
    arguments::put(call, settings, redaction, &mut out);
    if let Phase::Ended(end) = phase {
        put(&mut out, ",\"outcome\":", word(end), longest);
        let _ = write!(out, ",\"took_us\":{}", end.took.as_micros() as u64);
    }
    // A trace that begins here is no caller's, and is on record if its spans are sent.
    if let Some(span) = summary.exchange.span().filter(|span| span.sampled) {
        let _ = write!(out, ",\"trace\":\"{:032x}\"", span.trace);
    } else if let Some(id) = call.trace.as_ref().and_then(|trace| trace_id(&trace.parent)) {
        put(&mut out, ",\"trace\":", id, longest);
    }
    out
}

/// What the call is for: as the catalog has it, or else as the client said.
fn put_target(out: &mut String, summary: &CallSummary<'_>, longest: usize) {
    let call = summary.call;
    let key = match &call.method {
        Method::ToolsCall => ",\"tool\":",
        Method::PromptsGet => ",\"prompt\":",
        Method::ResourcesRead => ",\"resource\":",
        _ => ",\"target\":",
    };
    let Some(target) = summary.target else {
        return put_said(out, key, call.head.name.as_ref().or(call.head.uri.as_ref()), longest);
    };
    put(out, key, target.name(), longest);
    if let Target::Tool(tool) = target
        && let Some(version) = &tool.version
    {
        put(out, ",\"version\":", version, longest);
    }
    if let Some(origin) = target.origin() {
        put(out, ",\"server\":", &origin.server, longest);
    }
}

/// The last decision, and before it every one that refused.
fn put_decisions(out: &mut String, decisions: &[Decision]) {
    let Some((last, before)) = decisions.split_last() else { return };
    out.push_str(",\"decision\":");
    put_decision(out, last);
    let mut between = ",\"refused\":[";
    for refused in before.iter().filter(|it| !it.allowed) {
        out.push_str(between);
        put_decision(out, refused);
        between = ",";
    }
    if between == "," {
        out.push(']');
    }
}

fn put_decision(out: &mut String, decision: &Decision) {
    out.push_str(if decision.allowed { "{\"allowed\":true" } else { "{\"allowed\":false" });
    put(out, ",\"policy\":", decision.policy, usize::MAX);
    put(out, ",\"rule\":", &decision.rule, usize::MAX);
    out.push('}');
}

/// Writes a text that came as JSON; nothing if there is none.
fn put_said(out: &mut String, key: &str, said: Option<&RawJson>, longest: usize) {
    match said.map(|said| (said.as_text(), said)) {
        Some((Some(text), _)) => put(out, key, text, longest),
        Some((None, said)) => {
            if let Some(text) = said.to_text() {
                put(out, key, &text, longest);
            }
        }
        None => {}
    }
}

/// Writes a text under a key, which brings all that stands before the text.
fn put(out: &mut String, key: &str, text: &str, longest: usize) {
    out.push_str(key);
    let text = cut(text, longest);
    let is_plain = text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
    match is_plain {
        true => {
            out.push('"');
            out.push_str(&text);
            out.push('"');
        }
        false => out.push_str(RawJson::string(&text).as_str()),
    }
}

/// How it ended, in a word.
fn word(end: &CallEnd<'_>) -> &'static str {
    match (end.outcome, end.ending) {
        (Err(error), _) if error.kind == ErrorKind::Cancelled => "given up",
        (_, Ending::Good) => "ok",
        (_, Ending::InputRequired) => "input required",
        (_, Ending::ToolError(error_type) | Ending::Error(error_type)) => error_type,
    }
}

/// The beginning of a text that a client chose.
fn cut(text: &str, longest: usize) -> Cow<'_, str> {
    // No text has more letters than bytes, and the bytes are known.
    if text.len() <= longest {
        return Cow::Borrowed(text);
    }
    match text.char_indices().nth(longest) {
        None => Cow::Borrowed(text),
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
    }
}

/// The id in a `traceparent`: its second part.
fn trace_id(parent: &str) -> Option<&str> {
    let id = parent.split('-').nth(1)?;
    (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut() {
        for (text, expected) in [("abc", "abc"), ("abcd", "abc…"), ("äöü", "äöü"), ("äöüß", "äöü…")]
        {
            assert_eq!(cut(text, 3), expected);
        }
    }

    #[test]
    fn ids_of_traces() {
        let id = "0af7651916cd43dd8448eb211c80319c";
        let cases = [
            (format!("00-{id}-b7ad6b7169203331-01"), Some(id)),
            (format!("00-{}x-b7ad6b7169203331-01", &id[1..]), None),
            ("00-1-2-01".to_owned(), None),
            (String::new(), None),
        ];
        for (parent, expected) in &cases {
            assert_eq!(trace_id(parent), *expected, "{parent}");
        }
    }
}
