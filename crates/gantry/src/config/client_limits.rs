//! `clientLimits`: what clients may hold, in all and as the share of one principal.

use std::time::Duration;

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use gantry_providers::units;
use gantry_server::Settings;

use super::ConfigError;
use super::read::Reader;

const KEYS: [&str; 12] = [
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

    pub(super) fn to_json(&self) -> Option<RawJson> {
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

pub(super) fn read(reader: &Reader<'_>, value: &RawJson) -> Result<ClientLimits, ConfigError> {
    if !value.is_object() {
        return Err(reader.form(value, "clientLimits", "an object with limits"));
    }
    reader.check_keys(value, &KEYS, &[])?;
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
