//! A session over HTTP: its event streams, and whether it is active.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::HashMap;
use gantry_gateway::TokenLease;
use tokio::time::Instant;

use crate::authenticator::Identity;
use crate::quota::{Account, Permit, QuotaExceeded, Resource};
use crate::seal::random;
use crate::server_state::ServerState;
use crate::session::Session;
use crate::session::replay_log::{ReplayLog, parse_event_id};
use crate::tasks::TaskTable;

/// The memory of a session beside its id and what its client declared: maps, locks, counters.
const FIXED_BYTES: usize = 1024;

/// A session and its streams.
#[derive(Debug)]
pub(crate) struct HttpSession {
    pub(crate) session: Session,
    /// The virtual server that it was opened on.
    pub(crate) virtual_server: Option<Arc<str>>,
    account: Arc<Account>,
    streams: Mutex<HashMap<u64, Arc<ReplayLog>>>,
    last_stream: AtomicU64,
    /// The stream of GET, for messages that belong to no call.
    general: Mutex<Option<Arc<ReplayLog>>>,
    last_used: Mutex<Instant>,
    _permits: [Permit; 2],
}

/// The quota that a session in memory takes.
pub(crate) struct SessionQuota {
    account: Arc<Account>,
    permits: [Permit; 2],
}

impl SessionQuota {
    /// Acquires the quota for a session with this id.
    pub(crate) fn acquire(
        account: &Arc<Account>,
        id: &str,
        session: &Session,
    ) -> Result<Self, QuotaExceeded> {
        let caller = &session.caller;
        let described = caller.client_info.as_ref().map_or(0, |info| info.bytes().len());
        let declared = caller.capabilities.raw.bytes().len();
        let bytes = FIXED_BYTES + id.len() + declared + described;
        let one = account.acquire(Resource::Sessions, 1)?;
        let permits = [one, account.acquire(Resource::Held, bytes)?];
        Ok(Self { account: account.clone(), permits })
    }
}

impl HttpSession {
    pub(crate) fn new(
        session: Session,
        virtual_server: Option<Arc<str>>,
        quota: SessionQuota,
    ) -> Arc<Self> {
        Arc::new(Self {
            session,
            virtual_server,
            account: quota.account,
            streams: Mutex::default(),
            // Random, so that a stream of before a restart is not confused with one after it.
            last_stream: AtomicU64::new(u64::from(u32::from_le_bytes(random()))),
            general: Mutex::default(),
            last_used: Mutex::new(Instant::now()),
            _permits: quota.permits,
        })
    }

    /// Whether this identity has opened it. Scopes are compared too: another token may have the
    /// same principal by now. Anyone else gets the same error as for an id that never existed.
    pub(crate) fn belongs_to(&self, identity: &Identity) -> bool {
        let caller = &self.session.caller;
        let is_revoked = caller.lease.as_ref().is_some_and(|lease| lease.is_ended());
        caller.principal == identity.principal && caller.scope == identity.scope && !is_revoked
    }

    /// Whether it was opened with this token.
    pub(crate) fn was_opened_with(&self, lease: &Arc<TokenLease>) -> bool {
        self.session.caller.lease.as_ref().is_some_and(|own| Arc::ptr_eq(own, lease))
    }

    /// Opens a stream for the messages of a call; none if the session has too many.
    pub(crate) fn open_stream(&self, server_state: &ServerState) -> Option<Arc<ReplayLog>> {
        let settings = &server_state.settings;
        let mut streams = self.streams();
        if streams.len() >= settings.streams_of_session {
            streams.retain(|_, log| !log.is_stale(Duration::ZERO));
        }
        if streams.len() >= settings.streams_of_session {
            return None;
        }
        let number = self.last_stream.fetch_add(1, Ordering::Relaxed) + 1;
        let log = ReplayLog::new(number, settings, &self.account);
        streams.insert(number, log.clone());
        Some(log)
    }

    /// The stream for messages that belong to no call. True if it is new and needs a writer.
    pub(crate) fn general_stream(&self, server_state: &ServerState) -> (Arc<ReplayLog>, bool) {
        let mut general = self.general();
        if let Some(log) = general.as_ref() {
            return (log.clone(), false);
        }
        let number = self.last_stream.fetch_add(1, Ordering::Relaxed) + 1;
        let log = ReplayLog::new(number, &server_state.settings, &self.account);
        *general = Some(log.clone());
        (log, true)
    }

    /// The stream that `Last-Event-ID` names, and the number of that event, if the stream is still
    /// kept.
    pub(crate) fn find_stream(&self, event_id: &str) -> Option<(Arc<ReplayLog>, u64)> {
        let (number, after) = parse_event_id(event_id)?;
        let general = self.general().clone();
        let found = general.filter(|log| log.number == number);
        let log = found.or_else(|| self.streams().get(&number).cloned())?;
        Some((log, after))
    }

    /// Cancels its calls and ends its streams.
    pub(crate) fn end(&self) {
        self.session.ended.cancel();
        self.streams().drain().for_each(|(_, log)| log.finish());
        if let Some(log) = self.general().take() {
            log.finish();
        }
    }

    /// Removes streams that no client resumed in time.
    pub(crate) fn sweep(&self, kept: Duration) {
        self.streams().retain(|_, log| !log.is_stale(kept));
        if let Some(log) = self.general().take_if(|log| log.is_abandoned(kept)) {
            log.finish();
        }
    }

    /// Whether one of its streams has a reader, or a call or task of it runs. State that a client has
    /// set, such as a log level or a subscription, does not keep a session in memory.
    pub(crate) fn is_active(&self, tasks: &TaskTable) -> bool {
        let has_readers = |log: &Arc<ReplayLog>| log.has_readers();
        self.general().as_ref().is_some_and(has_readers)
            || self.streams().values().any(has_readers)
            || self.session.is_running(tasks)
    }

    /// Records that it is used now.
    pub(crate) fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    pub(crate) fn last_used(&self) -> Instant {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<u64, Arc<ReplayLog>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn general(&self) -> MutexGuard<'_, Option<Arc<ReplayLog>>> {
        self.general.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
