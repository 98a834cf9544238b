//! The board of all requests under way on one connection, by the number that each was sent with.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use gantry_protocol::{Level, Method};
use tokio::sync::watch;

use super::mailbox::{Inbound, Mailbox};
use crate::error::ClientError;

/// A request under way.
#[derive(Debug)]
pub(super) struct Call {
    /// Its id, and its progress token.
    pub(super) id: u64,
    pub(super) about: About,
    pub(super) mailbox: Mailbox,
}

/// What must be known of a request to bring to it what is its own.
#[derive(Debug, Clone)]
pub(super) struct About {
    pub(super) method: Method,
    /// The tool, prompt, resource or task that it is about.
    pub(super) name: Option<String>,
    /// Who makes it; empty when nobody knows.
    pub(super) identity: String,
    pub(super) log_level: Option<Level>,
}

impl About {
    /// A request that the connection makes for itself.
    pub(super) fn own(method: Method) -> Self {
        Self { method, name: None, identity: String::new(), log_level: None }
    }

    /// Whether the server may ask something while it works on this.
    pub(super) fn may_ask(&self) -> bool {
        self.method.takes_input() || self.is_task_result()
    }

    /// Whether this waits for the result of a task (2025-11-25), which may ask too.
    pub(super) fn is_task_result(&self) -> bool {
        self.method.as_str() == "tasks/result"
    }

    /// Whether this is a stream that stays open and so is no work.
    fn is_listening(&self) -> bool {
        self.method == Method::Listen
    }
}

#[derive(Debug)]
pub(super) struct PendingRequests {
    state: Mutex<State>,
    ended: watch::Sender<Option<String>>,
    in_flight: usize,
    queue: usize,
}

#[derive(Debug, Default)]
struct State {
    last: u64,
    calls: HashMap<u64, Arc<Call>>,
    /// How many of them are streams that stay open.
    listening: usize,
    /// Tools that are known to ask.
    askers: HashSet<String>,
    /// Tools whose questions could not be told apart, so that they run one at a time.
    alone: HashSet<String>,
}

impl PendingRequests {
    /// At most `in_flight` calls, each with a mailbox for `queue` things.
    pub(super) fn new(in_flight: usize, queue: usize) -> Self {
        Self { state: Mutex::default(), ended: watch::Sender::new(None), in_flight, queue }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Enters a request.
    pub(super) fn begin(&self, about: About) -> Result<Arc<Call>, ClientError> {
        let mut state = self.state();
        // Asked under the lock: whoever ends the board looks at the calls after it is set.
        if let Some(reason) = &*self.ended.borrow() {
            return Err(ClientError::Unreachable(reason.clone()));
        }
        if !about.is_listening() && state.in_flight() >= self.in_flight {
            return Err(ClientError::Busy(self.in_flight));
        }
        state.last += 1;
        state.listening += usize::from(about.is_listening());
        let call = Arc::new(Call { id: state.last, about, mailbox: Mailbox::new(self.queue) });
        state.calls.insert(call.id, call.clone());
        Ok(call)
    }

    /// A request under way.
    pub(super) fn find(&self, id: u64) -> Option<Arc<Call>> {
        self.state().calls.get(&id).cloned()
    }

    /// Takes a request off; whatever comes for it later is not heard.
    pub(super) fn remove(&self, id: u64) -> Option<Arc<Call>> {
        let mut state = self.state();
        let call = state.calls.remove(&id)?;
        state.listening -= usize::from(call.about.is_listening());
        Some(call)
    }

    /// Those that the server may be asking for, the latest last.
    pub(super) fn candidates(&self) -> Vec<Arc<Call>> {
        let state = self.state();
        let mut calls: Vec<_> =
            state.calls.values().filter(|call| call.about.may_ask()).cloned().collect();
        calls.sort_unstable_by_key(|call| call.id);
        calls
    }

    /// The only one that wants log messages of this level.
    pub(super) fn only_logged(&self, level: Level) -> Option<Arc<Call>> {
        let state = self.state();
        let wants = |call: &&Arc<Call>| call.about.log_level.is_some_and(|least| level >= least);
        let mut calls = state.calls.values().filter(wants);
        calls.next().filter(|_| calls.next().is_none()).cloned()
    }

    /// Remembers that a tool asks.
    pub(super) fn learn_asker(&self, about: &About) {
        if let Some(name) = about.name.as_ref().filter(|_| about.method == Method::ToolsCall) {
            self.state().askers.insert(name.clone());
        }
    }

    pub(super) fn is_asker(&self, about: &About) -> bool {
        about.method == Method::ToolsCall
            && about.name.as_ref().is_some_and(|name| self.state().askers.contains(name))
    }

    /// Has these tools run one at a time from now on.
    pub(super) fn set_alone(&self, calls: &[Arc<Call>]) {
        let mut state = self.state();
        let tools = calls.iter().filter(|call| call.about.method == Method::ToolsCall);
        state.alone.extend(tools.filter_map(|call| call.about.name.clone()));
    }

    /// Whether the tool of that name runs alone. Mostly none does, and the name need not be found.
    pub(super) fn runs_alone(&self, name: impl FnOnce() -> Option<String>) -> bool {
        let state = self.state();
        !state.alone.is_empty() && name().is_some_and(|name| state.alone.contains(&name))
    }

    /// Requests under way.
    pub(super) fn in_flight(&self) -> usize {
        self.state().in_flight()
    }

    /// Tells everyone that no answer will come. The first reason counts.
    pub(super) fn end(&self, reason: &str) {
        self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            ended.get_or_insert_with(|| reason.to_owned());
            first
        });
        let mut state = self.state();
        state.listening = 0;
        for (_, call) in state.calls.drain() {
            call.mailbox.put(Inbound::Lost(reason.to_owned()));
        }
    }

    /// Why it has ended, if it has.
    pub(super) fn end_reason(&self) -> Option<String> {
        self.ended.borrow().clone()
    }

    /// Waits for the end.
    pub(super) async fn ended(&self) -> String {
        let mut ends = self.ended.subscribe();
        let reason = ends.wait_for(Option::is_some).await.ok().and_then(|it| it.clone());
        reason.unwrap_or_else(|| "the connection was dropped".to_owned())
    }
}

impl State {
    fn in_flight(&self) -> usize {
        self.calls.len() - self.listening
    }
}
