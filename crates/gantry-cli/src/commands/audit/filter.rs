//! Which calls are looked for.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use clap::Args;
use gantry_gateway::{NameStyle, glob};
use gantry_protocol::timestamp;
use gantry_store::audit_log::SegmentFile;

use crate::commands::audit::row::Record;
use crate::exit::{Code, Exit};

/// Which calls are looked for, as they are typed.
#[derive(Debug, Default, Args)]
pub(crate) struct FilterOptions {
    /// Principal; `*` is a wildcard here and in the next three.
    #[arg(long, value_name = "NAME")]
    principal: Option<String>,

    /// Tool, resource or prompt.
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,

    /// Upstream server.
    #[arg(long, value_name = "NAME")]
    server: Option<String>,

    /// Outcome: `ok`, `given up`, `input required`, or an error type.
    #[arg(long, value_name = "WORD")]
    outcome: Option<String>,

    /// Start: a time such as 2026-11-16T07:30 in UTC, or an age such as 2h.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// End: a time or an age.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,

    /// Text anywhere in the record.
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
}

/// Which calls are looked for.
#[derive(Debug, Default)]
pub(crate) struct Filter {
    principal: Option<String>,
    tool: Option<String>,
    server: Option<String>,
    outcome: Option<String>,
    since: Option<String>,
    until: Option<String>,
    text: Option<String>,
}

impl FilterOptions {
    /// Reads what was typed.
    pub(crate) fn read(&self) -> Result<Filter, Exit> {
        let now = SystemTime::now();
        let moment =
            |text: &Option<String>| text.as_deref().map(|text| moment(text, now)).transpose();
        Ok(Filter {
            principal: self.principal.clone(),
            tool: self.tool.clone(),
            server: self.server.clone(),
            outcome: self.outcome.clone(),
            since: moment(&self.since)?,
            until: moment(&self.until)?,
            text: self.text.clone(),
        })
    }
}

impl Filter {
    /// Whether a volume was written late enough to hold what is looked for.
    pub(crate) fn may_be_in(&self, segment: &SegmentFile) -> bool {
        let written = timestamp::write(segment.written + Duration::from_secs(1));
        self.since.as_ref().is_none_or(|since| written >= *since)
    }

    /// Whether a call is looked for.
    pub(crate) fn fits(&self, record: &Record) -> bool {
        let fits = |pattern: &Option<String>, text: &dyn Fn() -> String| {
            pattern.as_ref().is_none_or(|pattern| glob::matches(pattern, &text()))
        };
        // Moments are texts of one length, so that they sort as what they say.
        self.since.as_ref().is_none_or(|since| record.at >= *since)
            && self.until.as_ref().is_none_or(|until| record.at <= *until)
            && self.text.as_ref().is_none_or(|text| record.object.as_str().contains(text))
            && fits(&self.principal, &|| record.text("principal"))
            && (fits(&self.tool, &|| record.target())
                || fits(&self.tool, &|| NameStyle::default().fit(&record.target())))
            && fits(&self.server, &|| record.text("server"))
            && fits(&self.outcome, &|| record.text("outcome"))
    }
}

/// A moment, or how long ago, as the record writes it.
fn moment(text: &str, now: SystemTime) -> Result<String, Exit> {
    let read = timestamp::read(text).or_else(|| now.checked_sub(length(text)?));
    read.map(timestamp::write).ok_or_else(|| {
        let hint = "write 2026-11-16, 2026-11-16T07:30 (in UTC), or how long ago: 30s, 10m, 2h, 7d";
        Exit::new(Code::Usage, format!("`{text}` is not a time")).hint(hint)
    })
}

fn length(text: &str) -> Option<Duration> {
    let unit = text.chars().last()?;
    let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        _ => return None,
    };
    number.checked_mul(seconds).map(Duration::from_secs)
}

/// What is said of a call whose gateway was gone before its end.
pub(crate) const UNKNOWN: &str = "unknown: the gateway stopped";

/// What is said of a call that is not over.
const UNDER_WAY: &str = "under way";

/// Calls that have begun and not ended, by their number, and whether their program lives.
#[derive(Debug, Default)]
pub(crate) struct Join(BTreeMap<String, (Record, bool)>);

impl Join {
    /// Takes a line; gives the call when it is over.
    pub(crate) fn add(&mut self, record: Record, is_open: bool) -> Option<Record> {
        if record.is_begun {
            self.0.insert(record.call.clone(), (record, is_open));
            return None;
        }
        self.0.remove(&record.call);
        Some(record)
    }

    /// The calls of which no end is known, in the order in which they began.
    pub(crate) fn unfinished(self) -> impl Iterator<Item = Record> {
        let mut records: Vec<_> = self.0.into_values().collect();
        records.sort_by(|one, other| one.0.at.cmp(&other.0.at));
        let told = |(record, is_open): (Record, bool)| {
            record.ended(if is_open { UNDER_WAY } else { UNKNOWN })
        };
        records.into_iter().map(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits() {
        let members = r#""at":"2026-11-16T07:30:00.000Z","call":"a-1","phase":"ended","principal":"local","tool":"text.count","server":"docs","outcome":"ok""#;
        let record = Record::parse(members.as_bytes()).expect("a record");
        type Set = fn(&mut FilterOptions);
        let cases: [(&str, Set, bool); 12] = [
            ("anything", |_| {}, true),
            ("principal", |it| it.principal = Some("local".to_owned()), true),
            ("another", |it| it.principal = Some("other".to_owned()), false),
            ("tool", |it| it.tool = Some("text.*".to_owned()), true),
            ("another tool", |it| it.tool = Some("text".to_owned()), false),
            ("server", |it| it.server = Some("docs".to_owned()), true),
            ("outcome", |it| it.outcome = Some("given up".to_owned()), false),
            ("since", |it| it.since = Some("2026-11-16T07:30".to_owned()), true),
            ("later", |it| it.since = Some("2026-11-16T07:31".to_owned()), false),
            ("until", |it| it.until = Some("2026-11-16".to_owned()), false),
            ("text", |it| it.text = Some("text.count".to_owned()), true),
            ("other text", |it| it.text = Some("a-2".to_owned()), false),
        ];
        for (case, set, expected) in cases {
            let mut options = FilterOptions::default();
            set(&mut options);
            let filter = options.read().expect("it is in order");
            assert_eq!(filter.fits(&record), expected, "{case}");
        }
    }

    #[test]
    fn moments() {
        let now = timestamp::read("2026-11-16T07:30:00Z").expect("a moment");
        let cases = [
            ("30s", Some("2026-11-16T07:29:30.000Z")),
            ("10m", Some("2026-11-16T07:20:00.000Z")),
            ("2h", Some("2026-11-16T05:30:00.000Z")),
            ("1d", Some("2026-11-15T07:30:00.000Z")),
            ("2026-11-16", Some("2026-11-16T00:00:00.000Z")),
            ("yesterday", None),
            ("1x", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(moment(text, now).ok().as_deref(), expected, "{text}");
        }
    }
}

#[cfg(test)]
mod join_tests {
    use super::*;

    fn record(call: &str, phase: &str) -> Record {
        let members = format!("\"at\":\"2026\",\"call\":\"{call}\",\"phase\":\"{phase}\"");
        Record::parse(members.as_bytes()).expect("a record")
    }

    #[test]
    fn a_call_is_shown_once() {
        let mut join = Join::default();
        assert!(join.add(record("a", "begun"), false).is_none());
        assert!(join.add(record("b", "begun"), true).is_none());
        assert!(join.add(record("c", "begun"), false).is_none());
        assert_eq!(join.add(record("a", "ended"), false).map(|it| it.call).as_deref(), Some("a"));
        assert_eq!(join.add(record("d", "ended"), false).map(|it| it.call).as_deref(), Some("d"));
        let left: Vec<_> = join.unfinished().map(|it| (it.text("outcome"), it.call)).collect();
        let expected = [(UNDER_WAY, "b"), (UNKNOWN, "c")];
        assert_eq!(left, expected.map(|(outcome, call)| (outcome.to_owned(), call.to_owned())));
    }
}
