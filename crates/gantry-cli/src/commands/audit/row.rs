//! A call in a line, for people.

use gantry::RawJson;
use gantry_protocol::JsonLimits;

use crate::exit::Exit;
use crate::render::{self, Style, one_line};

/// How wide each column is, but the last.
const WIDTHS: [usize; 5] = [23, 12, 32, 22, 10];

/// Writes a call to standard output; false when the reader has seen enough.
pub(crate) fn print(record: &Record) -> Result<bool, Exit> {
    render::stream_styled(&format!("{}\n", line(record, Style::of_stdout())))
}

fn line(record: &Record, style: Style) -> String {
    let outcome = record.text("outcome");
    let at = record.at.replace('T', " ");
    let target = match record.target() {
        target if target.is_empty() => record.text("method"),
        target => target,
    };
    let took = record.object.get("took_us").and_then(|it| it.read::<u64>());
    let took = took.map_or_else(String::new, duration);
    let cells = [at.trim_end_matches('Z'), &record.text("principal"), &target, &outcome, &took];
    let mut line = String::new();
    for (column, (cell, width)) in cells.into_iter().zip(WIDTHS).enumerate() {
        let cell = one_line(cell);
        let padding = " ".repeat(width.saturating_sub(cell.chars().count()) + 2);
        let dressed = match column {
            2 => style.bold(&cell),
            3 if outcome == "ok" => style.green(&cell),
            3 => style.red(&cell),
            _ => style.dim(&cell),
        };
        line.push_str(&dressed);
        line.push_str(&padding);
    }
    let decision = record.object.get("decision");
    let part = |key| decision.as_ref().and_then(|it| it.get(key)?.to_text()).unwrap_or_default();
    let decided = [part("policy"), part("rule")].join(" ");
    line.push_str(&one_line(&decided));
    line.trim_end().to_owned()
}

fn duration(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} us"),
        1_000..1_000_000 => format!("{:.1} ms", micros as f64 / 1e3),
        _ => format!("{:.1} s", micros as f64 / 1e6),
    }
}

/// A record of a call.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// All of it, without number and code.
    pub(crate) object: RawJson,
    /// When.
    pub(crate) at: String,
    /// Which call.
    pub(crate) call: String,
    /// Whether the call has only begun.
    pub(crate) is_begun: bool,
}

impl Record {
    /// Reads the members of a line; none if it tells of no call, and of no calls that were counted.
    pub(crate) fn parse(members: &[u8]) -> Option<Self> {
        let object = [b"{", members, b"}"].concat();
        let object = RawJson::parse(object, JsonLimits::default()).ok()?;
        let text = |key: &str| object.get(key)?.to_text();
        let at = text("at")?;
        if text("event").as_deref() == Some("suppressed") {
            let call = format!("suppressed {} {at}", text("principal").unwrap_or_default());
            return Some(Self { at, call, is_begun: false, object }.counted());
        }
        let (call, phase) = (text("call")?, text("phase")?);
        Some(Self { at, call, is_begun: phase == "begun", object })
    }

    /// A member that is a text; an empty one if it is not there.
    pub(crate) fn text(&self, key: &str) -> String {
        self.object.get(key).and_then(|it| it.to_text()).unwrap_or_default()
    }

    /// What the call was for.
    pub(crate) fn target(&self) -> String {
        let names = ["tool", "resource", "prompt", "target"].into_iter();
        names.map(|key| self.text(key)).find(|it| !it.is_empty()).unwrap_or_default()
    }

    /// The same, with an outcome that says how many calls it stands for.
    fn counted(self) -> Self {
        let calls = self.object.get("suppressed").and_then(|it| it.read::<u64>()).unwrap_or(0);
        self.ended(&format!("{calls} refused calls suppressed"))
    }

    /// The same, with an outcome that was not written.
    pub(crate) fn ended(mut self, outcome: &str) -> Self {
        self.object = self.object.edit().set("outcome", RawJson::string(outcome)).apply();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_in_a_line() {
        let members = r#""at":"2026-11-16T07:30:00.000Z","call":"a-1","phase":"ended","principal":"local","tool":"text.count","decision":{"allowed":false,"policy":"rules","rule":"no\u001b[31m"},"outcome":"PermissionError","took_us":1500"#;
        let record = Record::parse(members.as_bytes()).expect("a record");
        let words: Vec<String> = line(&record, Style::PLAIN)
            .split("  ")
            .map(|it| it.trim().to_owned())
            .filter(|it| !it.is_empty())
            .collect();
        let expected = [
            "2026-11-16 07:30:00.000",
            "local",
            "text.count",
            "PermissionError",
            "1.5 ms",
            "rules no⟨U+001B⟩[31m",
        ];
        assert_eq!(words, expected);
    }
}
