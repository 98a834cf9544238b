//! `limits`: how often, how many at once, how large and how much in a day.

use gantry_policy::{
    BreakerSettings, ConcurrencySettings, DailySettings, DefaultRate, LimitSettings, Patterns, Rate,
};
use gantry_protocol::RawJson;
use gantry_providers::units;

use super::ConfigError;
use super::read::Reader;

const KEYS: [&str; 12] = [
    "default",
    "perTool",
    "perServer",
    "perPrincipal",
    "overall",
    "refused",
    "concurrency",
    "arguments",
    "response",
    "page",
    "daily",
    "breaker",
];
const CONCURRENCY: [&str; 7] =
    ["default", "perTool", "perServer", "perPrincipal", "overall", "queue", "wait"];
const DAILY: [&str; 2] = ["perTool", "perPrincipal"];
const BREAKER: [&str; 4] = ["failures", "window", "wait", "longest"];

const RATE: &str = "a rate such as \"60/min\", \"10/s\" or \"1000/h burst 50\", or \"off\"";
const NUMBER: &str = "a number above zero, or \"off\"";
const SIZE: &str = "bytes, a text such as \"512MiB\", or \"off\"";
const TIME: &str = "milliseconds, or \"60s\"";

/// The limits on calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallLimits {
    /// What they mean.
    pub settings: LimitSettings,
    /// Bytes of a page of a list; in force from the start of the gateway on.
    pub page: Option<usize>,
    /// What the configuration says.
    pub written: RawJson,
}

pub(super) fn read(reader: &Reader<'_>, value: &RawJson) -> Result<CallLimits, ConfigError> {
    check(reader, value, "limits", &KEYS)?;
    let mut settings = LimitSettings::default();
    if let Some(rate) = reader.value(value, "default", RATE, rate)? {
        settings.default = rate.map_or(DefaultRate::Off, DefaultRate::Every);
    }
    settings.per_tool = patterns(reader, value, "perTool", RATE, rate)?;
    settings.per_server = patterns(reader, value, "perServer", RATE, rate)?;
    settings.per_principal = patterns(reader, value, "perPrincipal", RATE, rate)?;
    settings.overall = reader.value(value, "overall", RATE, rate)?.flatten();
    if let Some(rate) = reader.value(value, "refused", RATE, rate)? {
        settings.refused = rate;
    }
    settings.arguments = reader.value(value, "arguments", SIZE, or_off(units::size))?.flatten();
    settings.response = reader.value(value, "response", SIZE, or_off(units::size))?.flatten();
    if let Some(value) = value.get("concurrency") {
        settings.concurrency = concurrency(reader, &value)?;
    }
    if let Some(value) = value.get("daily") {
        check(reader, &value, "daily", &DAILY)?;
        settings.daily = DailySettings {
            per_principal: patterns(reader, &value, "perPrincipal", NUMBER, number)?,
            per_tool: patterns(reader, &value, "perTool", NUMBER, number)?,
        };
    }
    if let Some(value) = value.get("breaker") {
        settings.breaker = breaker(reader, &value)?;
    }
    let page = reader.value(value, "page", "bytes, or a text such as \"1MiB\"", units::size)?;
    let page = page.map(|it| usize::try_from(it).unwrap_or(usize::MAX));
    Ok(CallLimits { settings, page, written: value.clone() })
}

fn concurrency(reader: &Reader<'_>, value: &RawJson) -> Result<ConcurrencySettings, ConfigError> {
    check(reader, value, "concurrency", &CONCURRENCY)?;
    let usual = ConcurrencySettings::default();
    let mut callers = members(reader, value, "perPrincipal", NUMBER, number)?;
    let default = reader.value(value, "default", NUMBER, number)?;
    if !callers.iter().any(|(pattern, _)| pattern == "*") {
        let default = default.unwrap_or(Some(ConcurrencySettings::PER_PRINCIPAL));
        callers.push(("*".to_owned(), default));
    }
    Ok(ConcurrencySettings {
        per_principal: Patterns::new(callers),
        per_tool: patterns(reader, value, "perTool", NUMBER, number)?,
        per_server: patterns(reader, value, "perServer", NUMBER, number)?,
        overall: reader.value(value, "overall", NUMBER, number)?.flatten(),
        queue: reader.value(value, "queue", "a number", RawJson::read)?.unwrap_or(usual.queue),
        wait: reader.value(value, "wait", TIME, units::duration)?.unwrap_or(usual.wait),
    })
}

fn breaker(reader: &Reader<'_>, value: &RawJson) -> Result<BreakerSettings, ConfigError> {
    let usual = BreakerSettings::default();
    if is_off(value) {
        return Ok(BreakerSettings { failures: 0, ..usual });
    }
    check(reader, value, "breaker", &BREAKER)?;
    let time = |key| reader.value(value, key, TIME, units::duration);
    let failures = |value: &RawJson| value.read().filter(|number: &u32| *number > 0);
    let failures = reader.value(value, "failures", "a number above zero", failures)?;
    Ok(BreakerSettings {
        failures: failures.unwrap_or(usual.failures),
        window: time("window")?.unwrap_or(usual.window),
        wait: time("wait")?.unwrap_or(usual.wait),
        longest: time("longest")?.unwrap_or(usual.longest),
        ..usual
    })
}

fn check(
    reader: &Reader<'_>,
    value: &RawJson,
    key: &str,
    known: &[&str],
) -> Result<(), ConfigError> {
    if !value.is_object() {
        return Err(reader.form(value, key, "an object with limits"));
    }
    reader.check_keys(value, known, &[])
}

/// Values by pattern, under a key.
fn patterns<T: Clone>(
    reader: &Reader<'_>,
    object: &RawJson,
    key: &str,
    expected: &'static str,
    read: impl Fn(&RawJson) -> Option<T>,
) -> Result<Patterns<T>, ConfigError> {
    members(reader, object, key, expected, read).map(Patterns::new)
}

fn members<T>(
    reader: &Reader<'_>,
    object: &RawJson,
    key: &str,
    expected: &'static str,
    read: impl Fn(&RawJson) -> Option<T>,
) -> Result<Vec<(String, T)>, ConfigError> {
    let Some(value) = object.get(key) else { return Ok(Vec::new()) };
    if !value.is_object() {
        return Err(reader.form(&value, key, "an object: a name or pattern, and its limit"));
    }
    let mut found: Vec<(String, T)> = Vec::new();
    for member in value.members() {
        let (name, value) = (member.key().into_owned(), member.value());
        if found.iter().any(|(known, _)| *known == name) {
            let place = reader.source.place_of_key(&name, &value);
            return Err(ConfigError::Doubled { place, key: name });
        }
        let limit = read(&value).ok_or_else(|| reader.form(&value, &name, expected))?;
        found.push((name, limit));
    }
    Ok(found)
}

fn rate(value: &RawJson) -> Option<Option<Rate>> {
    or_off(|value| value.to_text()?.parse().ok())(value)
}

fn number<T>(value: &RawJson) -> Option<Option<T>>
where
    T: serde::de::DeserializeOwned + PartialOrd + Default,
{
    or_off(|value| value.read().filter(|number: &T| *number > T::default()))(value)
}

/// Reads a value, or `off`.
fn or_off<T>(read: impl Fn(&RawJson) -> Option<T>) -> impl Fn(&RawJson) -> Option<Option<T>> {
    move |value| if is_off(value) { Some(None) } else { read(value).map(Some) }
}

fn is_off(value: &RawJson) -> bool {
    value.as_text() == Some("off")
}
