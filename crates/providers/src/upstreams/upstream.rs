//! One upstream server: its connections, its exports, and the resources that clients subscribed
//! to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::join_all;
use gantry_client::{Client, Event, List, NoopHandler, Request, State};
use gantry_gateway::{CallError, Caller, Completeness, ErrorKind};
use gantry_protocol::{RawJson, Redactor};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::exports::Exports;
use super::failure::Failed;
use super::lists::Lists;
use super::pool::{DedicatedConnection, Pool};
use super::redaction;

use super::config::{Share, UpstreamConfig, UpstreamSettings};

/// Things that may be waiting to be told to a server after the calls they belong to.
const MAX_FOLLOWUPS: usize = 256;

/// How long one of them may take.
const FOLLOWUP_TIMEOUT: Duration = Duration::from_secs(10);

/// How long it counts that a server said too often that its lists changed.
const STORM_WINDOW: Duration = Duration::from_secs(5);

/// Longer than anything waits.
pub(super) const FOREVER: Duration = Duration::from_secs(24 * 3600);

/// How often a server that is to end is asked whether it still works on something.
const DRAIN_POLL: Duration = Duration::from_millis(200);

/// One server.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) config: UpstreamConfig,
    pub(super) redaction: Redactor,
    /// What it lists and who it serves are told over this one; none if it is not connected.
    connections: Option<Connections>,
    /// What it listed last.
    pub(super) lists: ArcSwap<Lists>,
    /// What of that can be offered; [`Self::offered`] says whether it is.
    pub(super) exports: ArcSwap<Exports>,
    /// What is watched, by the number of the endpoint.
    watched: Mutex<BTreeMap<u64, BTreeSet<String>>>,
    followups: Mutex<JoinSet<()>>,
    /// Told when a call was refused as if there were no such tool.
    pub(super) stale_hint: Notify,
    /// Whether its tools and its prompts were published as a cache has them.
    pub(super) shown: watch::Sender<[bool; 2]>,
    /// Whether it was listed or could not be reached: what there is to be known at first is known.
    settled: AtomicBool,
    /// Whether what it listed when it ran last has been looked for.
    is_recalled: AtomicBool,
    /// Whether its lists are known: it has told them, now or when it ran last.
    is_known: AtomicBool,
    /// When it was configured.
    began: Instant,
    /// When it last said of its lists that they changed more often than they are read.
    listing_storm: Mutex<Option<Instant>>,
}

/// What a server says beside its calls.
#[derive(Debug)]
pub(super) struct UpstreamEvents {
    /// On the connection that all share.
    pub(super) shared: mpsc::Receiver<Event>,
    /// On those of single users or sessions, with whose it is.
    pub(super) dedicated: mpsc::Receiver<(Arc<str>, Event)>,
}

#[derive(Debug)]
struct Connections {
    shared: Client,
    pool: Pool,
}

/// What a server of the legacy era is told that it may ask for: everything that can be asked of any
/// client. Whether the client of a call can answer is seen when it is asked.
const ALL_INPUT_CAPABILITIES: RawJson = RawJson::from_static(
    r#"{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}"#,
);

impl Upstream {
    /// A server, and what it says beside its calls; nothing if it is not connected.
    pub(super) fn new(
        config: UpstreamConfig,
        settings: &UpstreamSettings,
        lists: Arc<Lists>,
    ) -> (Arc<Self>, Option<UpstreamEvents>) {
        let target = config.target.as_ref().ok().filter(|_| !config.disabled).cloned();
        let redaction = redaction::of(&config);
        let connected = target.map(|target| {
            let (sender, shared_events) = mpsc::channel(config.client.queue.max(1));
            let (own_sender, own_events) = mpsc::channel(config.client.queue.max(1));
            let mut client = config.client.clone();
            if client.capabilities == RawJson::EMPTY_OBJECT {
                client.capabilities = ALL_INPUT_CAPABILITIES;
            }
            let shared = Client::new(target.clone(), client.clone(), sender);
            let pool = Pool::new(target, client, settings.connections, own_sender);
            let events = UpstreamEvents { shared: shared_events, dedicated: own_events };
            (Connections { shared, pool }, events)
        });
        let (connections, events) = connected.unzip();
        let has_nothing_to_recall =
            config.disabled || settings.folder.is_none() || *lists != Lists::default();
        let server = Self {
            config,
            redaction,
            connections,
            lists: ArcSwap::new(lists),
            exports: ArcSwap::default(),
            watched: Mutex::default(),
            followups: Mutex::default(),
            stale_hint: Notify::new(),
            shown: watch::Sender::new([true; 2]),
            settled: AtomicBool::new(events.is_none()),
            is_recalled: AtomicBool::new(has_nothing_to_recall),
            is_known: AtomicBool::new(false),
            began: Instant::now(),
            listing_storm: Mutex::default(),
        };
        (Arc::new(server), events)
    }

    pub(super) fn name(&self) -> &str {
        &self.config.name
    }

    /// What its names begin with.
    pub(super) fn prefix(&self) -> &str {
        self.config.prefix.as_deref().unwrap_or(&self.config.name)
    }

    /// The connection that all share; none if the server is not connected.
    pub(super) fn shared(&self) -> Option<&Client> {
        self.connections.as_ref().map(|it| &it.shared)
    }

    /// The connection for a call of that client.
    pub(super) fn client_for(&self, caller: &Caller) -> Result<Client, CallError> {
        let name = self.name();
        let Some(connections) = &self.connections else {
            let text = format!("the server `{name}` is disabled; `gantry status` says why");
            return Err(CallError::new(ErrorKind::Unavailable, text));
        };
        let Some(key) = self.connection_key(caller) else { return Ok(connections.shared.clone()) };
        // Who has no credential is the only one here.
        let is_shared = caller.lease.is_some();
        connections.pool.get(&key, &caller.principal, is_shared).ok_or_else(|| {
            let kind = ErrorKind::LimitExceeded { retry_after: Some(Duration::from_secs(1)) };
            let text = format!(
                "all connections that the server `{name}` may have for you are busy; wait, or let \
                 more callers share one with `share`"
            );
            CallError::new(kind, text)
        })
    }

    /// Under which name a caller has a connection; none for the one that all share.
    pub(super) fn connection_key(&self, caller: &Caller) -> Option<String> {
        match self.config.share {
            Share::Process => None,
            Share::User => Some(caller.principal.to_string()),
            Share::Session => {
                let client = caller.client_info.as_ref().map_or("", |info| info.as_str());
                let session = caller.session.as_deref().unwrap_or(client);
                Some(format!("{}\n{session}", caller.principal))
            }
        }
    }

    /// The connections of single users or sessions, in the order in which they were made; none if
    /// all share one.
    pub(super) fn dedicated(&self) -> Option<Vec<DedicatedConnection>> {
        let connections = self.connections.as_ref()?;
        (self.config.share != Share::Process).then(|| connections.pool.all())
    }

    /// Its connection state.
    pub(super) fn state(&self) -> State {
        match (&self.connections, &self.config.target) {
            (Some(connections), _) => connections.shared.state(),
            (None, Err(reason)) => State::Disabled(reason.clone()),
            (None, Ok(_)) => State::Disabled("the configuration says so".to_owned()),
        }
    }

    /// What it exports now.
    pub(super) fn offered(&self) -> Arc<Exports> {
        let exports = self.exports.load_full();
        if exports.is_withdrawn { Arc::default() } else { exports }
    }

    /// Why it has no tools to export; none if it has some, or if it is as it should be.
    pub(super) fn absence(&self) -> Option<String> {
        let exports = self.offered();
        if !exports.tools.is_empty() {
            return None;
        }
        match self.state() {
            State::Starting => Some("it is still being started".to_owned()),
            State::BackingOff { reason, .. } | State::Disabled(reason) => {
                Some(self.redaction.text(&reason).into_owned())
            }
            State::Configured | State::Ready | State::Degraded(_) => {
                Some(self.redaction.text(exports.problems.first()?).into_owned())
            }
        }
    }

    /// Waits until a list that is cached was listed by the server, which is connected for that if
    /// need be, and is published.
    pub(super) async fn relisted(&self, list: List) -> Result<(), CallError> {
        let name = self.name();
        let Some(client) = self.shared() else {
            let text = format!("the server `{name}` is disabled; `gantry status` says why");
            return Err(CallError::new(ErrorKind::Unavailable, text));
        };
        let mut shown = self.shown.subscribe();
        let method = list.method();
        let failed = Failed {
            server: name,
            method: &method,
            aliases: None,
            is_stateless: false,
            is_repeatable: true,
            redaction: &self.redaction,
        };
        client.peer().await.map_err(|error| failed.error(error))?;
        loop {
            let [tools, prompts] = *shown.borrow_and_update();
            if !(if list == List::Prompts { prompts } else { tools }) {
                return Ok(());
            }
            let lists = self.lists.load_full();
            if let Some(trouble) = lists.trouble(list).filter(|_| lists.is_cached(list)) {
                // It is asked for again, for the next call.
                self.stale_hint.notify_one();
                let trouble = self.redaction.text(trouble).into_owned();
                let text = format!("the server `{name}` cannot be called: {trouble}");
                return Err(CallError::new(ErrorKind::Unavailable, text));
            }
            if shown.changed().await.is_err() {
                return Ok(());
            }
        }
    }

    /// Whether what there is to be known at first is known.
    pub(super) fn is_settled(&self) -> bool {
        self.settled.load(Ordering::Acquire) && self.is_recalled()
    }

    /// Whether it is known which names are its own, as far as that can be known before it has spoken.
    pub(super) fn is_recalled(&self) -> bool {
        self.is_recalled.load(Ordering::Acquire)
    }

    pub(super) fn mark_recalled(&self) {
        self.is_recalled.store(true, Ordering::Release);
    }

    pub(super) fn mark_settled(&self) {
        self.settled.store(true, Ordering::Release);
    }

    /// Whether its lists are known.
    pub(super) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Acquire)
    }

    pub(super) fn mark_known(&self) {
        self.is_known.store(true, Ordering::Release);
    }

    /// How complete what it offers is.
    pub(super) fn completeness(&self) -> Completeness {
        match (self.is_recalled(), self.shared().is_none() || self.is_known(), self.is_settled()) {
            (true, true, _) => Completeness::Complete,
            (_, _, true) => Completeness::Missing,
            _ => Completeness::Starting,
        }
    }

    /// Until when a list waits for what it is about to list: so long after it was configured, or
    /// after that moment if it is later. None if there is nothing to wait for.
    pub(super) fn awaited_until(
        &self,
        startup_wait: Duration,
        since: Option<Instant>,
    ) -> Option<Instant> {
        let since = since.map_or(self.began, |since| since.max(self.began));
        let until = since.checked_add(startup_wait).unwrap_or_else(|| since + FOREVER);
        let is_awaited = self.completeness() == Completeness::Starting && until > Instant::now();
        is_awaited.then_some(until)
    }

    /// Notes that it says of its lists that they changed more often than they are read.
    pub(super) fn note_listing_storm(&self) {
        let mut storm = self.listing_storm.lock().unwrap_or_else(PoisonError::into_inner);
        *storm = Some(Instant::now());
    }

    /// What it says too often of its lists now.
    pub(super) fn listing_storm(&self) -> Option<String> {
        let storm = *self.listing_storm.lock().unwrap_or_else(PoisonError::into_inner);
        storm.filter(|at| at.elapsed() < STORM_WINDOW).map(|_| {
            "it says all the time that its lists changed; they are read once a second".to_owned()
        })
    }

    /// Sets what is watched on one endpoint.
    pub(super) fn watch(&self, virtual_server: u64, uris: BTreeSet<String>) {
        let Some(Connections { shared, pool }) = &self.connections else { return };
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        match uris.is_empty() {
            true => drop(watched.remove(&virtual_server)),
            false => drop(watched.insert(virtual_server, uris)),
        }
        // Under the lock: a later set must not be overtaken by an earlier one.
        let all: BTreeSet<String> = watched.values().flatten().cloned().collect();
        pool.watch(&all);
        shared.watch(all);
    }

    /// Waits until the server was told on every connection that a resource is watched.
    pub(super) fn watching(&self, uri: &str) -> impl Future<Output = ()> + Send + use<> {
        let told: Vec<_> = self.clients().iter().map(|client| client.watching(uri)).collect();
        async move { drop(join_all(told).await) }
    }

    /// All connections.
    fn clients(&self) -> Vec<Client> {
        let Some(Connections { shared, pool }) = &self.connections else { return Vec::new() };
        pool.all().into_iter().map(|own| own.client).chain([shared.clone()]).collect()
    }

    /// Tells the server something after the call it belongs to has gone.
    pub(super) fn spawn_followup(&self, client: Client, request: Request) {
        let mut followups = self.followups.lock().unwrap_or_else(PoisonError::into_inner);
        while followups.try_join_next().is_some() {}
        if followups.len() < MAX_FOLLOWUPS {
            followups.spawn(async move {
                let _ =
                    tokio::time::timeout(FOLLOWUP_TIMEOUT, client.request(&request, &NoopHandler))
                        .await;
            });
        }
    }

    /// Ends connections that nobody uses.
    pub(super) fn sweep(&self) {
        if let Some(connections) = &self.connections {
            connections.pool.sweep();
        }
    }

    /// Closes the connections; they are opened again when they are needed.
    pub(super) async fn restart(&self) {
        join_all(self.clients().iter().map(Client::restart)).await;
    }

    /// Ends the connections permanently, once what they work on is done.
    pub(super) async fn retire(&self) {
        let finished = async {
            while self.in_flight() > 0 {
                tokio::time::sleep(DRAIN_POLL).await;
            }
        };
        let _ = tokio::time::timeout(self.config.client.at_most, finished).await;
        self.stop().await;
    }

    fn in_flight(&self) -> usize {
        self.clients().iter().map(|client| client.health().in_flight).sum()
    }

    /// Ends the connections permanently.
    pub(super) async fn stop(&self) {
        if let Some(Connections { shared, pool }) = &self.connections {
            let others = pool.drain();
            join_all(others.iter().chain([shared]).map(Client::stop)).await;
        }
    }
}
