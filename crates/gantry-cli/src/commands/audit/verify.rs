//! `gantry audit verify`: whether the record is as it was written.

use gantry_store::audit_log::{Condition, Report, SegmentReport, verify};
use serde_json::{Value, json};

use crate::commands::audit::{VerifyOptions, failed};
use crate::exit::{Code, Exit};
use crate::render::{self, Style, Table, one_line};
use crate::runtime::{audit_log, policies};
use crate::tool_sources;

pub(crate) async fn run(options: &VerifyOptions) -> Result<(), Exit> {
    let config = tool_sources::configuration(options.config.as_deref())?;
    let anchors = audit_log::anchors(&policies::storage(config.as_ref()).await?);
    if options.reset_anchor {
        let cleared = anchors.clear().await;
        cleared.map_err(|error| Exit::new(Code::Failed, error.to_string()))?;
    }
    // Before the log, which may be written meanwhile: it is never behind its anchors.
    let known = audit_log::known(&anchors).await?;
    let report = verify(&audit_log::folder()?, &audit_log::key()?, &known).map_err(failed)?;
    match options.json {
        true => render::print_json(&format!("{:#}", to_json(&report)))?,
        false => render::print(&to_text(&report))?,
    }
    match report.is_sound() {
        true => Ok(()),
        false => Err(Exit::new(Code::Failed, "the audit log was changed")
            .hint("docs/audit.md explains each finding")),
    }
}

fn to_text(report: &Report) -> String {
    let style = Style::of_stdout();
    let mut table = Table::default();
    for segment in &report.segments {
        let size = format!("{} lines, {} bytes", segment.lines, segment.bytes);
        table.row([
            &verdict(segment.findings.is_empty()),
            &segment.name,
            &size,
            condition(segment),
        ]);
        for finding in &segment.findings {
            table.row(["", "", "", &one_line(&finding.to_string())]);
        }
    }
    for finding in &report.index {
        table.row([&verdict(false), "index.jsonl", "", &finding.to_string()]);
    }
    let lines: u64 = report.segments.iter().map(|it| it.lines).sum();
    let segments = report.segments.len();
    let sum = match report.is_sound() {
        true => format!("{segments} segments with {lines} lines: valid"),
        false => format!("{segments} segments with {lines} lines: INVALID"),
    };
    let mut notes: Vec<String> = report.removals.iter().map(ToString::to_string).collect();
    if !report.is_anchored {
        // Without a log too: somebody may have removed both.
        let lost = if segments > 0 { "a cut end" } else { "a log that was removed" };
        notes.push(format!("the store does not know how far the log was: {lost} is not found"));
    }
    let sum = notes.iter().map(|note| one_line(note)).chain([sum]).collect::<Vec<_>>().join("\n");
    let table = table.to_text(style);
    if table.is_empty() { sum } else { format!("{table}\n{sum}") }
}

fn verdict(is_sound: bool) -> String {
    if is_sound { "ok" } else { "WRONG" }.to_owned()
}

fn condition(segment: &SegmentReport) -> &'static str {
    match segment.condition {
        Condition::Open => "being written",
        Condition::Closed => "closed",
        Condition::Left => "ended with its process",
        Condition::Unsealed => "ended with its process; its end is not recorded yet",
        Condition::Absent => "not there",
    }
}

fn to_json(report: &Report) -> Value {
    let findings = |findings: &[gantry_store::audit_log::Finding]| -> Vec<String> {
        findings.iter().map(ToString::to_string).collect()
    };
    let segments = report.segments.iter().map(|segment| {
        json!({
            "volume": segment.name, "lines": segment.lines, "bytes": segment.bytes,
            "condition": condition(segment), "findings": findings(&segment.findings),
        })
    });
    let removed = report.removals.iter().map(|it| {
        json!({
            "why": it.why, "segments": it.segments, "first": it.first, "last": it.last,
            "lines": it.lines, "bytes": it.bytes, "from": it.from, "to": it.to,
            "removed_first": it.removed_first, "removed_last": it.removed_last,
        })
    });
    json!({
        "sound": report.is_sound(),
        "volumes": segments.collect::<Vec<_>>(),
        "index": findings(&report.index),
        "removed": removed.collect::<Vec<_>>(),
        "anchored": report.is_anchored,
    })
}
