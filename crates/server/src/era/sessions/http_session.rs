//! One session over HTTP: its streams, and whether anything happens in it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::HashMap;
use gantry_gateway::TokenLease;
use tokio::time::Instant;

use super::super::replay::{StreamLog, parse_place};
use super::super::session::Session;
use super::super::task_table::TaskTable;
use crate::authenticator::Identity;
use crate::quota::{Account, Permit, QuotaExceeded, Resource};
use crate::seal::random;
use crate::server_state::ServerState;

/// What a session takes beside its id and what its client declared: maps, locks, counters.
const FIXED_BYTES: usize = 1024;

/// A session and its streams.
#[derive(Debug)]
pub(crate) struct HttpSession {
    pub(crate) session: Session,
    /// Where it was opened.
    pub(super) virtual_server: Option<Arc<str>>,
    account: Arc<Account>,
    streams: Mutex<HashMap<u64, Arc<StreamLog>>>,
    last_stream: AtomicU64,
    /// The stream that carries what belongs to no call.
    general: Mutex<Option<Arc<StreamLog>>>,
    touched: Mutex<Instant>,
    _permits: [Permit; 2],
}

/// What a session needs to be in memory.
pub(super) struct Room {
    account: Arc<Account>,
    permits: [Permit; 2],
}

impl Room {
    /// Takes what the session of that id needs.
    pub(super) fn take(
        account: &Arc<Account>,
        id: &str,
        session: &Session,
    ) -> Result<Self, QuotaExceeded> {
        let caller = &session.caller;
        let described = caller.client_info.as_ref().map_or(0, |info| info.bytes().len());
        let declared = caller.capabilities.raw.bytes().len();
        let bytes = FIXED_BYTES + id.len() + declared + described;
        let one = account.take(Resource::Sessions, 1)?;
        let permits = [one, account.take(Resource::Held, bytes)?];
        Ok(Self { account: account.clone(), permits })
    }
}

impl HttpSession {
    pub(super) fn new(session: Session, virtual_server: Option<Arc<str>>, room: Room) -> Arc<Self> {
        Arc::new(Self {
            session,
            virtual_server,
            account: room.account,
            streams: Mutex::default(),
            // Numbers of streams before a restart must not be taken for numbers after it.
            last_stream: AtomicU64::new(u64::from(u32::from_le_bytes(random()))),
            general: Mutex::default(),
            touched: Mutex::new(Instant::now()),
            _permits: room.permits,
        })
    }

    /// Whether a visitor has opened it. What they may use now may differ from what they might
    /// then, if another token has their name now: then it is as unknown as another's.
    pub(super) fn is_of(&self, identity: &Identity) -> bool {
        let caller = &self.session.caller;
        let is_over = caller.lease.as_ref().is_some_and(|lease| lease.is_ended());
        caller.principal == identity.principal && caller.scope == identity.scope && !is_over
    }

    /// Whether it was opened with this credential.
    pub(super) fn is_with(&self, lease: &Arc<TokenLease>) -> bool {
        self.session.caller.lease.as_ref().is_some_and(|own| Arc::ptr_eq(own, lease))
    }

    /// Opens a stream for what one call has to say; none when there are too many.
    pub(crate) fn open_stream(&self, server_state: &ServerState) -> Option<Arc<StreamLog>> {
        let settings = &server_state.settings;
        let mut streams = self.streams();
        if streams.len() >= settings.streams_of_session {
            streams.retain(|_, log| !log.is_stale(Duration::ZERO));
        }
        if streams.len() >= settings.streams_of_session {
            return None;
        }
        let number = self.last_stream.fetch_add(1, Ordering::Relaxed) + 1;
        let log = StreamLog::new(number, settings, &self.account);
        streams.insert(number, log.clone());
        Some(log)
    }

    /// The stream for what belongs to no call. True when it is new and needs someone to fill it.
    pub(crate) fn general_stream(&self, server_state: &ServerState) -> (Arc<StreamLog>, bool) {
        let mut general = self.general();
        if let Some(log) = general.as_ref() {
            return (log.clone(), false);
        }
        let number = self.last_stream.fetch_add(1, Ordering::Relaxed) + 1;
        let log = StreamLog::new(number, &server_state.settings, &self.account);
        *general = Some(log.clone());
        (log, true)
    }

    /// The stream and the place in it that a returning client names, if it is still there.
    pub(crate) fn find_stream(&self, place: &str) -> Option<(Arc<StreamLog>, u64)> {
        let (number, after) = parse_place(place)?;
        let general = self.general().clone();
        let found = general.filter(|log| log.number == number);
        let log = found.or_else(|| self.streams().get(&number).cloned())?;
        Some((log, after))
    }

    /// Ends its calls and streams.
    pub(super) fn end(&self) {
        self.session.ended.cancel();
        self.streams().drain().for_each(|(_, log)| log.finish());
        if let Some(log) = self.general().take() {
            log.finish();
        }
    }

    /// Forgets streams that nobody came back to.
    pub(super) fn sweep(&self, kept: Duration) {
        self.streams().retain(|_, log| !log.is_stale(kept));
        if let Some(log) = self.general().take_if(|log| log.is_deserted(kept)) {
            log.finish();
        }
    }

    /// Whether somebody reads one of its streams, or a call or task of it runs. What a client has
    /// merely set, such as a log level or a subscription, does not keep a session in memory.
    pub(super) fn is_active(&self, tasks: &TaskTable) -> bool {
        let is_followed = |log: &Arc<StreamLog>| log.is_followed();
        self.general().as_ref().is_some_and(is_followed)
            || self.streams().values().any(is_followed)
            || self.session.is_running(tasks)
    }

    pub(super) fn touch(&self) {
        *self.touched.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// When it was last used.
    pub(super) fn touched(&self) -> Instant {
        *self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<u64, Arc<StreamLog>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn general(&self) -> MutexGuard<'_, Option<Arc<StreamLog>>> {
        self.general.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
