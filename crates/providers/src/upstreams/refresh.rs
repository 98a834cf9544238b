//! The task that refreshes one server: reacts to its events and connection states, requests its
//! lists when they may be stale, publishes its exports, and withdraws them when the server stays
//! away.

pub(super) mod export_list;
mod freshness;

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use gantry_client::{Backoff, Client, ClientError, Event, List, Listed, Start, State};
use gantry_gateway::{Caller, Recipients};
use gantry_protocol::{RawJson, code};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use self::freshness::{ChangeRateLimit, Freshness};
use super::lists;
use super::lists::Lists;
use super::registry::UpstreamRegistry;
use super::upstream::{Upstream, UpstreamEvents};

/// Changes that come close together are looked at once.
const DEBOUNCE: Duration = Duration::from_millis(50);

/// How often connections that nobody uses are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// The waits before a list that could not be had is asked for again.
const RETRY: Backoff = Backoff { first: Duration::from_secs(1), at_most: Duration::from_secs(300) };

type Listing = BoxFuture<'static, (List, Result<Listed, ClientError>)>;

/// The refresh task of one server.
pub(super) struct UpstreamTask {
    registry: Weak<UpstreamRegistry>,
    server: Arc<Upstream>,
    client: Client,
    /// Lists to ask for, and when.
    due: HashSet<List>,
    due_at: Option<Instant>,
    /// Lists that were asked for.
    listing: FuturesUnordered<Listing>,
    requested: HashSet<List>,
    failures: u32,
    is_ready: bool,
    /// When to withdraw what the server offers.
    withdraw_at: Option<Instant>,
    is_cached: bool,
    /// When to ask again for lists whose changes the server does not tell.
    freshness: Freshness,
    /// How often lists are asked for that are said to have changed.
    change_rate: ChangeRateLimit,
    /// When they are asked for next because of that.
    rate_limited_until: Instant,
}

impl UpstreamTask {
    /// A task that requests lists that often whose changes the server does not tell.
    pub(in crate::upstreams) fn new(
        registry: Weak<UpstreamRegistry>,
        server: Arc<Upstream>,
        client: Client,
        refresh: Duration,
    ) -> Self {
        Self {
            registry,
            server,
            client,
            due: HashSet::new(),
            due_at: None,
            listing: FuturesUnordered::new(),
            requested: HashSet::new(),
            failures: 0,
            is_ready: false,
            withdraw_at: None,
            is_cached: true,
            freshness: Freshness::new(refresh),
            change_rate: ChangeRateLimit::default(),
            rate_limited_until: Instant::now(),
        }
    }

    /// Runs until the server is stopped.
    pub(in crate::upstreams) async fn run(mut self, mut events: UpstreamEvents) {
        self.load_cache().await;
        let mut states = self.client.states();
        states.mark_changed();
        let mut sweep = interval(SWEEP_INTERVAL);
        sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                event = events.shared.recv() => match event {
                    Some(event) => self.on_event(event),
                    None => return,
                },
                Some((key, event)) = events.dedicated.recv() => self.on_dedicated_event(&key, event),
                Ok(()) = states.changed() => {
                    let state = states.borrow_and_update().clone();
                    self.on_state(&state);
                    self.notify();
                }
                Some((list, listed)) = self.listing.next() => self.on_listed(list, listed).await,
                () = sleep_until_some(self.due_at) => self.request_due(),
                () = sleep_until_some(self.withdraw_at) => {
                    self.withdraw_at = None;
                    export_list::withdraw(&self.server, &self.registry).await;
                }
                () = sleep_until_some(self.freshness.next_check()) => self.refresh(),
                () = self.server.stale_hint.notified() => self.on_stale_hint(),
                _ = sweep.tick() => self.server.sweep(),
            }
        }
    }

    /// Offers what was known of the server when it ran last. One that is started when it is needed
    /// and of which nothing is known is started once, to learn it.
    async fn load_cache(&mut self) {
        export_list::load_cached(&self.server, &self.registry).await;
        if self.server.config.client.start != Start::Lazy {
            return;
        }
        if !self.server.is_known() {
            self.schedule(lists::ALL, Duration::ZERO);
        } else {
            self.server.mark_settled();
            self.notify();
        }
    }

    /// Notifies waiters that something has changed.
    fn notify(&self) {
        if let Some(registry) = self.registry.upgrade() {
            registry.changes.send_modify(|changes| *changes += 1);
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Reconnected => self.schedule_rate_limited(lists::ALL.to_vec()),
            Event::ListChanged(changed) => self.schedule_rate_limited(lists::changed_by(changed)),
            Event::ResourceUpdated { uri, params } => self.updated(&uri, &params, None),
            Event::Log(level, params) => {
                let (server, params) = (self.server.name(), self.server.redaction.json(params));
                tracing::debug!(server, ?level, %params, "log message of a server");
            }
        }
    }

    /// Hears what is said on the connection of one user or session. Its resources are theirs alone;
    /// its lists are taken for a hint that those of all may have changed.
    fn on_dedicated_event(&mut self, key: &Arc<str>, event: Event) {
        match event {
            Event::Reconnected => {}
            Event::ListChanged(changed) => {
                let changed = lists::changed_by(changed);
                changed.iter().for_each(|list| self.client.forget(*list));
                self.schedule_rate_limited(changed);
            }
            Event::ResourceUpdated { uri, params } => {
                let (server, key) = (self.server.clone(), key.clone());
                let are =
                    move |caller: &Caller| server.connection_key(caller).as_deref() == Some(&*key);
                self.updated(&uri, &params, Some(&Recipients::new(are)));
            }
            event @ Event::Log(..) => self.on_event(event),
        }
    }

    fn updated(&self, uri: &str, params: &RawJson, recipients: Option<&Recipients>) {
        if let Some(registry) = self.registry.upgrade() {
            registry.updated(self.server.name(), uri, params.get("metadata").as_ref(), recipients);
        }
    }

    fn on_state(&mut self, state: &State) {
        let was_ready = self.is_ready;
        self.is_ready = matches!(state, State::Ready | State::Degraded(_));
        if !self.is_ready {
            self.freshness.clear();
        }
        match state {
            State::Ready | State::Degraded(_) => {
                self.withdraw_at = None;
                if !was_ready {
                    // A server that is new is waited for; one that came back is known already.
                    let is_new = *self.server.lists.load_full() == Lists::default();
                    self.schedule(lists::ALL, if is_new { Duration::ZERO } else { DEBOUNCE });
                }
            }
            State::BackingOff { .. } | State::Disabled(_) => {
                if let State::BackingOff { reason, wait } = state {
                    let (server, reason) =
                        (self.server.name(), self.server.redaction.text(reason).into_owned());
                    tracing::warn!(server, reason, ?wait, "server unreachable; retrying");
                }
                let keep = self.registry.upgrade().map_or(Duration::ZERO, |it| it.settings.keep);
                self.server.mark_settled();
                let is_offered = !self.server.exports.load().is_withdrawn;
                if is_offered && self.server.config.client.start != Start::Lazy {
                    self.withdraw_at.get_or_insert_with(|| Instant::now() + keep);
                }
            }
            State::Starting | State::Configured => {}
        }
    }

    /// Has lists asked for that are said to have changed: soon, unless that is said all the time.
    fn schedule_rate_limited(&mut self, lists: Vec<List>) {
        let now = Instant::now();
        self.due.extend(lists.iter().copied());
        // One reading is enough for all that changes until then.
        if self.rate_limited_until > now {
            return;
        }
        let wait = self.change_rate.next(now);
        if wait > Duration::ZERO {
            self.server.note_listing_storm();
        }
        self.rate_limited_until = now + wait.max(DEBOUNCE);
        self.schedule(lists, wait.max(DEBOUNCE));
    }

    /// Has lists asked for after a while.
    fn schedule(&mut self, lists: impl IntoIterator<Item = List>, after: Duration) {
        self.due.extend(lists);
        let at = Instant::now() + after;
        self.due_at = Some(self.due_at.map_or(at, |due_at| due_at.min(at)));
    }

    /// Asks for what is due. What is being asked for stays due: it may have changed since.
    fn request_due(&mut self) {
        self.due_at = None;
        let requested = &self.requested;
        let now: Vec<List> =
            self.due.iter().copied().filter(|it| !requested.contains(it)).collect();
        for list in now {
            self.due.remove(&list);
            self.requested.insert(list);
            let client = self.client.clone();
            self.listing.push(Box::pin(async move { (list, client.list(list).await) }));
        }
    }

    /// Takes a list, or the reason why there is none.
    async fn on_listed(&mut self, list: List, listed: Result<Listed, ClientError>) {
        self.requested.remove(&list);
        let mut lists = Lists::clone(&self.server.lists.load());
        let is_away = self.server.exports.load().is_withdrawn;
        let is_back = listed.is_ok() && is_away;
        match listed {
            Ok(listed) => {
                self.freshness.listed(list, listed.ttl);
                lists.replace(list, listed);
                lists.bound(self.server.config.client.lists.total);
            }
            // Many declare a capability and do not know all of its lists.
            Err(ClientError::Answered(error)) if error.code == code::METHOD_NOT_FOUND => {
                lists.replace(list, Listed::default());
            }
            Err(error) => {
                let reason = self.server.redaction.text(&error.to_string()).into_owned();
                lists.note(list, format!("{} could not be had: {reason}", list.method()));
                self.failures = self.failures.saturating_add(1);
                self.schedule([list], RETRY.after(self.failures));
            }
        }
        if let Some(peer) = self.client.known() {
            lists.instructions.clone_from(&peer.instructions);
            lists.makes_tasks = peer.makes_tasks();
        }
        if !self.due.is_empty() && self.due_at.is_none() {
            self.due_at = Some(Instant::now());
        }
        if is_back || lists != **self.server.lists.load() {
            self.log_troubles(&lists);
            self.server.lists.store(Arc::new(lists));
            self.is_cached = false;
            if is_back || !is_away {
                export_list::publish(&self.server, &self.registry).await;
            }
        }
        if self.listing.is_empty() {
            if self.failures == 0 || **self.server.lists.load() != Lists::default() {
                self.server.mark_known();
            }
            self.server.mark_settled();
            if self.due.is_empty() {
                self.failures = 0;
                self.write_cache().await;
            }
        }
        self.notify();
    }

    /// Tells the log, in one line, what is newly wrong with the lists.
    fn log_troubles(&self, lists: &Lists) {
        let troubles = |lists: &Lists| lists.troubles().collect::<Vec<_>>().join("; ");
        let (now, before) = (troubles(lists), troubles(&self.server.lists.load()));
        if !now.is_empty() && now != before {
            let (server, reason) = (self.server.name(), self.server.redaction.text(&now));
            tracing::warn!(server, %reason, "not everything that the server lists is exported");
        }
    }

    /// Has lists asked for again that are stale, if the server does not tell of their changes.
    fn refresh(&mut self) {
        let stale = self.freshness.stale(|list| self.client.is_told(list));
        if !stale.is_empty() {
            self.schedule(stale, Duration::ZERO);
        }
    }

    /// A call was refused as if there were no such tool.
    fn on_stale_hint(&mut self) {
        if !self.client.is_told(List::Tools) {
            self.client.forget(List::Tools);
            self.freshness.hint_stale(List::Tools);
        }
    }

    async fn write_cache(&mut self) {
        let folder = self.registry.upgrade().and_then(|registry| registry.settings.folder.clone());
        let Some(folder) = folder.filter(|_| !self.is_cached) else { return };
        self.is_cached = true;
        let server = self.server.clone();
        let saving = tokio::task::spawn_blocking(move || {
            let lists = server.lists.load_full();
            let file = folder.join(server.config.cache_file());
            if let Err(error) = lists.save(&file, &server.config.identity()) {
                let server = server.name();
                tracing::warn!(server, %error, "cannot write the cache of the lists of a server");
            }
        });
        let _ = saving.await;
    }
}

/// Waits until then; for ever if it is not said when.
async fn sleep_until_some(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
