//! The table of pending requests of one connection, by request id, each with a mailbox for its
//! messages.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use gantry_protocol::{Id, Level, Method, RawJson};
use tokio::sync::{Notify, watch};

use crate::error::ClientError;

/// A pending request.
#[derive(Debug)]
pub(super) struct PendingRequest {
    /// Its id, and its progress token.
    pub(super) id: u64,
    pub(super) info: RequestInfo,
    pub(super) mailbox: Mailbox,
}

/// What the dispatcher must know of a request to route messages to it.
#[derive(Debug, Clone)]
pub(super) struct RequestInfo {
    pub(super) method: Method,
    /// The tool, prompt, resource or task that it is about.
    pub(super) name: Option<String>,
    /// Identifies the client of the request; empty if unknown.
    pub(super) identity: String,
    pub(super) log_level: Option<Level>,
}

impl RequestInfo {
    /// A request of the connection itself.
    pub(super) fn own(method: Method) -> Self {
        Self { method, name: None, identity: String::new(), log_level: None }
    }

    /// Whether the server may send input requests while it works on this.
    pub(super) fn may_request_input(&self) -> bool {
        self.method.takes_input() || self.is_task_result()
    }

    /// Whether this waits for the result of a task (2025-11-25), which may need input too.
    pub(super) fn is_task_result(&self) -> bool {
        self.method.as_str() == "tasks/result"
    }

    /// Whether this is a subscription, which does not count as work.
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
    calls: HashMap<u64, Arc<PendingRequest>>,
    /// How many of them are streams that stay open.
    listening: usize,
    /// Tools that are known to send input requests.
    requesters: HashSet<String>,
    /// Tools that run one at a time, because their input requests could not be attributed.
    exclusive: HashSet<String>,
}

impl PendingRequests {
    /// At most `in_flight` calls, each with a mailbox for `queue` things.
    pub(super) fn new(in_flight: usize, queue: usize) -> Self {
        Self { state: Mutex::default(), ended: watch::Sender::new(None), in_flight, queue }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a request.
    pub(super) fn register(&self, info: RequestInfo) -> Result<Arc<PendingRequest>, ClientError> {
        let mut state = self.state();
        // Checked under the lock: `end` drains the table after it has set the reason.
        if let Some(reason) = &*self.ended.borrow() {
            return Err(ClientError::Unreachable(reason.clone()));
        }
        if !info.is_listening() && state.in_flight() >= self.in_flight {
            return Err(ClientError::Busy(self.in_flight));
        }
        state.last += 1;
        state.listening += usize::from(info.is_listening());
        let call =
            Arc::new(PendingRequest { id: state.last, info, mailbox: Mailbox::new(self.queue) });
        state.calls.insert(call.id, call.clone());
        Ok(call)
    }

    /// A pending request.
    pub(super) fn find(&self, id: u64) -> Option<Arc<PendingRequest>> {
        self.state().calls.get(&id).cloned()
    }

    /// Removes a request; what arrives for it later is dropped.
    pub(super) fn remove(&self, id: u64) -> Option<Arc<PendingRequest>> {
        let mut state = self.state();
        let call = state.calls.remove(&id)?;
        state.listening -= usize::from(call.info.is_listening());
        Some(call)
    }

    /// The requests that a server request may belong to, the latest last.
    pub(super) fn candidates(&self) -> Vec<Arc<PendingRequest>> {
        let state = self.state();
        let mut calls: Vec<_> =
            state.calls.values().filter(|call| call.info.may_request_input()).cloned().collect();
        calls.sort_unstable_by_key(|call| call.id);
        calls
    }

    /// The only request that wants log messages of this level.
    pub(super) fn only_logged(&self, level: Level) -> Option<Arc<PendingRequest>> {
        let state = self.state();
        let wants =
            |call: &&Arc<PendingRequest>| call.info.log_level.is_some_and(|least| level >= least);
        let mut calls = state.calls.values().filter(wants);
        calls.next().filter(|_| calls.next().is_none()).cloned()
    }

    /// Records that a tool sends input requests.
    pub(super) fn record_requester(&self, info: &RequestInfo) {
        if let Some(name) = info.name.as_ref().filter(|_| info.method == Method::ToolsCall) {
            self.state().requesters.insert(name.clone());
        }
    }

    pub(super) fn is_requester(&self, info: &RequestInfo) -> bool {
        info.method == Method::ToolsCall
            && info.name.as_ref().is_some_and(|name| self.state().requesters.contains(name))
    }

    /// Runs these tools one at a time from now on.
    pub(super) fn run_exclusively(&self, calls: &[Arc<PendingRequest>]) {
        let mut state = self.state();
        let tools = calls.iter().filter(|call| call.info.method == Method::ToolsCall);
        state.exclusive.extend(tools.filter_map(|call| call.info.name.clone()));
    }

    /// Whether the tool runs one at a time. Usually none does, and the name is not looked up.
    pub(super) fn is_exclusive(&self, name: impl FnOnce() -> Option<String>) -> bool {
        let state = self.state();
        !state.exclusive.is_empty() && name().is_some_and(|name| state.exclusive.contains(&name))
    }

    /// Requests in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.state().in_flight()
    }

    /// Fails all pending requests. The first reason wins.
    pub(super) fn end(&self, reason: &str) {
        self.ended.send_if_modified(|ended| {
            let first = ended.is_none();
            ended.get_or_insert_with(|| reason.to_owned());
            first
        });
        let mut state = self.state();
        state.listening = 0;
        for (_, call) in state.calls.drain() {
            call.mailbox.push(Inbound::Lost(reason.to_owned()));
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

/// A request of the server.
#[derive(Debug, Clone)]
pub(super) struct ServerRequest {
    pub(super) id: Id,
    pub(super) method: Method,
    pub(super) params: Option<RawJson>,
}

/// A message for a pending request.
#[derive(Debug)]
pub(super) enum Inbound {
    /// The result, or the error object.
    Answer(Result<RawJson, RawJson>),
    /// The params, without the token.
    Progress(RawJson),
    Log(Level, RawJson),
    InputRequest(ServerRequest),
    /// The server cancelled its request, or ends its subscription.
    Cancelled(Id),
    /// A subscription was acknowledged.
    Acknowledged,
    /// The response is invalid.
    Malformed(String),
    /// No response will come.
    Lost(String),
}

/// The queue of one call, with one reader.
#[derive(Debug)]
pub(super) struct Mailbox {
    queue: Mutex<VecDeque<Inbound>>,
    capacity: usize,
    added: Notify,
}

impl Mailbox {
    pub(super) fn new(capacity: usize) -> Self {
        Self { queue: Mutex::default(), capacity, added: Notify::new() }
    }

    /// Adds a message if there is room; returns whether there was.
    pub(super) fn try_push(&self, inbound: Inbound) -> bool {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = queue.len() < self.capacity;
        if fits {
            queue.push_back(inbound);
            self.added.notify_one();
        }
        fits
    }

    /// Adds a message that comes once for each call, whether there is room or not.
    pub(super) fn push(&self, inbound: Inbound) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(inbound);
        self.added.notify_one();
    }

    /// The next message. Cancel safe.
    pub(super) async fn next(&self) -> Inbound {
        loop {
            let added = self.added.notified();
            if let Some(inbound) = self.take() {
                return inbound;
            }
            added.await;
        }
    }

    fn take(&self) -> Option<Inbound> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}
