//! The audit record of a call: one JSON object, whose members are described in docs/audit.md.

use std::fmt::Write;
use std::time::SystemTime;

use gantry_gateway::filter::{CallEnd, CallSummary, PolicyDecision};
use gantry_gateway::{Call, ErrorKind, OutcomeClass, Target};
use gantry_protocol::{Method, RawJson, timestamp};
use sha2::{Digest, Sha256};

use super::Redaction;
use super::settings::{AuditSettings, AuditedArguments};
use crate::approvals::{Past, Verdict};

/// Writes what is kept of them as a member; nothing when there are none, or when nothing is to be
/// kept.
fn put_arguments(call: &Call, settings: &AuditSettings, redaction: &Redaction, out: &mut String) {
    let Some(arguments) = &call.head.arguments else { return };
    match settings.arguments {
        AuditedArguments::None => {}
        AuditedArguments::Digest => put_digest(arguments, out),
        // What is too long even without its secrets is not worth taking apart.
        AuditedArguments::Redacted if arguments.bytes().len() > 4 * settings.redacted => {
            put_digest(arguments, out);
        }
        AuditedArguments::Redacted => match redaction(arguments) {
            redacted if redacted.bytes().len() <= settings.redacted => {
                out.push_str(",\"arguments\":");
                out.push_str(redacted.as_str());
            }
            _ => put_digest(arguments, out),
        },
    }
}

/// `"sha256:…"` of the arguments without white space.
fn put_digest(arguments: &RawJson, out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push_str(",\"arguments\":\"sha256:");
    let mut digits = [0; 64];
    let digest = Sha256::digest(arguments.compact().bytes());
    for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(digest) {
        *pair = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    }
    out.push_str(std::str::from_utf8(&digits).unwrap_or_default());
    out.push('"');
}

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

/// Names in a line that would be too long otherwise.
const SHORT: usize = 64;

/// Writes the record of a call: the members of an object, without its braces. A line that is longer
/// than a line may be has a digest of the arguments and short names.
pub(super) fn write(
    summary: &CallSummary<'_>,
    phase: Phase<'_>,
    settings: &AuditSettings,
    redaction: &Redaction,
) -> String {
    let line = members(summary, phase, settings, redaction);
    if line.len() <= settings.line {
        return line;
    }
    let arguments = match settings.arguments {
        AuditedArguments::Redacted => AuditedArguments::Digest,
        other => other,
    };
    let name = settings.name.min(SHORT);
    members(summary, phase, &AuditSettings { arguments, name, ..settings.clone() }, redaction)
}

/// Writes the members. This is on the way of every call, so that nothing is made here that is only
/// copied then.
fn members(
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
    let _ = write!(out, "\",\"call\":\"{}\"", summary.context.number());
    out.push_str(match phase {
        Phase::Begun => ",\"phase\":\"begun\"",
        Phase::Ended(_) => ",\"phase\":\"ended\"",
    });
    let longest = settings.name;
    put(&mut out, ",\"principal\":", &caller.principal, longest);
    let client = caller.client_info.as_ref().and_then(|info| info.get("name"));
    put_said(&mut out, ",\"client\":", client.as_ref(), longest);
    if let Some(virtual_server) = &caller.virtual_server {
        put(&mut out, ",\"face\":", virtual_server, longest);
    }
    put(&mut out, ",\"method\":", call.method.as_str(), longest);
    put_target(&mut out, summary, longest);
    summary.context.among_decisions(|all| put_decisions(&mut out, all, longest));
    put_arguments(call, settings, redaction, &mut out);
    if let Phase::Ended(end) = phase {
        put(&mut out, ",\"outcome\":", word(end), longest);
        let _ = write!(out, ",\"took_us\":{}", end.took.as_micros() as u64);
    }
    // A trace that begins here is no caller's, and is on record if its spans are sent.
    if let Some(span) = summary.context.span().filter(|span| span.sampled) {
        let _ = write!(out, ",\"trace\":\"{:032x}\"", span.trace);
    } else if let Some(id) = call.trace.as_ref().and_then(|trace| trace_id(&trace.parent)) {
        put(&mut out, ",\"trace\":", id, longest);
    }
    out
}

/// Writes the record of an answer to an approval, in the form of a call that has ended. The call
/// that it is about has records of its own, with the same decision.
pub(super) fn write_approval(past: &Past, settings: &AuditSettings) -> String {
    let (call, longest) = (&past.pending, settings.name);
    let mut out = String::with_capacity(USUAL);
    out.push_str("\"at\":\"");
    timestamp::append(SystemTime::now(), &mut out);
    out.push('"');
    put(&mut out, ",\"call\":", &format!("approval-{}", call.id), longest);
    out.push_str(",\"phase\":\"ended\"");
    put(&mut out, ",\"principal\":", &call.principal, longest);
    put(&mut out, ",\"method\":", "gantry/approval", longest);
    put(&mut out, ",\"tool\":", &call.tool, longest);
    if let Some(server) = &call.server {
        put(&mut out, ",\"server\":", server, longest);
    }
    let allowed = past.verdict == Verdict::Approved;
    let rule = past.recorded().into();
    out.push_str(",\"decision\":");
    put_decision(&mut out, &PolicyDecision { allowed, policy: "approval", rule }, longest);
    put(&mut out, ",\"approver\":", &past.by, longest);
    put(&mut out, ",\"via\":", &past.via, longest);
    put(&mut out, ",\"outcome\":", past.verdict.as_str(), longest);
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
    // Under the same name whichever endpoint it came through, so that a search finds every call.
    let names = target.names();
    put(out, key, names.canonical(), longest);
    if !names.is_shown_canonically() {
        put(out, ",\"requested\":", names.shown(), longest);
    }
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
fn put_decisions(out: &mut String, decisions: &[PolicyDecision], longest: usize) {
    let Some((last, before)) = decisions.split_last() else { return };
    out.push_str(",\"decision\":");
    put_decision(out, last, longest);
    let mut between = ",\"refused\":[";
    for refused in before.iter().filter(|it| !it.allowed) {
        out.push_str(between);
        put_decision(out, refused, longest);
        between = ",";
    }
    if between == "," {
        out.push(']');
    }
}

fn put_decision(out: &mut String, decision: &PolicyDecision, longest: usize) {
    out.push_str(if decision.allowed { "{\"allowed\":true" } else { "{\"allowed\":false" });
    put(out, ",\"policy\":", decision.policy, longest);
    put(out, ",\"rule\":", &decision.rule, longest);
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

/// Writes a text under a key, which brings all that stands before the text. What takes more bytes
/// than that is cut.
pub(super) fn put(out: &mut String, key: &str, text: &str, longest: usize) {
    out.push_str(key);
    out.push('"');
    let is_plain = text.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
    match is_plain && text.len() <= longest {
        true => out.push_str(text),
        false => put_escaped(out, text, longest),
    }
    out.push('"');
}

/// Writes a text with the escapes of JSON, and cuts it by the bytes that come of it: a control
/// character takes six.
fn put_escaped(out: &mut String, text: &str, longest: usize) {
    let end = out.len().saturating_add(longest);
    for sign in text.chars() {
        let before = out.len();
        match sign {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..' ' => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{:04x}", u32::from(sign));
            }
            _ => out.push(sign),
        }
        if out.len() > end {
            out.truncate(before);
            out.push('…');
            return;
        }
    }
}

/// How it ended, in a word.
fn word(end: &CallEnd<'_>) -> &'static str {
    match (end.outcome, end.outcome_class) {
        (Err(error), _) if error.kind == ErrorKind::Cancelled => "given up",
        (_, OutcomeClass::Good) => "ok",
        (_, OutcomeClass::InputRequired) => "input required",
        (_, OutcomeClass::ToolError(error_type) | OutcomeClass::Error(error_type)) => error_type,
    }
}

/// The id in a `traceparent`: its second part.
fn trace_id(parent: &str) -> Option<&str> {
    let id = parent.split('-').nth(1)?;
    (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(text: &str, longest: usize) -> String {
        let mut out = String::new();
        put(&mut out, "", text, longest);
        out
    }

    #[test]
    fn names_are_cut_by_the_bytes_that_are_written() {
        let cases = [
            ("abc", r#""abc""#),
            ("abcd", r#""abcd""#),
            ("abcde", r#""abcd…""#),
            ("äö", r#""äö""#),
            ("äöü", r#""äö…""#),
            ("a\u{1f600}", r#""a…""#),
            ("\u{1}", r#""…""#),
            ("a\"b", r#""a\"b""#),
            ("a\"bc", r#""a\"b…""#),
            ("\\\n", r#""\\\n""#),
            ("\\\n\t", r#""\\\n…""#),
            ("", r#""""#),
        ];
        for (text, expected) in cases {
            assert_eq!(written(text, 4), expected, "{text:?}");
        }
        assert_eq!(written("\u{1}\u{1f}\u{7f}", 13), "\"\\u0001\\u001f\u{7f}\"");
    }

    proptest! {
        #[test]
        fn every_text_is_json_within_its_bytes(text in any::<String>(), longest in 0..40_usize) {
            let out = written(&text, longest);
            prop_assert!(out.len() <= longest + "\"…\"".len());
            let read: String = serde_json::from_str(&out).expect("it is JSON");
            match read.strip_suffix('…') {
                Some(start) if read != text => prop_assert!(text.starts_with(start)),
                _ => prop_assert_eq!(read, text),
            }
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
