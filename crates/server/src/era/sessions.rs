//! Sessions over HTTP, by principal. What was agreed is in the session id; what happens in a session
//! is kept in memory while it is used, within its principal's quota.

mod http_session;
mod sealed;

pub(crate) use http_session::HttpSession;
pub(crate) use sealed::mint;

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use foldhash::HashMap;
use gantry_gateway::TokenLease;
use tokio::time::Instant;

use super::session::Session;
use super::task_table::TaskTable;
use crate::authenticator::Identity;
use crate::quota::{QuotaExceeded, QuotaTable};
use crate::server_state::ServerState;
use crate::settings::Settings;
use http_session::Room;

/// The sessions in memory, and those that were ended.
#[derive(Debug)]
pub(crate) struct Sessions {
    quota: Arc<QuotaTable>,
    live: RwLock<Live>,
    ended: Mutex<Ended>,
}

/// By principal.
type Live = HashMap<Arc<str>, Owned>;

/// The sessions of one principal.
#[derive(Debug, Default)]
struct Owned {
    by_id: HashMap<String, Arc<HttpSession>>,
    /// When it is worth looking for an idle one again.
    look_again: Option<Instant>,
}

/// Ids that must not be taken again although their seal is good.
#[derive(Debug, Default)]
struct Ended {
    known: HashSet<String>,
    order: VecDeque<String>,
}

/// What a session id leads to.
pub(crate) enum SessionLookup {
    /// A session of this principal.
    Found(Arc<HttpSession>),
    /// Not one of ours, ended, expired, or somebody else's.
    Unknown,
    /// There is no room for it.
    Full(QuotaExceeded),
}

/// The part of an id that is unique to it.
const UNIQUE: usize = 32;
/// After looking through all sessions of a principal in vain, for how long not to look again: a
/// client that is refused and asks again must not cost a look at every session each time.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Sessions {
    /// No sessions yet.
    pub(crate) fn new(quota: Arc<QuotaTable>) -> Self {
        Self { quota, live: RwLock::default(), ended: Mutex::default() }
    }

    /// The session that an id stands for.
    pub(crate) fn find(
        &self,
        server_state: &ServerState,
        identity: &Identity,
        id: &str,
    ) -> SessionLookup {
        let known = self.read().get(&identity.principal).and_then(|it| it.by_id.get(id).cloned());
        if let Some(found) = known {
            if !found.is_of(identity) || found.virtual_server != server_state.virtual_server {
                return SessionLookup::Unknown;
            }
            found.touch();
            return SessionLookup::Found(found);
        }
        let is_ended = id.get(..UNIQUE).is_none_or(|unique| self.ended().known.contains(unique));
        let opened = (!is_ended).then(|| sealed::open(server_state, identity, id)).flatten();
        opened.map_or(SessionLookup::Unknown, |session| self.validate(server_state, id, session))
    }

    /// Takes a session into memory.
    fn validate(&self, server_state: &ServerState, id: &str, session: Session) -> SessionLookup {
        let caller = session.caller.clone();
        if let Some(lease) = &caller.lease {
            server_state.watch_credential(lease);
        }
        let account = self.quota.account(&caller.principal);
        let mut live = self.write();
        // Looked at with the lock held: a credential that ends later finds the session here.
        if caller.lease.as_ref().is_some_and(|lease| lease.is_ended()) {
            return SessionLookup::Unknown;
        }
        let mut taken = Room::take(&account, id, &session);
        if let Err(exceeded) = taken {
            make_room(&mut live, &caller.principal, exceeded, server_state);
            taken = Room::take(&account, id, &session);
        }
        let room = match taken {
            Ok(room) => room,
            Err(exceeded) => return SessionLookup::Full(exceeded),
        };
        let owned = live.entry(caller.principal.clone()).or_default();
        let new = || HttpSession::new(session, server_state.virtual_server.clone(), room);
        SessionLookup::Found(owned.by_id.entry(id.to_owned()).or_insert_with(new).clone())
    }

    /// Ends a session of a principal for good.
    pub(crate) fn end(&self, settings: &Settings, principal: &str, id: &str) {
        let removed = self.write().get_mut(principal).and_then(|it| it.by_id.remove(id));
        if let Some(removed) = removed {
            removed.end();
        }
        self.ended().add(id, settings.sessions);
    }

    /// Ends the sessions that were opened with a credential, for good.
    pub(crate) fn end_credential(&self, settings: &Settings, lease: &Arc<TokenLease>) {
        let ended = self.extract(|session| session.is_with(lease));
        for (id, session) in ended {
            session.end();
            self.ended().add(&id, settings.sessions);
        }
    }

    /// Ends the sessions of a face that is gone. They may go on if it comes back.
    pub(crate) fn end_virtual_server(&self, name: &str) {
        let ended = self.extract(|session| session.virtual_server.as_deref() == Some(name));
        ended.iter().for_each(|(_, session)| session.end());
    }

    /// Forgets idle sessions, and streams that nobody came back to.
    pub(crate) fn sweep(&self, server_state: &ServerState) {
        let settings = &server_state.settings;
        let idle = |session: &Arc<HttpSession>| {
            session.sweep(settings.replay_for);
            if is_active(session, &server_state.task_table) {
                session.touch();
            }
            session.touched().elapsed() >= settings.session_idle
        };
        drop(self.extract(idle));
    }

    /// Sessions in memory.
    pub(crate) fn count(&self) -> usize {
        self.read().values().map(|owned| owned.by_id.len()).sum()
    }

    /// Removes the sessions for which this is true.
    fn extract(
        &self,
        wanted: impl Fn(&Arc<HttpSession>) -> bool,
    ) -> Vec<(String, Arc<HttpSession>)> {
        let mut live = self.write();
        let mut extracted = Vec::new();
        for owned in live.values_mut() {
            extracted.extend(owned.by_id.extract_if(|_, session| wanted(session)));
        }
        live.retain(|_, owned| !owned.by_id.is_empty());
        extracted
    }

    fn read(&self) -> RwLockReadGuard<'_, Live> {
        self.live.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Live> {
        self.live.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> MutexGuard<'_, Ended> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets idle sessions of a principal that wants room for one more. Those of others stay, unless
/// the total is used up: then those of the principal that has most of all give way, if it has more
/// than this one.
fn make_room(
    live: &mut Live,
    principal: &Arc<str>,
    exceeded: QuotaExceeded,
    server_state: &ServerState,
) {
    let mut own = 0;
    if let Some(owned) = live.get_mut(principal) {
        if owned.forget_idle(&server_state.task_table) {
            return;
        }
        own = owned.by_id.len();
    }
    if exceeded.is_of_principal() {
        return;
    }
    let most = live.values_mut().max_by_key(|owned| owned.by_id.len());
    if let Some(most) = most.filter(|owned| owned.by_id.len() > own) {
        most.forget_idle(&server_state.task_table);
    }
}

impl Owned {
    /// Forgets the oldest idle sessions: a tenth of all, so that looking for them is rare. They
    /// go on when they are used, as after a restart. Returns whether there were any.
    fn forget_idle(&mut self, tasks: &TaskTable) -> bool {
        if self.look_again.is_some_and(|again| Instant::now() < again) {
            return false;
        }
        let idle = self.by_id.iter().filter(|(_, session)| !is_active(session, tasks));
        let mut idle: Vec<_> = idle.map(|(id, session)| (session.touched(), id.clone())).collect();
        let surplus = (self.by_id.len() / 10).max(1).min(idle.len());
        if surplus == 0 {
            self.look_again = Some(Instant::now() + LOOK_AGAIN);
            return false;
        }
        idle.select_nth_unstable(surplus - 1);
        idle.iter().take(surplus).for_each(|(_, id)| drop(self.by_id.remove(id)));
        true
    }
}

impl Ended {
    /// Remembers an id, and forgets the oldest beyond the limit.
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

/// Whether a session of the table is in use. A request, a call or a listener of it holds it too.
fn is_active(session: &Arc<HttpSession>, tasks: &TaskTable) -> bool {
    Arc::strong_count(session) > 1 || session.is_active(tasks)
}

#[cfg(test)]
mod tests;
