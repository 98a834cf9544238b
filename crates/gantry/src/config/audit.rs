//! `audit`: what is recorded of calls, and how long that is kept.

use std::time::Duration;

use gantry_policy::{AuditMode, AuditSettings, AuditedArguments};
use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};
use gantry_providers::tools::manifest::{size, timeout};

use super::ConfigError;
use super::read::Reader;

const KEYS: [&str; 5] = ["mode", "arguments", "lists", "retain", "size"];

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
}

impl AuditConfig {
    /// What is recorded, with the defaults where nothing is said.
    pub fn settings(&self) -> AuditSettings {
        let usual = AuditSettings::default();
        AuditSettings {
            mode: self.mode.unwrap_or(usual.mode),
            arguments: self.arguments.unwrap_or(usual.arguments),
            lists: self.lists.unwrap_or(usual.lists),
            ..usual
        }
    }

    /// The value as it stands in a configuration.
    pub(super) fn to_json(&self) -> RawJson {
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
        let retain = self.retain.map(|retain| format!("{}s", retain.as_secs()));
        ObjectWriter::new()
            .value_some("mode", mode)
            .value_some("arguments", arguments)
            .value_some("lists", self.lists)
            .value_some("retain", retain)
            .value_some("size", self.size)
            .finish()
    }
}

pub(super) fn read(reader: &Reader<'_>, value: &RawJson) -> Result<AuditConfig, ConfigError> {
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
            Ok(AuditConfig {
                mode: reader.value(value, "mode", MODES, mode)?,
                arguments: reader.value(value, "arguments", kinds, arguments)?,
                lists: reader.value(value, "lists", "true or false", RawJson::read)?,
                retain: reader.value(value, "retain", "a time such as \"90d\"", days)?,
                size: reader.value(
                    value,
                    "size",
                    "bytes, or a text such as \"512MiB\"",
                    size::read,
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
        None => timeout::read(value),
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
            (r#"{"lists": 1}"#, "`lists` has the wrong form"),
        ];
        for (given, expected) in cases {
            let error = parse(given).expect_err(given);
            assert!(error.contains(expected), "{given}: {error}");
        }
    }
}
