//! `standby`: whether programs are started ahead, and how many at most.

use std::time::Duration;

use gantry_gateway::{LONGEST_NAME, NameStyle, SHORTEST_NAME};
use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};
use gantry_providers::units;

use crate::config::ConfigError;
use crate::config::read::Reader;

const STANDBY_KEYS: [&str; 4] = ["total", "perTool", "memory", "idle"];

/// Whether programs are started ahead; what is not said stays as it is by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Standby {
    /// Whether at all.
    pub enabled: bool,
    /// Processes that may wait at once, over all tools.
    pub total: Option<usize>,
    /// Processes that may wait at once for one tool.
    pub per_tool: Option<usize>,
    /// Bytes of memory that all of them together may hold.
    pub memory: Option<u64>,
    /// How long a tool must not have been called until no process waits for it any more.
    pub idle: Option<Duration>,
}

impl Standby {
    /// The value as it stands in a configuration.
    pub fn to_json(&self) -> RawJson {
        let settings = ObjectWriter::new()
            .value_some("total", self.total)
            .value_some("perTool", self.per_tool)
            .value_some("memory", self.memory)
            .value_some("idle", self.idle.map(|idle| idle.as_millis() as u64))
            .finish();
        if settings == RawJson::EMPTY_OBJECT {
            return RawJson::from_static(if self.enabled { "true" } else { "false" });
        }
        settings
    }
}

pub(crate) fn read_standby(reader: &Reader<'_>, value: &RawJson) -> Result<Standby, ConfigError> {
    match value.kind() {
        JsonKind::Boolean => {
            Ok(Standby { enabled: value.as_str() == "true", ..Standby::default() })
        }
        JsonKind::Object => {
            reader.check_keys(value, &STANDBY_KEYS, &[])?;
            Ok(Standby {
                enabled: true,
                total: reader.value(value, "total", "a number of processes", RawJson::read)?,
                per_tool: reader.value(value, "perTool", "a number of processes", RawJson::read)?,
                memory: reader.value(
                    value,
                    "memory",
                    "bytes, or a text such as \"512MiB\"",
                    units::size,
                )?,
                idle: reader.value(value, "idle", "milliseconds, or \"60s\"", units::duration)?,
            })
        }
        _ => Err(reader.form(value, "standby", "true, false, or an object with settings")),
    }
}

const TOOL_NAME_KEYS: [&str; 2] = ["dots", "length"];

pub(crate) fn read_tool_names(
    reader: &Reader<'_>,
    value: &RawJson,
) -> Result<NameStyle, ConfigError> {
    if !value.is_object() {
        return Err(reader.form(value, "toolNames", "an object with `dots` and `length`"));
    }
    reader.check_keys(value, &TOOL_NAME_KEYS, &[])?;
    let usual = NameStyle::default();
    let range = SHORTEST_NAME..=LONGEST_NAME;
    let length = |value: &RawJson| value.read().filter(|length| range.contains(length));
    Ok(NameStyle {
        dots: reader.value(value, "dots", "true or false", RawJson::read)?.unwrap_or(usual.dots),
        length: reader
            .value(value, "length", "a number of characters from 18 to 128", length)?
            .unwrap_or(usual.length),
    })
}

/// The value as it stands in a configuration.
pub(crate) fn to_json(style: &NameStyle) -> RawJson {
    ObjectWriter::new().value("dots", &style.dots).value("length", &style.length).finish()
}
