//! `audit`: what is recorded of calls, and how long that is kept.

use std::time::Duration;

use gantry_policy::{AuditMode, AuditSettings, AuditedArguments, WhenFull};
use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};
use gantry_providers::units;

use crate::config::ConfigError;
use crate::config::read::Reader;

const KEYS: [&str; 11] = [
    "mode",
    "arguments",
    "lists",
    "retain",
    "size",
    "minAge",
    "whenFull",
    "nameBytes",
    "lineBytes",
    "summary",
    "anchor",
];

/// The shortest line that has room for every member.
const SHORTEST_LINE: usize = 4096;
/// The shortest name that still says something.
const SHORTEST_NAME: usize = 16;

const MODES: &str = "\"batched\", \"strict\" or \"off\"";

/// What is recorded; what is not said stays as it is by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditConfig {
    /// Whether calls wait for their record.
    pub mode: Option<AuditMode>,
    /// What is kept of arguments.
    pub arguments: Option<AuditedArguments>,
    /// Whether lists are recorded too.
    pub lists: Option<bool>,
    /// How long records are kept.
    pub retain: Option<Duration>,
    /// How many bytes the whole record may have.
    pub size: Option<u64>,
    /// How old a segment must be before it is removed for size.
    pub min_age: Option<Duration>,
    /// What happens to calls when the log is larger than it may be.
    pub when_full: Option<WhenFull>,
    /// Bytes of a name that a client chose.
    pub name: Option<usize>,
    /// Bytes of a line.
    pub line: Option<usize>,
    /// How often calls are counted in a line that are refused too often to have one each.
    pub summary: Option<Duration>,
    /// How often it is kept in the store how far the log is.
    pub anchor: Option<Duration>,
}

impl AuditConfig {
    /// What is recorded, with the defaults where nothing is said.
    pub fn settings(&self) -> AuditSettings {
        let usual = AuditSettings::default();
        AuditSettings {
            mode: self.mode.unwrap_or(usual.mode),
            arguments: self.arguments.unwrap_or(usual.arguments),
            lists: self.lists.unwrap_or(usual.lists),
            when_full: self.when_full.unwrap_or(usual.when_full),
            name: self.name.unwrap_or(usual.name),
            line: self.line.unwrap_or(usual.line),
            summary: self.summary.unwrap_or(usual.summary),
            anchor: self.anchor.unwrap_or(usual.anchor),
            ..usual
        }
    }

    /// The value as it stands in a configuration.
    pub(crate) fn to_json(&self) -> RawJson {
        let mode = self.mode.map(|mode| match mode {
            AuditMode::Off => "off",
            AuditMode::Batched => "batched",
            AuditMode::Strict => "strict",
        });
        let arguments = self.arguments.map(|arguments| match arguments {
            AuditedArguments::Digest => "digest",
            AuditedArguments::Redacted => "redacted",
            AuditedArguments::None => "none",
        });
        let when_full = self.when_full.map(|when_full| match when_full {
            WhenFull::Alarm => "alarm",
            WhenFull::Refuse => "refuse",
        });
        let seconds = |time: Option<Duration>| time.map(|time| format!("{}s", time.as_secs()));
        let millis = |time: Option<Duration>| time.map(|time| time.as_millis() as u64);
        ObjectWriter::new()
            .value_some("mode", mode)
            .value_some("arguments", arguments)
            .value_some("lists", self.lists)
            .value_some("retain", seconds(self.retain))
            .value_some("size", self.size)
            .value_some("minAge", seconds(self.min_age))
            .value_some("whenFull", when_full)
            .value_some("nameBytes", self.name)
            .value_some("lineBytes", self.line)
            .value_some("summary", millis(self.summary))
            .value_some("anchor", millis(self.anchor))
            .finish()
    }
}

pub(crate) fn read(reader: &Reader<'_>, value: &RawJson) -> Result<AuditConfig, ConfigError> {
    let mode = |value: &RawJson| AuditMode::parse(&value.to_text()?);
    match value.kind() {
        JsonKind::String => match mode(value) {
            Some(mode) => Ok(AuditConfig { mode: Some(mode), ..AuditConfig::default() }),
            None => Err(reader.form(value, "audit", MODES)),
        },
        JsonKind::Object => {
            reader.check_keys(value, &KEYS, &[])?;
            let arguments = |value: &RawJson| AuditedArguments::parse(&value.to_text()?);
            let kinds = "\"digest\", \"redacted\" or \"none\"";
            let when_full = |value: &RawJson| WhenFull::parse(&value.to_text()?);
            let bytes = |key, least| {
                let text = "bytes, not too few, or a text such as \"1KiB\"";
                let read = |value: &RawJson| usize::try_from(units::size(value)?).ok();
                reader.value(value, key, text, |value| read(value).filter(|it| *it >= least))
            };
            let time = |key| reader.value(value, key, "milliseconds, or \"60s\"", units::duration);
            Ok(AuditConfig {
                min_age: reader.value(value, "minAge", "a time such as \"7d\"", days)?,
                when_full: reader.value(value, "whenFull", "\"alarm\" or \"refuse\"", when_full)?,
                name: bytes("nameBytes", SHORTEST_NAME)?,
                line: bytes("lineBytes", SHORTEST_LINE)?,
                summary: time("summary")?,
                anchor: time("anchor")?,
                mode: reader.value(value, "mode", MODES, mode)?,
                arguments: reader.value(value, "arguments", kinds, arguments)?,
                lists: reader.value(value, "lists", "true or false", RawJson::read)?,
                retain: reader.value(value, "retain", "a time such as \"90d\"", days)?,
                size: reader.value(
                    value,
                    "size",
                    "bytes, or a text such as \"512MiB\"",
                    units::size,
                )?,
            })
        }
        _ => Err(reader.form(value, "audit", "\"batched\", \"strict\", \"off\", or an object")),
    }
}

/// A time in days, or in the units of other times.
fn days(value: &RawJson) -> Option<Duration> {
    let text = value.to_text()?;
    match text.strip_suffix('d').map(|days| days.trim().parse::<u64>()) {
        Some(days) => {
            days.ok()?.checked_mul(86_400).map(Duration::from_secs).filter(|it| !it.is_zero())
        }
        None => units::duration(value),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    fn parse(value: &str) -> Result<AuditConfig, String> {
        let text = format!("{{\"audit\": {value}}}");
        let config = Config::parse(Path::new("/g.json"), text.as_bytes(), &|_| None);
        config.map(|config| config.audit.expect("it is given")).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_said() {
        let cases = [
            ("\"strict\"", r#"{"mode":"strict"}"#),
            ("\"off\"", r#"{"mode":"off"}"#),
            ("{}", "{}"),
            (
                r#"{"mode": "batched", "arguments": "redacted", "lists": true, "retain": "2d", "size": "1MiB"}"#,
                r#"{"mode":"batched","arguments":"redacted","lists":true,"retain":"172800s","size":1048576}"#,
            ),
            (
                r#"{"minAge": "1d", "whenFull": "refuse", "nameBytes": 64, "lineBytes": "4KiB", "summary": "10s", "anchor": 500}"#,
                r#"{"minAge":"86400s","whenFull":"refuse","nameBytes":64,"lineBytes":4096,"summary":10000,"anchor":500}"#,
            ),
            (
                r#"{"retain": "12h", "arguments": "none"}"#,
                r#"{"arguments":"none","retain":"43200s"}"#,
            ),
        ];
        for (given, expected) in cases {
            assert_eq!(parse(given).expect(given).to_json().as_str(), expected, "{given}");
        }
    }

    #[test]
    fn what_is_wrong() {
        let cases = [
            ("1", "`audit` has the wrong form"),
            ("\"strikt\"", "`audit` has the wrong form"),
            (r#"{"mod": "off"}"#, "unknown key `mod`; write `mode`"),
            (r#"{"mode": "on"}"#, "`mode` has the wrong form"),
            (r#"{"arguments": "all"}"#, "`arguments` has the wrong form"),
            (r#"{"retain": "0d"}"#, "`retain` has the wrong form"),
            (r#"{"retain": "d"}"#, "`retain` has the wrong form"),
            (r#"{"size": 0}"#, "`size` has the wrong form"),
            (r#"{"minAge": 1}"#, "`minAge` has the wrong form"),
            (r#"{"whenFull": "stop"}"#, "`whenFull` has the wrong form"),
            (r#"{"nameBytes": 4}"#, "`nameBytes` has the wrong form"),
            (r#"{"lineBytes": "1KiB"}"#, "`lineBytes` has the wrong form"),
            (r#"{"anchor": "often"}"#, "`anchor` has the wrong form"),
            (r#"{"lists": 1}"#, "`lists` has the wrong form"),
        ];
        for (given, expected) in cases {
            let error = parse(given).expect_err(given);
            assert!(error.contains(expected), "{given}: {error}");
        }
    }
}
