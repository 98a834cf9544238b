//! The pin table: all pins and everything that is offered, and the verdicts that follow.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::SystemTime;

use foldhash::HashMap;
use gantry_gateway::{ChangeClass, DefinitionChange};
use gantry_protocol::RawJson;

use super::definition_diff::compare;
use super::filters::Pinned;
use super::held::{HeldDefinition, Reason};
use super::lock::LARGEST_PINS;
use super::offered::{Seen, Subject};
use super::pin::{Digest, FIRST_SIGHT, Key, Kind, Pin, bytes_of, day};
use super::report::{Told, lines};
use super::{PinError, PinMode, PinSettings};

/// The pins and everything that is offered.
pub(super) struct PinTable {
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
    pinned: usize,
    /// By which it was judged.
    pub(super) settings: PinSettings,
}

/// A thing that was judged. It is kept, so that its address is no other's.
#[derive(Debug)]
struct Judged {
    _seen: Arc<Seen>,
    /// How it differs from what was pinned, if it does.
    note: Option<Arc<HeldDefinition>>,
    /// What clients see in its place.
    pinned: Option<Arc<Pinned>>,
}

impl Judged {
    fn held(&self) -> Option<&Arc<HeldDefinition>> {
        self.note.as_ref().filter(|it| it.reason.is_held())
    }

    /// What clients and people are to hear of when it changes.
    fn state(&self) -> (bool, Option<usize>) {
        let pinned = self.pinned.as_ref().map(|it| Arc::as_ptr(&it.pin) as usize);
        (self.held().is_some(), pinned)
    }
}

impl Verdicts {
    /// None yet, by these settings.
    pub(super) fn none(settings: PinSettings) -> Self {
        Self { settings, ..Self::default() }
    }

    pub(super) fn is_judged(&self, address: usize) -> bool {
        self.judged.contains_key(&address)
    }

    /// Why a thing is held back, if it was judged and is.
    pub(super) fn of(&self, address: usize) -> Option<Option<&Arc<HeldDefinition>>> {
        self.judged.get(&address).map(Judged::held)
    }

    /// How a thing differs from what was pinned, if it does.
    pub(super) fn note(&self, address: usize) -> Option<&Arc<HeldDefinition>> {
        self.judged.get(&address)?.note.as_ref()
    }

    /// What clients see in the place of a thing, if that is something else.
    pub(super) fn pinned(&self, address: usize) -> Option<&Arc<Pinned>> {
        self.judged.get(&address)?.pinned.as_ref()
    }

    /// All that is not as it was pinned.
    pub(super) fn notes(&self) -> impl Iterator<Item = &Arc<HeldDefinition>> {
        self.judged.values().filter_map(|it| it.note.as_ref())
    }

    pub(super) fn holds_nothing(&self) -> bool {
        self.held == 0
    }

    /// Whether everything is shown as it is offered.
    pub(super) fn shows_all(&self) -> bool {
        self.pinned == 0
    }

    /// Whether the same things are held back, and the same are shown in the place of others.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let odd = |verdicts: &Self| -> HashSet<(usize, bool, Option<usize>)> {
            let states = verdicts.judged.iter().map(|(address, it)| (*address, it.state()));
            let odd = states.filter(|(_, (held, pinned))| *held || pinned.is_some());
            odd.map(|(address, (held, pinned))| (address, held, pinned)).collect()
        };
        odd(self) == odd(other)
    }
}

impl PinTable {
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
        if !self.settings.mode.pins_new() {
            return false;
        }
        let is_new = |seen: &&Arc<Seen>| {
            self.concerns(&seen.key)
                && !seen.is_cached
                && !self.pins.contains_key(&seen.key)
                && !self.settings.suspicious.holds(&seen.findings)
        };
        let mut new: Vec<Arc<Seen>> = self.seen.values().filter(is_new).cloned().collect();
        new.sort_by_key(|seen| seen.number);
        if new.is_empty() {
            return false;
        }
        let mut room = Room::left(self.pins.values(), &self.settings);
        new.retain(|seen| room.take(seen));
        if new.is_empty() {
            return false;
        }
        let whose = |key: &Key| (key.server.clone(), key.identity.clone(), key.kind);
        let known: HashSet<_> = self.pins.keys().map(whose).collect();
        self.tell_of_other_servers(&new);
        let mut told = Told::default();
        let mut formers: HashMap<_, HashMap<RawJson, Arc<str>>> = HashMap::default();
        for seen in new {
            let is_late = known.contains(&whose(&seen.key));
            let renamed_from = present.filter(|_| is_late).and_then(|present| {
                let gone = formers.entry(whose(&seen.key));
                let gone = gone.or_insert_with(|| self.gone(&seen.key, present));
                gone.get(&nameless(&seen.definition())).map(ToString::to_string)
            });
            let pin = Pin { is_late, renamed_from, ..pin(&seen, FIRST_SIGHT) };
            told.note(&seen, &pin);
            self.pins.entry(seen.key.clone()).or_insert_with(|| Arc::new(pin));
        }
        told.tell();
        true
    }

    /// Tells, once for each server, that a program or address is new under the name of another one.
    fn tell_of_other_servers(&self, new: &[Arc<Seen>]) {
        let servers: BTreeSet<_> =
            new.iter().map(|seen| (&seen.key.server, &seen.key.identity)).collect();
        let mut told = HashSet::new();
        for (server, identity) in servers {
            let mut pinned = self.pins.keys().filter(|key| key.server == *server).peekable();
            if pinned.peek().is_some()
                && pinned.all(|key| key.identity != *identity)
                && told.insert(server)
            {
                tracing::warn!(
                    "server `{server}` has another program, arguments or address than before; its \
                     definitions are pinned as if seen for the first time"
                );
            }
        }
    }

    /// What a server pinned of a kind that is not there now, by all but its name. Made once for all
    /// that is new: a server may rename thousands of tools at once.
    fn gone(&self, key: &Key, present: &HashSet<Key>) -> HashMap<RawJson, Arc<str>> {
        let is_meant = |pin: &&Arc<Pin>| {
            pin.key.server == key.server
                && pin.key.identity == key.identity
                && pin.key.kind == key.kind
                && !present.contains(&pin.key)
        };
        let mut gone = HashMap::default();
        for pin in self.pins.values().filter(is_meant) {
            gone.entry(nameless(&pin.definition)).or_insert_with(|| pin.key.name.clone());
        }
        gone
    }

    /// Judges all that is offered. What differed before in the same way is not told again.
    pub(super) fn judge(&self, before: &Verdicts) -> Verdicts {
        let known: HashMap<Digest, &Judged> = before
            .judged
            .values()
            .filter_map(|judged| Some((judged.note.as_ref()?.seen.digest, judged)))
            .collect();
        let mut told = BTreeSet::new();
        let judge = |(address, seen): (&usize, &Arc<Seen>)| {
            let pin = self.pins.get(&seen.key).filter(|_| self.concerns(&seen.key));
            let is_same_pin = |it: &&Judged| {
                let note = it.note.as_ref().and_then(|note| note.before.as_ref());
                note.map(Arc::as_ptr) == pin.map(Arc::as_ptr)
            };
            let known = known.get(&seen.digest).copied().filter(is_same_pin);
            let differing = pin.filter(|pin| pin.digest != seen.digest);
            let changes = match (known.and_then(|it| it.note.as_ref()), differing) {
                (Some(note), _) => note.changes.clone(),
                (None, Some(pin)) => compare(&seen.key, &pin.definition, &seen.definition()),
                (None, None) => Vec::new(),
            };
            let note = self.reason(seen, pin, &changes).map(|reason| {
                let same = known.and_then(|it| it.note.clone()).filter(|it| it.reason == reason);
                same.unwrap_or_else(|| {
                    if reason != Reason::Rewritten {
                        told.insert(seen.key.server.clone());
                    }
                    let (seen, before) = (seen.clone(), pin.cloned());
                    Arc::new(HeldDefinition { seen, reason, before, changes })
                })
            });
            let pinned = differing.map(|pin| {
                let same = known.and_then(|it| it.pinned.clone());
                same.unwrap_or_else(|| Arc::new(Pinned::new(pin.clone(), &seen.own.name)))
            });
            (*address, Judged { _seen: seen.clone(), note, pinned })
        };
        let judged: HashMap<usize, Judged> = self.seen.iter().map(judge).collect();
        let held = judged.values().filter(|it| it.held().is_some()).count();
        let pinned = judged.values().filter(|it| it.pinned.is_some()).count();
        let verdicts = Verdicts {
            number: before.number + 1,
            judged,
            held,
            pinned,
            settings: self.settings.clone(),
        };
        let mut latest: BTreeMap<&Key, u64> = BTreeMap::new();
        for seen in self.seen.values() {
            let number = latest.entry(&seen.key).or_default();
            *number = seen.number.max(*number);
        }
        // What was offered until now may still be there.
        let is_latest =
            |note: &&Arc<HeldDefinition>| latest.get(&note.seen.key) == Some(&note.seen.number);
        let now = lines(verdicts.notes().filter(is_latest));
        for line in now.into_iter().filter(|it| told.contains(&it.server)) {
            line.log();
        }
        verdicts
    }

    /// In which way a thing is not as it was pinned, if it is not.
    fn reason(
        &self,
        seen: &Seen,
        pin: Option<&Arc<Pin>>,
        changes: &[DefinitionChange],
    ) -> Option<Reason> {
        let PinSettings { mode, suspicious, .. } = &self.settings;
        if !self.concerns(&seen.key) {
            return None;
        }
        let is_suspicious = suspicious.holds(&seen.findings);
        match pin {
            Some(pin) if pin.digest != seen.digest => Some(match changes.first() {
                _ if *mode != PinMode::Compatible => Reason::Changed,
                None => Reason::Rewritten,
                // The worst comes first.
                Some(worst) if worst.class < ChangeClass::Major => Reason::Compatible,
                Some(_) => Reason::Changed,
            }),
            Some(pin) => (is_suspicious && pin.is_by_first_sight()).then_some(Reason::Suspicious),
            None if is_suspicious => Some(Reason::Suspicious),
            None if *mode == PinMode::Locked => Some(Reason::NotPinned),
            None if seen.is_cached => None,
            None => Some(Reason::TooMany),
        }
    }

    /// Whether a thing is pinned at all.
    pub(super) fn concerns(&self, key: &Key) -> bool {
        self.settings.mode != PinMode::Off && (self.settings.own || !key.server.is_empty())
    }

    /// Pins a thing as it is now.
    pub(super) fn accept(&mut self, seen: &Seen, by: &str) -> Result<(), PinError> {
        let others = self.pins.values().filter(|it| it.key != seen.key);
        let pin = pin(seen, by);
        // More could not be read again at the next start.
        if others.map(|it| it.bytes()).sum::<usize>() + pin.bytes() > LARGEST_PINS {
            return Err(PinError::Full);
        }
        self.pins.insert(seen.key.clone(), Arc::new(pin));
        Ok(())
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
        let latest =
            meant.into_iter().filter(|it| it.key.is_alike(&key)).max_by_key(|it| it.number);
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

/// Room for pins of first sight. Each server has a share, so that one that names its tools otherwise in
/// each list keeps nothing of others back. What has gone does not give way: a server could remove a tool,
/// push its pin out with others, and offer it again with another definition, as if for the first time.
struct Room<'a> {
    settings: &'a PinSettings,
    all: usize,
    by_server: HashMap<Arc<str>, (usize, usize)>,
}

impl<'a> Room<'a> {
    fn left<'p>(pins: impl Iterator<Item = &'p Arc<Pin>>, settings: &'a PinSettings) -> Self {
        let mut room = Self { settings, all: 0, by_server: HashMap::default() };
        for pin in pins {
            room.add(&pin.key, pin.bytes());
        }
        room
    }

    fn add(&mut self, key: &Key, bytes: usize) {
        let own = self.by_server.entry(key.server.clone()).or_default();
        *own = (own.0 + 1, own.1.saturating_add(bytes));
        self.all = self.all.saturating_add(bytes);
    }

    /// Takes room for a thing, if there is any.
    fn take(&mut self, seen: &Seen) -> bool {
        let bytes = bytes_of(&seen.key, &seen.own.definition, None);
        let (pins, used) = self.by_server.get(&seen.key.server).copied().unwrap_or_default();
        let fits = pins < self.settings.most
            && used.saturating_add(bytes) <= self.settings.most_bytes
            && self.all.saturating_add(bytes) <= LARGEST_PINS;
        if fits {
            self.add(&seen.key, bytes);
        }
        fits
    }
}

/// A name may say what sort of thing it is: `prompt:NAME`.
fn by_kind(name: &str) -> (Option<Kind>, &str) {
    let said = name.split_once(':').and_then(|(word, rest)| Some((Kind::of(word)?, rest)));
    said.map_or((None, name), |(kind, rest)| (Some(kind), rest))
}

/// The one thing that is meant.
fn one<T>(name: &str, meant: &[&T], key: impl Fn(&T) -> &Key) -> Result<Key, PinError> {
    let keys: BTreeSet<&Key> = meant.iter().map(|it| key(it)).collect();
    let mut all = keys.iter();
    // Of servers that had one name after the other it is the same thing.
    match (all.next(), all.find(|key| keys.first().is_some_and(|it| !key.is_alike(it)))) {
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

/// A definition without its name.
fn nameless(definition: &RawJson) -> RawJson {
    definition.edit().remove("name").apply()
}
