//! `toolLimits`: what programs may use up.

use std::time::Duration;

use gantry_policy::{
    BreakerSettings, ConcurrencySettings, DailySettings, DefaultRate, LimitSettings, Patterns, Rate,
};
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use gantry_providers::ToolSettings;
use gantry_providers::units;
use gantry_server::Settings;

use crate::config::ConfigError;
use crate::config::read::Reader;

const TOOL_LIMIT_KEYS: [&str; 11] = [
    "strict",
    "children",
    "queue",
    "timeout",
    "memory",
    "stdout",
    "stderr",
    "grace",
    "olderVersions",
    "rescan",
    "resolve",
];

/// What programs may use up; what is not said stays as it is by default. The settings of tools say
/// what each means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is documented where it is applied to")]
pub struct ToolLimits {
    pub strict: Option<bool>,
    pub children: Option<usize>,
    pub queue: Option<Duration>,
    pub timeout: Option<Duration>,
    pub memory: Option<u64>,
    pub stdout: Option<usize>,
    pub stderr: Option<usize>,
    pub grace: Option<Duration>,
    pub older_versions: Option<usize>,
    pub rescan: Option<Duration>,
    pub resolve: Option<Duration>,
}

impl ToolLimits {
    /// Puts what is said in place of the defaults.
    pub fn apply(&self, settings: &mut ToolSettings) {
        fn set<T: Copy>(setting: &mut T, said: Option<T>) {
            *setting = said.unwrap_or(*setting);
        }
        set(&mut settings.strict, self.strict);
        set(&mut settings.children, self.children);
        set(&mut settings.queue, self.queue);
        set(&mut settings.timeout, self.timeout);
        set(&mut settings.memory, self.memory.map(Some));
        set(&mut settings.child.stdout, self.stdout);
        set(&mut settings.child.stderr, self.stderr);
        set(&mut settings.child.grace, self.grace);
        set(&mut settings.older_versions, self.older_versions);
        set(&mut settings.rescan, self.rescan);
        set(&mut settings.resolve, self.resolve);
    }
}

pub(crate) fn read_tool_limits(
    reader: &Reader<'_>,
    value: &RawJson,
) -> Result<ToolLimits, ConfigError> {
    if !value.is_object() {
        return Err(reader.form(value, "toolLimits", "an object with limits"));
    }
    reader.check_keys(value, &TOOL_LIMIT_KEYS, &[])?;
    let time = |key| reader.value(value, key, "milliseconds, or \"60s\"", units::duration);
    let bytes = |key| reader.value(value, key, "bytes, or a text such as \"512MiB\"", units::size);
    let length = |key| Ok(bytes(key)?.map(|it| usize::try_from(it).unwrap_or(usize::MAX)));
    let above_zero = |value: &RawJson| value.read().filter(|number: &usize| *number > 0);
    Ok(ToolLimits {
        strict: reader.value(value, "strict", "true or false", RawJson::read)?,
        children: reader.value(value, "children", "a number above zero", above_zero)?,
        queue: time("queue")?,
        timeout: time("timeout")?,
        memory: bytes("memory")?,
        stdout: length("stdout")?,
        stderr: length("stderr")?,
        grace: time("grace")?,
        older_versions: reader.value(value, "olderVersions", "a number", RawJson::read)?,
        rescan: time("rescan")?,
        resolve: time("resolve")?,
    })
}

const CLIENT_LIMIT_KEYS: [&str; 12] = [
    "share",
    "sessions",
    "sessionIdle",
    "streams",
    "watched",
    "parked",
    "parkedPerPrincipal",
    "tasks",
    "tasksPerPrincipal",
    "taskResults",
    "held",
    "replay",
];

/// What clients may hold; what is not said stays as it is by default. The settings of the server
/// say what each means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is documented where it is applied to")]
pub struct ClientLimits {
    pub share: Option<u8>,
    pub sessions: Option<usize>,
    pub session_idle: Option<Duration>,
    pub streams: Option<usize>,
    pub watched: Option<usize>,
    pub parked: Option<usize>,
    pub parked_per_principal: Option<usize>,
    pub tasks: Option<usize>,
    pub tasks_per_principal: Option<usize>,
    pub task_results: Option<usize>,
    pub held: Option<usize>,
    pub replay: Option<usize>,
}

impl ClientLimits {
    /// Puts what is said in place of the defaults.
    pub fn apply(&self, settings: &mut Settings) {
        fn set<T: Copy>(setting: &mut T, said: Option<T>) {
            *setting = said.unwrap_or(*setting);
        }
        set(&mut settings.principal_share, self.share);
        set(&mut settings.sessions, self.sessions);
        set(&mut settings.session_idle, self.session_idle);
        set(&mut settings.streams, self.streams);
        set(&mut settings.watched_total, self.watched);
        set(&mut settings.parked, self.parked);
        set(&mut settings.parked_of_principal, self.parked_per_principal);
        set(&mut settings.tasks, self.tasks);
        set(&mut settings.tasks_of_principal, self.tasks_per_principal);
        set(&mut settings.task_store, self.task_results);
        set(&mut settings.task_memory, self.task_results);
        set(&mut settings.held, self.held);
        set(&mut settings.replay_total, self.replay);
    }

    pub(crate) fn to_json(&self) -> Option<RawJson> {
        if *self == Self::default() {
            return None;
        }
        let idle = self.session_idle.map(|idle| idle.as_millis());
        let json = ObjectWriter::new()
            .value_some("share", self.share)
            .value_some("sessions", self.sessions)
            .value_some("sessionIdle", idle)
            .value_some("streams", self.streams)
            .value_some("watched", self.watched)
            .value_some("parked", self.parked)
            .value_some("parkedPerPrincipal", self.parked_per_principal)
            .value_some("tasks", self.tasks)
            .value_some("tasksPerPrincipal", self.tasks_per_principal)
            .value_some("taskResults", self.task_results)
            .value_some("held", self.held)
            .value_some("replay", self.replay);
        Some(json.finish())
    }
}

pub(crate) fn read_client_limits(
    reader: &Reader<'_>,
    value: &RawJson,
) -> Result<ClientLimits, ConfigError> {
    if !value.is_object() {
        return Err(reader.form(value, "clientLimits", "an object with limits"));
    }
    reader.check_keys(value, &CLIENT_LIMIT_KEYS, &[])?;
    let percent = |value: &RawJson| value.read().filter(|share| (1..=100).contains(share));
    let above_zero = |value: &RawJson| value.read().filter(|number: &usize| *number > 0);
    let number = |key| reader.value(value, key, "a number above zero", above_zero);
    let bytes = |key| {
        let bytes = reader.value(value, key, "bytes, or a text such as \"512MiB\"", units::size)?;
        Ok(bytes.map(|it| usize::try_from(it).unwrap_or(usize::MAX)))
    };
    Ok(ClientLimits {
        share: reader.value(value, "share", "a percentage from 1 to 100", percent)?,
        sessions: number("sessions")?,
        session_idle: reader.value(
            value,
            "sessionIdle",
            "milliseconds, or \"60s\"",
            units::duration,
        )?,
        streams: number("streams")?,
        watched: number("watched")?,
        parked: number("parked")?,
        parked_per_principal: number("parkedPerPrincipal")?,
        tasks: number("tasks")?,
        tasks_per_principal: number("tasksPerPrincipal")?,
        task_results: bytes("taskResults")?,
        held: bytes("held")?,
        replay: bytes("replay")?,
    })
}

const CALL_LIMIT_KEYS: [&str; 12] = [
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

pub(crate) fn read_call_limits(
    reader: &Reader<'_>,
    value: &RawJson,
) -> Result<CallLimits, ConfigError> {
    check(reader, value, "limits", &CALL_LIMIT_KEYS)?;
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
