//! What is written of a call: one object, whose members are in docs/audit.md.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use gantry_gateway::policy::{CallSummary, Decision, Ending};
use gantry_gateway::{ErrorKind, Outcome, Target};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Method, RawJson, timestamp};

use super::arguments;
use super::redaction::Redaction;
use super::settings::AuditSettings;

/// How far a call has come.
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase<'a> {
    /// Its provider is next.
    Begun,
    /// It is over.
    Ended {
        /// What it came to.
        outcome: &'a Outcome,
        /// How long that took.
        took: Duration,
    },
}

/// Most records are shorter.
const USUAL: usize = 512;

/// Writes the record of a call.
pub(super) fn write(
    summary: &CallSummary<'_>,
    phase: Phase<'_>,
    settings: &AuditSettings,
    redaction: &Redaction,
) -> RawJson {
    let (call, caller) = (summary.call, &summary.call.caller);
    let phase_name = if let Phase::Begun = phase { "begun" } else { "ended" };
    let record = ObjectWriter::with_capacity(USUAL)
        .value("at", &timestamp::write(SystemTime::now()))
        .value("call", &format_args!("{}", summary.exchange.number()))
        .value("phase", phase_name)
        .value("principal", &cut(&caller.principal, settings.name))
        .value_some(
            "client",
            caller.client_name().map(|name| cut(&name, settings.name).into_owned()),
        )
        .value_some("face", caller.face.as_deref())
        .value("method", &cut(call.method.as_str(), settings.name));
    let record = target(record, summary, settings.name);
    let record = decisions(record, &summary.exchange.decisions());
    let kept = arguments::kept(call, settings, redaction);
    let record = record.raw_some("arguments", kept.as_ref());
    let record = match phase {
        Phase::Begun => record,
        Phase::Ended { outcome, took } => {
            let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
            record.value("outcome", word(outcome)).value("took_us", &took)
        }
    };
    record
        .value_some("trace", call.trace.as_ref().and_then(|trace| trace_id(&trace.parent)))
        .finish()
}

/// What the call is for: as the catalog has it, or else as the client said.
fn target(record: ObjectWriter, summary: &CallSummary<'_>, longest: usize) -> ObjectWriter {
    let call = summary.call;
    let kind = match &call.method {
        Method::ToolsCall => "tool",
        Method::PromptsGet => "prompt",
        Method::ResourcesRead => "resource",
        _ => "target",
    };
    let record = match summary.target {
        Some(target) => record.value(kind, &cut(target.name(), longest)),
        None => {
            let said = call.head.name.as_ref().or(call.head.uri.as_ref());
            let said = said.and_then(RawJson::to_text);
            record.value_some(kind, said.map(|name| cut(&name, longest).into_owned()))
        }
    };
    let version = match summary.target {
        Some(Target::Tool(tool)) => tool.version.as_deref(),
        _ => None,
    };
    let server = summary.target.and_then(Target::origin).map(|origin| &*origin.server);
    record.value_some("version", version).value_some("server", server)
}

/// The last decision, and before it every one that refused.
fn decisions(record: ObjectWriter, decisions: &[Decision]) -> ObjectWriter {
    let Some((last, before)) = decisions.split_last() else { return record };
    let record = record.raw("decision", &decision(last));
    let refused: Vec<_> = before.iter().filter(|it| !it.allowed).map(decision).collect();
    if refused.is_empty() { record } else { record.array("refused", &refused) }
}

fn decision(decision: &Decision) -> RawJson {
    ObjectWriter::new()
        .value("allowed", &decision.allowed)
        .value("policy", decision.policy)
        .value("rule", &*decision.rule)
        .finish()
}

/// How it ended, in a word.
fn word(outcome: &Outcome) -> &'static str {
    match (outcome, Ending::of(outcome)) {
        (Err(error), _) if error.kind == ErrorKind::Cancelled => "given up",
        (_, Ending::Good) => "ok",
        (_, Ending::InputRequired) => "input required",
        (_, Ending::ToolError(error_type) | Ending::Error(error_type)) => error_type,
    }
}

/// The beginning of a text that a client chose.
fn cut(text: &str, longest: usize) -> Cow<'_, str> {
    match text.char_indices().nth(longest) {
        // Nothing is shorter in letters than in bytes.
        _ if text.len() <= longest => Cow::Borrowed(text),
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
