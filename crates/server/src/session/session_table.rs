//! The table of HTTP sessions in memory, by principal, within the principal's quota. An idle session
//! is removed; its id restores it when it is used again.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use foldhash::HashMap;
use gantry_gateway::TokenLease;
use tokio::time::Instant;

use crate::authenticator::Identity;
use crate::quota::{QuotaExceeded, QuotaTable};
use crate::server_state::ServerState;
use crate::session::Session;
pub(crate) use crate::session::http_session::HttpSession;
use crate::session::http_session::SessionQuota;
use crate::session::session_id::open_session_id;
use crate::settings::Settings;
use crate::tasks::TaskTable;

/// The sessions in memory, and the ids of those that were ended.
#[derive(Debug)]
pub(crate) struct SessionTable {
    quota: Arc<QuotaTable>,
    by_principal: RwLock<ByPrincipal>,
    ended: Mutex<EndedIds>,
}

type ByPrincipal = HashMap<Arc<str>, PrincipalSessions>;

/// The sessions of one principal.
#[derive(Debug, Default)]
struct PrincipalSessions {
    by_id: HashMap<String, Arc<HttpSession>>,
    /// No scan for idle sessions before this.
    next_scan: Option<Instant>,
}

/// Ids that are invalid although their seal is valid.
#[derive(Debug, Default)]
struct EndedIds {
    known: HashSet<String>,
    order: VecDeque<String>,
}

/// What a session id leads to.
pub(crate) enum SessionLookup {
    /// A session of this principal.
    Found(Arc<HttpSession>),
    /// Never issued, ended, expired, or another principal's: the client cannot tell which.
    Unknown,
    /// The quota is used up.
    Full(QuotaExceeded),
}

/// The part of an id that is unique to it.
const UNIQUE: usize = 32;
/// The pause after a scan of all sessions of a principal found none idle: a client that is rejected
/// and retries must not cost a scan each time.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);

impl SessionTable {
    /// An empty table.
    pub(crate) fn new(quota: Arc<QuotaTable>) -> Self {
        Self { quota, by_principal: RwLock::default(), ended: Mutex::default() }
    }

    /// The session with this id: from memory, or restored from the id.
    pub(crate) fn find(
        &self,
        server_state: &ServerState,
        identity: &Identity,
        id: &str,
    ) -> SessionLookup {
        let known = self.read().get(&identity.principal).and_then(|it| it.by_id.get(id).cloned());
        if let Some(found) = known {
            if !found.belongs_to(identity) || found.virtual_server != server_state.virtual_server {
                return SessionLookup::Unknown;
            }
            found.touch();
            return SessionLookup::Found(found);
        }
        let is_ended = id.get(..UNIQUE).is_none_or(|unique| self.ended().known.contains(unique));
        let opened = (!is_ended).then(|| open_session_id(server_state, identity, id)).flatten();
        opened.map_or(SessionLookup::Unknown, |session| self.insert(server_state, id, session))
    }

    /// Adds a restored session.
    fn insert(&self, server_state: &ServerState, id: &str, session: Session) -> SessionLookup {
        let caller = session.caller.clone();
        if let Some(lease) = &caller.lease {
            server_state.revocation.watch(server_state, lease);
        }
        let account = self.quota.account(&caller.principal);
        let mut by_principal = self.write();
        // Checked with the lock held: if the token is revoked later, the session is found here.
        if caller.lease.as_ref().is_some_and(|lease| lease.is_ended()) {
            return SessionLookup::Unknown;
        }
        let mut acquired = SessionQuota::acquire(&account, id, &session);
        if let Err(exceeded) = acquired {
            evict_idle(&mut by_principal, &caller.principal, exceeded, server_state);
            acquired = SessionQuota::acquire(&account, id, &session);
        }
        let quota = match acquired {
            Ok(quota) => quota,
            Err(exceeded) => return SessionLookup::Full(exceeded),
        };
        let sessions = by_principal.entry(caller.principal.clone()).or_default();
        let new = || HttpSession::new(session, server_state.virtual_server.clone(), quota);
        SessionLookup::Found(sessions.by_id.entry(id.to_owned()).or_insert_with(new).clone())
    }

    /// Ends a session of a principal for good.
    pub(crate) fn end(&self, settings: &Settings, principal: &str, id: &str) {
        let removed = self.write().get_mut(principal).and_then(|it| it.by_id.remove(id));
        if let Some(removed) = removed {
            removed.end();
        }
        self.ended().add(id, settings.sessions);
    }

    /// Ends the sessions that were opened with a token, for good.
    pub(crate) fn end_credential(&self, settings: &Settings, lease: &Arc<TokenLease>) {
        let ended = self.extract(|session| session.was_opened_with(lease));
        for (id, session) in ended {
            session.end();
            self.ended().add(&id, settings.sessions);
        }
    }

    /// Ends the sessions of a virtual server that was closed. Their ids stay valid if it is opened
    /// again.
    pub(crate) fn end_virtual_server(&self, name: &str) {
        let ended = self.extract(|session| session.virtual_server.as_deref() == Some(name));
        ended.iter().for_each(|(_, session)| session.end());
    }

    /// Removes idle sessions, and streams that no client resumed in time.
    pub(crate) fn sweep(&self, server_state: &ServerState) {
        let settings = &server_state.settings;
        let idle = |session: &Arc<HttpSession>| {
            session.sweep(settings.replay_for);
            if is_active(session, &server_state.task_table) {
                session.touch();
            }
            session.last_used().elapsed() >= settings.session_idle
        };
        drop(self.extract(idle));
    }

    /// The number of sessions in memory.
    pub(crate) fn count(&self) -> usize {
        self.read().values().map(|sessions| sessions.by_id.len()).sum()
    }

    /// Removes the sessions that match.
    fn extract(
        &self,
        wanted: impl Fn(&Arc<HttpSession>) -> bool,
    ) -> Vec<(String, Arc<HttpSession>)> {
        let mut by_principal = self.write();
        let mut extracted = Vec::new();
        for sessions in by_principal.values_mut() {
            extracted.extend(sessions.by_id.extract_if(|_, session| wanted(session)));
        }
        by_principal.retain(|_, sessions| !sessions.by_id.is_empty());
        extracted
    }

    fn read(&self) -> RwLockReadGuard<'_, ByPrincipal> {
        self.by_principal.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, ByPrincipal> {
        self.by_principal.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> MutexGuard<'_, EndedIds> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Evicts idle sessions of a principal that opens one more. Those of others stay, unless the total
/// is used up: then the principal with the most sessions gives way, if it has more than this one.
fn evict_idle(
    by_principal: &mut ByPrincipal,
    principal: &Arc<str>,
    exceeded: QuotaExceeded,
    server_state: &ServerState,
) {
    let mut own = 0;
    if let Some(sessions) = by_principal.get_mut(principal) {
        if sessions.evict_idle(&server_state.task_table) {
            return;
        }
        own = sessions.by_id.len();
    }
    if exceeded.is_of_principal() {
        return;
    }
    let most = by_principal.values_mut().max_by_key(|sessions| sessions.by_id.len());
    if let Some(most) = most.filter(|sessions| sessions.by_id.len() > own) {
        most.evict_idle(&server_state.task_table);
    }
}

impl PrincipalSessions {
    /// Evicts the oldest idle sessions: a tenth of all, so that scans are rare. Their ids restore them
    /// when they are used, as after a restart. Returns whether there were any.
    fn evict_idle(&mut self, tasks: &TaskTable) -> bool {
        if self.next_scan.is_some_and(|next| Instant::now() < next) {
            return false;
        }
        let idle = self.by_id.iter().filter(|(_, session)| !is_active(session, tasks));
        let mut idle: Vec<_> =
            idle.map(|(id, session)| (session.last_used(), id.clone())).collect();
        let surplus = (self.by_id.len() / 10).max(1).min(idle.len());
        if surplus == 0 {
            self.next_scan = Some(Instant::now() + SCAN_INTERVAL);
            return false;
        }
        idle.select_nth_unstable(surplus - 1);
        idle.iter().take(surplus).for_each(|(_, id)| drop(self.by_id.remove(id)));
        true
    }
}

impl EndedIds {
    /// Adds an id, and removes the oldest beyond the limit.
    fn add(&mut self, id: &str, limit: usize) {
        let Some(unique) = id.get(..UNIQUE) else { return };
        if self.known.insert(unique.to_owned()) {
            self.order.push_back(unique.to_owned());
        }
        while self.order.len() > limit {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }
}

/// Whether a session of the table is in use. Its requests, calls and stream writers hold a
/// reference too.
fn is_active(session: &Arc<HttpSession>, tasks: &TaskTable) -> bool {
    Arc::strong_count(session) > 1 || session.is_active(tasks)
}

#[cfg(test)]
mod tests;
