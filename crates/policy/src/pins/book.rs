//! The pins and everything that is offered, and what follows from both.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use super::PinError;
use super::held::{Held, Reason};
use super::pin::{Digest, FIRST_SIGHT, Key, Kind, Pin, day};
use super::seen::{Seen, Subject};
use super::settings::{PinMode, PinSettings};
use foldhash::HashMap;

/// The pins and everything that is offered.
pub(super) struct Book {
    pub(super) settings: PinSettings,
    pub(super) pins: BTreeMap<Key, Arc<Pin>>,
    /// By the address of the definition.
    seen: HashMap<usize, Arc<Seen>>,
    /// The number of the last thing seen.
    last: u64,
}

/// What was judged, by the address of the definition.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    /// Another one as soon as something changes.
    pub(super) number: u64,
    judged: HashMap<usize, Judged>,
    held: usize,
}

/// A thing that was judged. It is kept, so that its address is no other's.
#[derive(Debug)]
struct Judged {
    _seen: Arc<Seen>,
    held: Option<Arc<Held>>,
}

impl Verdicts {
    pub(super) fn is_judged(&self, address: usize) -> bool {
        self.judged.contains_key(&address)
    }

    pub(super) fn of(&self, address: usize) -> Option<&Option<Arc<Held>>> {
        self.judged.get(&address).map(|it| &it.held)
    }

    pub(super) fn held(&self) -> impl Iterator<Item = &Arc<Held>> {
        self.judged.values().filter_map(|it| it.held.as_ref())
    }

    pub(super) fn holds_nothing(&self) -> bool {
        self.held == 0
    }

    /// Whether the same things are held back.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let is_known = |address: &usize| other.of(*address).is_some_and(Option::is_some);
        let mut held = self.judged.iter().filter(|(_, it)| it.held.is_some());
        self.held == other.held && held.all(|(address, _)| is_known(address))
    }
}

impl Book {
    pub(super) fn new(settings: PinSettings) -> Self {
        Self { settings, pins: BTreeMap::new(), seen: HashMap::default(), last: 0 }
    }

    /// Takes note of what is offered.
    pub(super) fn see(&mut self, subject: &Subject<'_>) {
        let address = subject.address();
        if !self.seen.contains_key(&address) {
            self.last += 1;
            self.seen.insert(address, Arc::new(subject.see(self.last)));
        }
    }

    /// Forgets what is offered no longer. Gives whether there was something.
    pub(super) fn forget_gone(&mut self) -> bool {
        let before = self.seen.len();
        self.seen.retain(|_, seen| seen.is_offered());
        self.seen.len() < before
    }

    /// Pins what is seen for the first time, if that is how it is. Gives whether something was.
    pub(super) fn pin_new(&mut self, present: Option<&HashSet<Key>>) -> bool {
        if self.settings.mode != PinMode::FirstSight {
            return false;
        }
        let is_new = |seen: &&Arc<Seen>| {
            self.concerns(&seen.key)
                && !self.pins.contains_key(&seen.key)
                && !self.settings.suspicious.holds(&seen.suspicions)
        };
        let mut new: Vec<Arc<Seen>> = self.seen.values().filter(is_new).cloned().collect();
        new.sort_by_key(|seen| seen.number);
        new.truncate(self.settings.most.saturating_sub(self.pins.len()));
        if new.is_empty() {
            return false;
        }
        let known: HashSet<(Arc<str>, Kind)> =
            self.pins.keys().map(|key| (key.server.clone(), key.kind)).collect();
        for seen in new {
            let is_late = known.contains(&(seen.key.server.clone(), seen.key.kind));
            let renamed_from = present.filter(|_| is_late).and_then(|it| self.former(&seen, it));
            let pin = Pin { is_late, renamed_from, ..pin(&seen, FIRST_SIGHT) };
            tell(&seen, &pin);
            self.pins.entry(seen.key.clone()).or_insert_with(|| Arc::new(pin));
        }
        true
    }

    /// What a thing was called before: the name of a pin that says the same and is not there now.
    fn former(&self, seen: &Seen, present: &HashSet<Key>) -> Option<String> {
        let nameless =
            |definition: &gantry_protocol::RawJson| definition.edit().remove("name").apply();
        let now = nameless(&seen.definition());
        let is_former = |pin: &&Arc<Pin>| {
            pin.key.server == seen.key.server
                && pin.key.kind == seen.key.kind
                && !present.contains(&pin.key)
                && nameless(&pin.definition) == now
        };
        self.pins.values().find(is_former).map(|pin| pin.key.name.to_string())
    }

    /// Judges all that is offered. What was held back for the same reason stays the same.
    pub(super) fn judge(&self, before: &Verdicts) -> Verdicts {
        // What is read anew and says the same is not told again.
        let known: HashMap<Digest, &Arc<Held>> =
            before.held().map(|held| (held.seen.digest, held)).collect();
        let judge = |(address, seen): (&usize, &Arc<Seen>)| {
            let pin = self.pins.get(&seen.key);
            let held = self.reason(seen, pin).map(|reason| {
                let is_same = |held: &&&Arc<Held>| {
                    held.reason == reason
                        && held.before.as_ref().map(Arc::as_ptr) == pin.map(Arc::as_ptr)
                };
                known.get(&seen.digest).filter(is_same).copied().cloned().unwrap_or_else(|| {
                    let held = Held::new(seen.clone(), reason, pin.cloned());
                    tracing::warn!("held back: {}", held.explain(&seen.shown));
                    Arc::new(held)
                })
            });
            (*address, Judged { _seen: seen.clone(), held })
        };
        let judged: HashMap<usize, Judged> = self.seen.iter().map(judge).collect();
        let held = judged.values().filter(|it| it.held.is_some()).count();
        Verdicts { number: before.number + 1, judged, held }
    }

    /// Why a thing is to be held back, if it is.
    fn reason(&self, seen: &Seen, pin: Option<&Arc<Pin>>) -> Option<Reason> {
        let PinSettings { mode, suspicious, .. } = &self.settings;
        if !self.concerns(&seen.key) {
            return None;
        }
        let is_suspicious = suspicious.holds(&seen.suspicions);
        match pin {
            Some(pin) if pin.identity != seen.identity => Some(Reason::OtherServer),
            Some(pin) if pin.digest != seen.digest => Some(Reason::Changed),
            Some(pin) => (is_suspicious && pin.is_by_first_sight()).then_some(Reason::Suspicious),
            None if is_suspicious => Some(Reason::Suspicious),
            None if *mode == PinMode::Locked => Some(Reason::NotPinned),
            None => Some(Reason::TooMany),
        }
    }

    /// Whether a thing is pinned at all.
    pub(super) fn concerns(&self, key: &Key) -> bool {
        self.settings.mode != PinMode::Off && (self.settings.own || !key.server.is_empty())
    }

    /// Pins a thing as it is now.
    pub(super) fn accept(&mut self, seen: &Seen, by: &str) {
        self.pins.insert(seen.key.clone(), Arc::new(pin(seen, by)));
    }

    /// What is offered now, by a name of it. The one seen last counts.
    pub(super) fn offered(&self, name: &str) -> Result<Arc<Seen>, PinError> {
        let (kind, bare) = by_kind(name);
        let is_meant = |seen: &&Arc<Seen>| {
            kind.is_none_or(|kind| seen.key.kind == kind) && seen.is_called(bare)
        };
        let meant: Vec<&Arc<Seen>> = self.seen.values().filter(is_meant).collect();
        let exact: Vec<&Arc<Seen>> = meant.iter().copied().filter(|it| it.shown == bare).collect();
        let key = one(name, if exact.is_empty() { &meant } else { &exact }, |it| &it.key)?;
        let latest = meant.into_iter().filter(|it| it.key == key).max_by_key(|it| it.number);
        latest.cloned().ok_or_else(|| PinError::Unknown(name.to_owned()))
    }

    /// What is pinned, by a name of it.
    pub(super) fn pinned(&self, name: &str) -> Result<Key, PinError> {
        if let Ok(seen) = self.offered(name)
            && self.pins.contains_key(&seen.key)
        {
            return Ok(seen.key.clone());
        }
        let (kind, bare) = by_kind(name);
        let is_meant = |key: &&Key| {
            kind.is_none_or(|kind| key.kind == kind) && (*key.name == *bare || key.path() == bare)
        };
        let meant: Vec<&Key> = self.pins.keys().filter(is_meant).collect();
        one(name, &meant, |key| key)
    }

    /// What is offered, by what it is.
    pub(super) fn offer(&self, key: &Key) -> Option<&Arc<Seen>> {
        self.seen.values().find(|seen| seen.key == *key)
    }
}

/// A name may say what sort of thing it is: `prompt:NAME`.
fn by_kind(name: &str) -> (Option<Kind>, &str) {
    let said = name.split_once(':').and_then(|(word, rest)| Some((Kind::of(word)?, rest)));
    said.map_or((None, name), |(kind, rest)| (Some(kind), rest))
}

/// The one thing that is meant.
fn one<T>(name: &str, meant: &[&T], key: impl Fn(&T) -> &Key) -> Result<Key, PinError> {
    let keys: std::collections::BTreeSet<&Key> = meant.iter().map(|it| key(it)).collect();
    let mut all = keys.iter();
    match (all.next(), all.next()) {
        (Some(key), None) => Ok((*key).clone()),
        (None, _) => Err(PinError::Unknown(name.to_owned())),
        _ => {
            let path = |key: &&Key| format!("`{}:{}`", key.kind.word(), key.path());
            let paths = keys.iter().map(path).collect::<Vec<_>>().join(" or ");
            Err(PinError::Ambiguous { name: name.to_owned(), paths })
        }
    }
}

fn pin(seen: &Seen, by: &str) -> Pin {
    Pin {
        key: seen.key.clone(),
        identity: seen.identity.clone(),
        digest: seen.digest,
        definition: seen.definition(),
        first_seen: day(SystemTime::now()),
        accepted_by: by.to_owned(),
        is_late: false,
        renamed_from: None,
    }
}

/// Tells of what a person should know of a thing that was pinned without asking.
fn tell(seen: &Seen, pin: &Pin) {
    let (kind, name, server) = (seen.key.kind.word(), &seen.shown, &seen.key.server);
    match &pin.renamed_from {
        Some(former) => {
            tracing::warn!(
                "the {kind} `{name}` of server `{server}` is new; it was called `{former}`"
            );
        }
        None if pin.is_late => tracing::warn!("the {kind} `{name}` of server `{server}` is new"),
        None => tracing::debug!("the {kind} `{name}` of server `{server}` is pinned"),
    }
    for suspicion in &seen.suspicions {
        let (place, what, excerpt) = (&suspicion.place, &suspicion.what, &suspicion.excerpt);
        tracing::warn!(
            "the {kind} `{name}` of server `{server}` is suspicious: {place} {what}: {excerpt}"
        );
    }
}
