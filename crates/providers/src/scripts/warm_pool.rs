//! The warm pool: standby processes that were started before they are called, over all tools.
//! Bounds their number and memory, evicts those of tools that were called longest ago, and ends
//! idle ones.
//!
//! A process may wait only if its manifest says so, or if it is Python and its last call read its
//! input: a program that reads no input would do its work without being called. One process still
//! serves one call.

mod tool_pool;

use std::collections::HashMap;
use std::iter::repeat_n;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use gantry_gateway::CallError;
use gantry_process::Child;
use gantry_protocol::RawJson;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::sleep;
use tool_pool::{StandbyProcess, ToolPool};

use super::ToolSettings;
use super::manifest::{Manifest, Runtime};
use super::runner::{Launcher, not_started};
use crate::file_fingerprint::FileFingerprint;

/// How long the start of a process that will wait is put off. It is most often begun by the end of
/// a call, whose answer should be on its way before the machine has more to do.
const START_DELAY: Duration = Duration::from_millis(2);

/// All processes that wait.
#[derive(Debug)]
pub(super) struct WarmPool {
    settings: ToolSettings,
    launcher: Arc<Launcher>,
    /// Those that run hold one each; what waits and what runs share the same number.
    slots: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    queues: HashMap<Key, ToolPool>,
    /// Looks after those that wait, for as long as there are any.
    maintenance: Option<AbortHandle>,
    stopped: bool,
    /// Why a process could last not be started.
    last_error: Option<String>,
}

/// A name and a version: older versions of a tool may be called too.
type Key = (String, String);

impl WarmPool {
    pub(super) fn new(
        settings: ToolSettings,
        launcher: Arc<Launcher>,
        slots: Arc<Semaphore>,
    ) -> Arc<Self> {
        Arc::new(Self { settings, launcher, slots, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether processes of this tool may wait at all.
    pub(super) fn serves(&self, manifest: &Manifest) -> bool {
        self.settings.standby && StandbyMode::of(manifest) != StandbyMode::Off
    }

    /// A process that has waited for a call of this tool. It lives, and runs the code that is there
    /// now. If there is none, a place is made for one that must be started.
    pub(super) fn take(&self, manifest: &Arc<Manifest>) -> Option<Child> {
        let (mut acquired, mut old) = (None, Vec::new());
        if self.serves(manifest) {
            let fingerprint = FileFingerprint::of(&manifest.command).ok();
            let mut state = self.state();
            let queue = state.queue(manifest);
            old = queue.discard_outdated(manifest, fingerprint);
            acquired = queue.take(self.settings.standby_per_tool);
        }
        // Asked first without the lock: most often there is room for all that may wait.
        if acquired.is_none()
            && self.running() + self.settings.standby_total > self.settings.children
        {
            let mut state = self.state();
            if self.running() + state.len() > self.settings.children {
                old.extend(state.evict(None));
            }
        }
        // To end a process takes its time, and is done without the lock.
        drop(old);
        acquired
    }

    /// Remembers whether the tool read its input, without which it must not be started ahead.
    pub(super) fn record_input_read(&self, manifest: &Arc<Manifest>, input_read: bool) {
        if self.serves(manifest) {
            self.state().queue(manifest).record_input_read(input_read);
        }
    }

    /// Starts what is missing for this tool. Tools that were called longer ago give way.
    pub(super) fn refill(self: &Arc<Self>, manifest: &Arc<Manifest>) {
        if !self.serves(manifest) {
            return;
        }
        let mut old = Vec::new();
        let mut state = self.state();
        let queue = state.queue(manifest);
        let (last_call, missing) = (queue.last_call, queue.missing(self.settings.standby_per_tool));
        for _ in 0..missing {
            if !self.has_room(&state, manifest) {
                let evicted = state.evict(Some(last_call));
                if evicted.is_none() {
                    break;
                }
                old.extend(evicted);
            }
            self.start(&mut state, manifest);
        }
        drop(state);
        drop(old);
    }

    /// Ends what waits for tools that are gone or have changed, and starts what must always wait.
    pub(super) fn refresh(self: &Arc<Self>, tools: &[Arc<Manifest>]) {
        self.refresh_those(tools, |_| true);
    }

    /// The same where only the tools of one name may have changed.
    pub(super) fn refresh_one(self: &Arc<Self>, name: &str, tools: &[Arc<Manifest>]) {
        self.refresh_those(tools, |key| key.0 == name);
    }

    fn refresh_those(self: &Arc<Self>, tools: &[Arc<Manifest>], is_meant: impl Fn(&Key) -> bool) {
        let now: HashMap<Key, &Arc<Manifest>> = tools.iter().map(|it| (key(it), it)).collect();
        let mut old = Vec::new();
        self.state().queues.retain(|key, queue| {
            if !is_meant(key) {
                return true;
            }
            let Some(manifest) = now.get(key) else {
                old.extend(queue.waiting.drain(..));
                return false;
            };
            old.extend(
                queue.discard_outdated(manifest, FileFingerprint::of(&manifest.command).ok()),
            );
            true
        });
        drop(old);
        for manifest in tools.iter().filter(|it| StandbyMode::of(it).minimum() > 0) {
            self.refill(manifest);
        }
    }

    /// Ends all that wait, permanently.
    pub(super) fn stop(&self) {
        let mut state = self.state();
        state.stopped = true;
        let queues = std::mem::take(&mut state.queues);
        let maintenance = state.maintenance.take();
        drop(state);
        drop(queues);
        if let Some(maintenance) = maintenance {
            maintenance.abort();
        }
    }

    /// The processes that wait, for tests.
    #[cfg(test)]
    pub(super) fn waiting(&self) -> Vec<u32> {
        let state = self.state();
        state.queues.values().flat_map(|queue| &queue.waiting).map(|it| it.child.id()).collect()
    }

    /// How many wait or soon will.
    pub(super) fn len(&self) -> usize {
        self.state().len()
    }

    /// How many serve a call.
    pub(super) fn running(&self) -> usize {
        self.settings.children.saturating_sub(self.slots.available_permits())
    }

    /// Whether one more may wait.
    fn has_room(&self, state: &State, manifest: &Manifest) -> bool {
        let len = state.len();
        let memory: u64 = state.queues.values().map(ToolPool::memory).sum();
        // It will be about as large as its like.
        let more = state.queues.get(&key(manifest)).map_or(0, |queue| queue.size);
        len < self.settings.standby_total
            && len + self.running() < self.settings.children
            && memory + more < self.settings.standby_memory
    }

    /// Starts one process in the background.
    fn start(self: &Arc<Self>, state: &mut State, manifest: &Arc<Manifest>) {
        let Ok(runtime) = Handle::try_current() else { return };
        if state.stopped {
            return;
        }
        state.queue(manifest).starting += 1;
        let (standby, manifest) = (self.clone(), manifest.clone());
        runtime.spawn(async move {
            sleep(START_DELAY).await;
            let started = standby.launch(&manifest).await;
            standby.on_started(&manifest, started);
        });
        if state.maintenance.is_none() {
            let maintenance = runtime.spawn(maintain(Arc::downgrade(self)));
            state.maintenance = Some(maintenance.abort_handle());
        }
    }

    async fn launch(&self, manifest: &Manifest) -> Result<StandbyProcess, CallError> {
        // Looked at first: what is written while the process starts counts as a change.
        let fingerprint = FileFingerprint::of(&manifest.command);
        let program = self.launcher.program(manifest).await?;
        let launcher = self.launcher.clone();
        let start = tokio::task::spawn_blocking(move || launcher.start(&program));
        let child = start.await.map_err(|error| not_started(manifest, &error))?;
        let child = child.map_err(|error| not_started(manifest, &error))?;
        let fingerprint = fingerprint.map_err(|error| not_started(manifest, &error))?;
        Ok(StandbyProcess { child, fingerprint, since: Instant::now(), memory: 0 })
    }

    /// Lets a process wait, if it is still wanted.
    fn on_started(&self, manifest: &Arc<Manifest>, started: Result<StandbyProcess, CallError>) {
        let mut state = self.state();
        let stopped = state.stopped;
        let Some(queue) = state.queues.get_mut(&key(manifest)).filter(|_| !stopped) else { return };
        queue.starting = queue.starting.saturating_sub(1);
        match started {
            Ok(process) if queue.manifest == *manifest => queue.waiting.push_back(process),
            Ok(process) => {
                drop(state);
                drop(process);
            }
            Err(error) => {
                queue.record_early_exit();
                // One cause, such as `uv` that is missing, is told once for all tools.
                if state.last_error.as_ref() != Some(&error.public) {
                    tracing::warn!(reason = %error.public, "cannot start a standby process");
                    state.last_error = Some(error.public);
                }
            }
        }
    }
}

impl State {
    fn queue(&mut self, manifest: &Arc<Manifest>) -> &mut ToolPool {
        self.queues.entry(key(manifest)).or_insert_with(|| ToolPool::new(manifest.clone()))
    }

    fn len(&self) -> usize {
        self.queues.values().map(ToolPool::len).sum()
    }

    /// One that waits for the tool whose last call is longest ago, and before that time if one is
    /// given.
    fn evict(&mut self, before: Option<Instant>) -> Option<StandbyProcess> {
        let queues = self.queues.values_mut().filter(|queue| !queue.waiting.is_empty());
        let queues = queues.filter(|queue| before.is_none_or(|before| queue.last_call < before));
        queues.min_by_key(|queue| queue.last_call)?.waiting.pop_front()
    }
}

fn key(manifest: &Manifest) -> Key {
    (manifest.name.clone(), manifest.version.clone())
}

/// The longest time between two looks at those that wait.
const LONGEST: Duration = Duration::from_millis(500);
const SHORTEST: Duration = Duration::from_millis(10);

/// Looks after those that wait, until there are none.
async fn maintain(standby: Weak<WarmPool>) {
    loop {
        let Some(idle) = standby.upgrade().map(|it| it.settings.standby_idle) else { return };
        sleep((idle / 8).clamp(SHORTEST, LONGEST)).await;
        let Some(standby) = standby.upgrade() else { return };
        // To look at processes takes some system calls each, which is too little to leave for.
        if !standby.maintain_once() {
            return;
        }
    }
}

impl WarmPool {
    /// Replaces those that died or were taken by calls that still run, and ends those that are not
    /// needed. Says whether there is more to look after.
    fn maintain_once(self: &Arc<Self>) -> bool {
        let mut old = Vec::new();
        let mut state = self.state();
        let mut short = Vec::new();
        for queue in state.queues.values_mut() {
            queue.remove_dead();
            old.extend(queue.shrink(self.settings.standby_idle));
            queue.measure();
            let missing = queue.missing(self.settings.standby_per_tool);
            short.extend(repeat_n(queue.manifest.clone(), missing));
        }
        while state.queues.values().map(ToolPool::memory).sum::<u64>()
            > self.settings.standby_memory
        {
            old.extend(state.evict(None));
        }
        for manifest in short {
            if self.has_room(&state, &manifest) {
                self.start(&mut state, &manifest);
            }
        }
        let most = self.settings.standby_per_tool;
        let any = state.queues.values().any(|queue| queue.len() > 0 || queue.missing(most) > 0);
        if !any {
            state.maintenance = None;
        }
        drop(state);
        drop(old);
        any
    }
}

/// Whether processes of a tool wait to be called, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StandbyMode {
    /// Never.
    Off,
    /// Once a call has shown that the tool reads its input. A tool that does not would do its work
    /// without being called.
    WhenProven,
    /// After the first call.
    On,
    /// At all times, at least so many.
    AtLeast(usize),
}

impl StandbyMode {
    fn of(manifest: &Manifest) -> Self {
        let stated = manifest.metadata.as_ref().and_then(|it| it.get("standby"));
        let flag = stated.as_ref().and_then(RawJson::read::<bool>);
        let number = stated.as_ref().and_then(RawJson::read::<usize>);
        match (flag, number) {
            (Some(false), _) | (_, Some(0)) => Self::Off,
            (Some(true), _) => Self::On,
            (_, Some(number)) => Self::AtLeast(number),
            _ if manifest.runtime == Runtime::PythonUvScript => Self::WhenProven,
            _ => Self::Off,
        }
    }

    /// How many wait even if nobody calls.
    fn minimum(self) -> usize {
        match self {
            Self::AtLeast(number) => number,
            _ => 0,
        }
    }
}
