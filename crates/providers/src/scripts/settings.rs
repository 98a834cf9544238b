//! Every limit of tools that are programs.

use std::path::PathBuf;
use std::time::Duration;

use gantry_process::ChildLimits;

use super::manifest::{Manifest, Runtime};

/// Every limit of tools that are programs, with its default.
#[derive(Debug, Clone)]
pub struct ToolSettings {
    /// Programs that may run at once; calls beyond that wait for a slot.
    pub children: usize,
    /// How long a call may wait for a slot.
    pub queue: Duration,
    /// How long a program may run that says nothing else in its manifest.
    pub timeout: Duration,
    /// Bytes of memory that a program may hold that says nothing else in its manifest; as many as
    /// there are if none are given.
    pub memory: Option<u64>,
    /// What one program may write, and how long it may take to end when asked to.
    pub child: ChildLimits,
    /// How often the folders are scanned besides the events of inotify, which may miss changes.
    pub rescan: Duration,
    /// Whether a manifest that leaves out its version or output schema is refused.
    pub strict: bool,
    /// How many older versions of a tool can still be called, by `name@version`.
    pub older_versions: usize,
    /// Where `uv` is; looked for on `PATH` by default.
    pub uv: PathBuf,
    /// How long `uv` may take to make the environment of a script.
    pub resolve: Duration,
    /// Whether processes may be started ahead of calls, to wait for them.
    pub standby: bool,
    /// Processes that may wait at once, over all tools.
    pub standby_total: usize,
    /// Processes that may wait at once for one tool.
    pub standby_per_tool: usize,
    /// Bytes of memory that all waiting processes together may hold.
    pub standby_memory: u64,
    /// How long a tool must not have been called until no process waits for it any more.
    pub standby_idle: Duration,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            children: 64,
            queue: Duration::from_secs(5 * 60),
            timeout: Duration::from_secs(30),
            memory: None,
            child: ChildLimits::default(),
            rescan: Duration::from_secs(5),
            strict: false,
            older_versions: 3,
            uv: PathBuf::from("uv"),
            resolve: Duration::from_secs(120),
            standby: true,
            standby_total: 32,
            standby_per_tool: 8,
            standby_memory: 1 << 30,
            standby_idle: Duration::from_secs(60),
        }
    }
}

impl ToolSettings {
    /// How long a tool may work on a call.
    pub(super) fn timeout_of(&self, manifest: &Manifest) -> Duration {
        manifest.timeout.unwrap_or(self.timeout)
    }

    /// How long a call may take from its arrival on. The program's own time limit comes first, so
    /// that it can be asked to end; waiting for a slot and for an environment is not its fault.
    pub(super) fn deadline_of(&self, manifest: &Manifest) -> Duration {
        let prepared = match manifest.runtime {
            Runtime::PythonUvScript => self.resolve,
            Runtime::Process | Runtime::Binary => Duration::ZERO,
        };
        self.queue + prepared + self.timeout_of(manifest) + self.child.grace * 2
    }
}
