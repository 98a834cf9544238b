//! Sessions over HTTP. What was agreed is sealed into the session id, so that a session goes on
//! after a restart; what happens in it is kept in memory while there is something to keep.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foldhash::HashMap;
use gantry_gateway::Caller;
use gantry_protocol::{ClientCapabilities, JsonLimits, RawJson, Revision};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::replay::{Budget, StreamLog, parse_place};
use super::session::Session;
use crate::doorman::Visitor;
use crate::lobby::Lobby;
use crate::seal::{Purpose, random};
use crate::settings::Settings;

/// The sessions in memory, and those that were ended.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    live: RwLock<HashMap<String, Arc<HttpSession>>>,
    ended: Mutex<Ended>,
    /// What all their streams together keep.
    budget: OnceLock<Arc<Budget>>,
}

/// Ids that must not be taken again although their seal is good.
#[derive(Debug, Default)]
struct Ended {
    known: HashSet<String>,
    order: VecDeque<String>,
}

/// A session and its streams.
#[derive(Debug)]
pub(crate) struct HttpSession {
    pub(crate) session: Session,
    /// Where it was opened.
    face: Option<Arc<str>>,
    streams: Mutex<HashMap<u64, Arc<StreamLog>>>,
    last_stream: AtomicU64,
    /// The stream that carries what belongs to no call.
    general: Mutex<Option<Arc<StreamLog>>>,
    touched: Mutex<Instant>,
}

/// What a session id leads to.
pub(crate) enum SessionLookup {
    /// A session of this principal.
    Found(Arc<HttpSession>),
    /// Not one of ours, ended, expired, or somebody else's.
    Unknown,
    /// More sessions are busy than may be.
    Full,
}

/// What is sealed into a session id.
#[derive(Serialize, Deserialize)]
struct Sealed {
    revision: String,
    principal: String,
    capabilities: String,
    client: Option<String>,
    issued: u64,
    /// What its calls say they belong to.
    name: Option<String>,
}

/// Longer descriptions of a client are not worth carrying in each request.
const LONGEST_CARRIED: usize = 2048;
/// The part of an id that is unique to it.
const UNIQUE: usize = 32;

/// The id that stands for a session.
pub(crate) fn mint(lobby: &Lobby, session: &Session) -> Option<String> {
    let carried =
        |raw: &RawJson| (raw.bytes().len() <= LONGEST_CARRIED).then(|| raw.as_str().to_owned());
    let caller = &session.caller;
    let sealed = Sealed {
        revision: session.revision.as_str().to_owned(),
        principal: caller.principal.to_string(),
        capabilities: carried(&caller.capabilities.raw).unwrap_or_else(|| "{}".to_owned()),
        client: caller.client_info.as_ref().and_then(carried),
        issued: unix_seconds(),
        name: caller.session.as_deref().map(str::to_owned),
    };
    lobby.seal.seal(Purpose::Session, &serde_json::to_vec(&sealed).ok()?)
}

impl Sealed {
    fn open(self, lobby: &Lobby, visitor: &Visitor) -> Option<Session> {
        let age = Duration::from_secs(unix_seconds().saturating_sub(self.issued));
        if age > lobby.settings.session_lifetime || *self.principal != *visitor.principal {
            return None;
        }
        let raw = |text: String| RawJson::parse(text, JsonLimits::default()).ok();
        let caller = Caller {
            principal: visitor.principal.clone(),
            capabilities: ClientCapabilities::read(raw(self.capabilities)?),
            client_info: self.client.and_then(raw),
            session: self.name.map(Arc::from),
            scope: visitor.scope.clone(),
            face: lobby.face.clone(),
        };
        Some(Session::new(Revision::parse(&self.revision)?, caller))
    }
}

impl Sessions {
    /// The session that an id stands for.
    pub(crate) fn find(&self, lobby: &Lobby, visitor: &Visitor, id: &str) -> SessionLookup {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = live.get(id) {
            if !found.is_of(visitor) || found.face != lobby.face {
                return SessionLookup::Unknown;
            }
            *found.touched() = Instant::now();
            return SessionLookup::Found(found.clone());
        }
        drop(live);
        let ended = id.get(..UNIQUE).is_none_or(|unique| self.ended().known.contains(unique));
        let opened = match ended {
            true => None,
            false => lobby.seal.open(Purpose::Session, id),
        };
        let sealed = opened.and_then(|text| serde_json::from_slice::<Sealed>(&text).ok());
        match sealed.and_then(|sealed| sealed.open(lobby, visitor)) {
            Some(session) => self.admit(lobby, id, session),
            None => SessionLookup::Unknown,
        }
    }

    /// Takes a session into memory.
    fn admit(&self, lobby: &Lobby, id: &str, session: Session) -> SessionLookup {
        let settings = &lobby.settings;
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        if live.len() >= settings.sessions {
            // An idle session loses nothing by being forgotten: its id brings it back.
            let surplus = live.len() + 1 - settings.sessions + settings.sessions / 10;
            let idle = live.iter().filter(|(_, session)| session.is_idle());
            let surplus: Vec<String> = idle.map(|(id, _)| id.clone()).take(surplus).collect();
            surplus.iter().for_each(|id| drop(live.remove(id)));
            if live.len() >= settings.sessions {
                return SessionLookup::Full;
            }
        }
        let session = || HttpSession::new(session, lobby.face.clone());
        let session = live.entry(id.to_owned()).or_insert_with(session);
        SessionLookup::Found(session.clone())
    }

    /// Ends a session for good.
    pub(crate) fn end(&self, settings: &Settings, id: &str) {
        let removed = self.live.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        if let Some(removed) = removed {
            removed.end();
        }
        let Some(unique) = id.get(..UNIQUE) else {
            return;
        };
        let mut ended = self.ended();
        if ended.known.insert(unique.to_owned()) {
            ended.order.push_back(unique.to_owned());
        }
        while ended.order.len() > settings.sessions {
            if let Some(oldest) = ended.order.pop_front() {
                ended.known.remove(&oldest);
            }
        }
    }

    /// Ends the sessions of a face that is gone. They may go on if it comes back.
    pub(crate) fn end_face(&self, name: &str) {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        let of_face = |session: &Arc<HttpSession>| session.face.as_deref() == Some(name);
        let ended: Vec<_> = live.extract_if(|_, session| of_face(session)).collect();
        drop(live);
        ended.iter().for_each(|(_, session)| session.end());
    }

    /// Forgets sessions that do nothing and streams that nobody came back to.
    pub(crate) fn sweep(&self, settings: &Settings) {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        for session in live.values() {
            session.sweep(settings.replay_for);
        }
        live.retain(|_, session| {
            !session.is_idle() || session.touched().elapsed() < settings.session_idle
        });
    }

    /// Sessions in memory.
    pub(crate) fn count(&self) -> usize {
        self.live.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn budget(&self, settings: &Settings) -> &Arc<Budget> {
        self.budget.get_or_init(|| Arc::new(Budget::new(settings.replay_total)))
    }

    fn ended(&self) -> MutexGuard<'_, Ended> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpSession {
    fn new(session: Session, face: Option<Arc<str>>) -> Arc<Self> {
        Arc::new(Self {
            session,
            face,
            streams: Mutex::default(),
            // Numbers of streams before a restart must not be taken for numbers after it.
            last_stream: AtomicU64::new(u64::from(u32::from_le_bytes(random()))),
            general: Mutex::default(),
            touched: Mutex::new(Instant::now()),
        })
    }

    /// Whether a visitor has opened it. What they may use now may differ from what they might
    /// then, if another token has their name now: then it is as unknown as another's.
    fn is_of(&self, visitor: &Visitor) -> bool {
        let caller = &self.session.caller;
        caller.principal == visitor.principal && caller.scope == visitor.scope
    }

    /// Opens a stream for what one call has to say; none when there are too many.
    pub(crate) fn open_stream(&self, lobby: &Lobby) -> Option<Arc<StreamLog>> {
        let settings = &lobby.settings;
        let mut streams = self.streams();
        if streams.len() >= settings.streams_of_session {
            streams.retain(|_, log| !log.is_stale(Duration::ZERO));
        }
        if streams.len() >= settings.streams_of_session {
            return None;
        }
        let number = self.last_stream.fetch_add(1, Ordering::Relaxed) + 1;
        let log = StreamLog::new(number, settings, lobby.sessions.budget(settings));
        streams.insert(number, log.clone());
        Some(log)
    }

    /// The stream for what belongs to no call. True when it is new and needs someone to fill it.
    pub(crate) fn general_stream(&self, lobby: &Lobby) -> (Arc<StreamLog>, bool) {
        let settings = &lobby.settings;
        let mut general = self.general.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = general.as_ref() {
            return (log.clone(), false);
        }
        let number = self.last_stream.fetch_add(1, Ordering::Relaxed) + 1;
        let log = StreamLog::new(number, settings, lobby.sessions.budget(settings));
        *general = Some(log.clone());
        (log, true)
    }

    /// The stream and the place in it that a returning client names, if it is still there.
    pub(crate) fn find_stream(&self, place: &str) -> Option<(Arc<StreamLog>, u64)> {
        let (number, after) = parse_place(place)?;
        let general = self.general.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let found = general.filter(|log| log.number == number);
        let log = found.or_else(|| self.streams().get(&number).cloned())?;
        Some((log, after))
    }

    fn end(&self) {
        self.session.ended.cancel();
        self.streams().drain().for_each(|(_, log)| log.finish());
        if let Some(log) = self.general.lock().unwrap_or_else(PoisonError::into_inner).take() {
            log.finish();
        }
    }

    fn sweep(&self, kept: Duration) {
        self.streams().retain(|_, log| !log.is_stale(kept));
        let mut general = self.general.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = general.take_if(|log| log.is_deserted(kept)) {
            log.finish();
        }
    }

    fn is_idle(&self) -> bool {
        let general = self.general.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        !general && self.streams().is_empty() && self.session.is_idle()
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<u64, Arc<StreamLog>>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn touched(&self) -> MutexGuard<'_, Instant> {
        self.touched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests;
