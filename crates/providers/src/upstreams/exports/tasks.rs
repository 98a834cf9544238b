//! When calls of a server's tool are tasks: as the server says, as the configuration says, and as
//! clients are shown.

use gantry_gateway::{Caller, TaskSupport};
use gantry_protocol::RawJson;
use gantry_protocol::meta::key;

use super::UpstreamConfig;

/// When calls of a tool are tasks.
#[derive(Debug, Clone, Copy)]
pub(in crate::upstreams) struct Tasks {
    /// Whether the server may, or must, be asked to make one (2025-11-25).
    support: TaskSupport,
    /// Whether every call runs long, whatever the server makes of it.
    pub(in crate::upstreams) is_long: bool,
}

impl Tasks {
    pub(super) fn read(upstream: &UpstreamConfig, own: &str, source: &RawJson) -> Self {
        let said = upstream.overrides.get(own).and_then(|it| it.task);
        Self { support: TaskSupport::read(source), is_long: said.unwrap_or(upstream.task) }
    }

    /// Whether the server is asked to make a task of this client's call.
    pub(in crate::upstreams) fn are_wanted(self, caller: &Caller) -> bool {
        match self.support {
            TaskSupport::Forbidden => false,
            TaskSupport::Optional => caller.capabilities.tasks,
            TaskSupport::Required => true,
        }
    }

    /// What the definition says of it where the server does not. The doors show it to those clients
    /// alone whose revision says it of tools.
    pub(super) fn shown(self, source: &RawJson, makes_tasks: bool) -> Option<RawJson> {
        let execution = source.get("execution").filter(RawJson::is_object);
        let execution = execution.unwrap_or(RawJson::EMPTY_OBJECT);
        let is_said = execution.get("taskSupport").is_some();
        let is_new = self.is_long && self.support == TaskSupport::Forbidden;
        (is_new || makes_tasks && !is_said)
            .then(|| execution.edit().set("taskSupport", RawJson::string("optional")).apply())
    }

    /// Whether a client that cannot come back waits here for a task that the server must make. It
    /// does unless the server would not have it.
    pub(super) fn can_wait(self, source: &RawJson) -> bool {
        let refuses = source.at(&[key::META, key::TASKS_ONLY]);
        self.support == TaskSupport::Required
            && refuses.is_none_or(|refuses| refuses.as_str() != "true")
    }
}
