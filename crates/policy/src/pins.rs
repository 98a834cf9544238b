//! Pinned tool definitions, against tool poisoning and rug pulls: clients see and call a tool or prompt as it
//! was defined when it was first seen or accepted.
//!
//! A compatible change is hidden behind the pinned definition. A breaking change, or a definition with
//! suspicious content, is held back until a person accepts it. Pins belong to a server, the server's identity
//! (program with arguments, or address) and the server's own name, so one acceptance holds at every endpoint.

mod definition_diff;
mod filters;
mod held;
mod lock;
mod offered;
mod pin;
mod report;
mod table;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use gantry_gateway::{Snapshot, Target};
use tokio::sync::watch;

use self::offered::Subject;
use self::table::{PinTable, Verdicts};
use crate::injection::{InjectionFinding, Sort};

pub use self::held::{Difference, HeldDefinition, Reason};
pub use self::lock::{LARGEST_LOCK, LockError};
pub use self::offered::Seen;
pub use self::pin::{Digest, Key, Kind, Pin};
pub use self::report::Line;

/// All pins, and what is held back. Clones share them.
#[derive(Clone)]
pub struct Pins(Arc<Inner>);

struct Inner {
    table: Mutex<PinTable>,
    /// What was judged, for calls and lists.
    verdicts: ArcSwap<Verdicts>,
    news: watch::Sender<News>,
}

/// Counts what has changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct News {
    /// How often pins did, which are to be written down then.
    pub pins: u64,
    /// How often something was held back or let go, of which clients are to hear.
    pub held: u64,
}

/// Why something could not be accepted or forgotten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PinError {
    /// Nothing has that name.
    #[error(
        "no server offers `{0}`; `gantry tools pin` lists what is pinned and what is held back"
    )]
    Unknown(String),
    /// Several things have that name.
    #[error("`{name}` may be {paths}; write one of these")]
    Ambiguous {
        /// The name.
        name: String,
        /// What tells them apart.
        paths: String,
    },
    /// It has changed since the person looked.
    #[error("`{0}` has changed again since you looked; look at it anew before you accept it")]
    ChangedAgain(String),
    /// All pins together would be more than a lock file may hold.
    #[error(
        "there are as many pins as the lock file may hold; `gantry tools unpin NAME` removes one"
    )]
    Full,
}

impl Pins {
    /// No pins yet.
    pub fn new(settings: PinSettings) -> Self {
        Self(Arc::new(Inner {
            verdicts: ArcSwap::from_pointee(Verdicts::none(settings.clone())),
            table: Mutex::new(PinTable::new(settings)),
            news: watch::Sender::default(),
        }))
    }

    /// How strict they are.
    pub fn settings(&self) -> PinSettings {
        self.table().settings.clone()
    }

    /// Makes them as strict as this from now on.
    pub fn set(&self, settings: PinSettings) {
        self.change(|table| {
            let differs = table.settings != settings;
            table.settings = settings;
            (false, differs)
        });
    }

    /// Puts these pins in the place of all that are known: a lock file was read.
    pub fn adopt(&self, pins: Vec<Pin>) {
        self.change(|table| {
            table.pins = pins.into_iter().map(|pin| (pin.key.clone(), Arc::new(pin))).collect();
            (false, true)
        });
    }

    /// Looks at what a catalog will list. What was judged before costs next to nothing.
    pub fn look(&self, next: &Snapshot) {
        let subjects = || {
            let tools = next.tools().chain(next.older()).map(|it| Subject::tool(it));
            tools.chain(next.prompts().map(|it| Subject::prompt(it)))
        };
        let verdicts = self.0.verdicts.load();
        if subjects().all(|subject| verdicts.is_judged(subject.address())) {
            return;
        }
        let mut table = self.table();
        for subject in subjects() {
            table.see(&subject);
        }
        let present = subjects().map(|subject| subject.key()).collect();
        self.settle(&mut table, Some(&present), false, false);
    }

    /// Whether a thing may be seen and called.
    pub fn is_in_order(&self, target: &Target) -> bool {
        self.held_of(target).is_none()
    }

    /// Whether things of servers, or of the gateway's own, are pinned.
    fn concerns(&self, is_of_server: bool) -> bool {
        let settings = &self.0.verdicts.load().settings;
        settings.mode != PinMode::Off && (is_of_server || settings.own)
    }

    /// Why a thing is held back, if it is.
    pub fn held_of(&self, target: &Target) -> Option<Arc<HeldDefinition>> {
        if !self.concerns(target.origin().is_some()) {
            return None;
        }
        let subject = Subject::of(target)?;
        if let Some(verdict) = self.0.verdicts.load().of(subject.address()) {
            return verdict.cloned();
        }
        // It is in no catalog that was looked at.
        let mut table = self.table();
        table.see(&subject);
        self.settle(&mut table, None, false, false);
        self.0.verdicts.load().of(subject.address())?.cloned()
    }

    /// How a thing that is not held back differs from what was pinned, if it does.
    pub fn changed_of(&self, target: &Target) -> Option<Arc<HeldDefinition>> {
        let verdicts = self.0.verdicts.load();
        let note = verdicts.note(Subject::of(target)?.address())?;
        Some(note.clone()).filter(|it| !it.reason.is_held())
    }

    /// The pin of a thing; none if it has none, or if such things are not pinned.
    pub fn pin_of(&self, target: &Target) -> Option<Arc<Pin>> {
        let key = Subject::of(target)?.key();
        let table = self.table();
        table.pins.get(&key).filter(|_| table.concerns(&key)).cloned()
    }

    /// Everything that is held back and still offered, by server and name.
    pub fn held(&self) -> Vec<Arc<HeldDefinition>> {
        self.noted(Reason::is_held)
    }

    /// Everything that has changed compatibly and is shown as it was pinned, by server and name.
    pub fn changed(&self) -> Vec<Arc<HeldDefinition>> {
        self.noted(|reason| reason == Reason::Compatible)
    }

    /// What a person should know of the definitions of each server that are not as they were pinned.
    pub fn lines(&self) -> Vec<Line> {
        report::lines(self.noted(|_| true).iter())
    }

    fn noted(&self, is_meant: impl Fn(Reason) -> bool) -> Vec<Arc<HeldDefinition>> {
        self.change(|table| (false, table.forget_gone()));
        let verdicts = self.0.verdicts.load();
        let meant = verdicts.notes().filter(|it| is_meant(it.reason));
        let mut noted: Vec<Arc<HeldDefinition>> = meant.cloned().collect();
        noted.sort_by(|one, other| one.seen.key.cmp(&other.seen.key));
        noted
    }

    /// All pins, by server and name.
    pub fn all(&self) -> Vec<Arc<Pin>> {
        self.table().pins.values().cloned().collect()
    }

    /// Accepts what is offered under a name now. If a digest is given it must be the one that the
    /// person saw.
    pub fn accept(&self, name: &str, digest: Option<&str>, by: &str) -> Result<Key, PinError> {
        let mut accepted = Err(PinError::Unknown(name.to_owned()));
        self.change(|table| {
            table.forget_gone();
            accepted = table.offered(name).and_then(|seen| {
                if digest.is_some_and(|digest| digest != seen.digest.to_string()) {
                    return Err(PinError::ChangedAgain(name.to_owned()));
                }
                table.accept(&seen, by)?;
                Ok(seen.key.clone())
            });
            (accepted.is_ok(), true)
        });
        accepted
    }

    /// Forgets the pin of a name. What is offered is then seen as if for the first time.
    pub fn unpin(&self, name: &str) -> Result<Key, PinError> {
        let mut removed = Err(PinError::Unknown(name.to_owned()));
        self.change(|table| {
            table.forget_gone();
            removed = table.pinned(name);
            if let Ok(removed) = &removed {
                table.pins.retain(|key, _| !key.is_alike(removed));
            }
            (removed.is_ok(), true)
        });
        removed
    }

    /// Hears of changes, to write pins down and to tell clients.
    pub fn news(&self) -> watch::Receiver<News> {
        self.0.news.subscribe()
    }

    /// Changes the book. The change says whether pins are to be written down, and whether
    /// everything is to be judged anew.
    fn change(&self, change: impl FnOnce(&mut PinTable) -> (bool, bool)) {
        let mut table = self.table();
        let (is_written, is_judged) = change(&mut table);
        if is_judged {
            self.settle(&mut table, None, is_written, true);
        }
    }

    /// Judges all that is seen, and says so. A change that a catalog makes is told by the catalog.
    fn settle(
        &self,
        table: &mut PinTable,
        present: Option<&std::collections::HashSet<Key>>,
        is_written: bool,
        is_told: bool,
    ) {
        table.forget_gone();
        let pinned = table.pin_new(present);
        let verdicts = table.judge(&self.0.verdicts.load());
        let differs = is_told && !verdicts.is_like(&self.0.verdicts.load());
        self.0.verdicts.store(Arc::new(verdicts));
        let is_written = is_written || pinned;
        self.0.news.send_if_modified(|news| {
            news.pins += u64::from(is_written);
            news.held += u64::from(differs);
            is_written || differs
        });
    }

    fn table(&self) -> MutexGuard<'_, PinTable> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Pins {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Pins").field("settings", &self.settings()).finish_non_exhaustive()
    }
}

/// How strict pins are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinSettings {
    /// What happens to what was never seen.
    pub mode: PinMode,
    /// Which suspicious text holds a thing back until a person has accepted it.
    pub suspicious: Suspicious,
    /// Whether tools of the gateway's own are pinned too, and not only those of other servers.
    pub own: bool,
    /// The most pins of one server; what it offers beyond that is held back.
    pub most: usize,
    /// The most bytes of what is pinned of one server; what it offers beyond that is held back.
    pub most_bytes: usize,
}

/// What happens to what was never seen, and to what changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PinMode {
    /// What is new is pinned as it is. What changes compatibly is shown and called as it was pinned,
    /// and only what breaks that is held back.
    #[default]
    Compatible,
    /// What is new is pinned as it is, and whatever changes is held back.
    Hold,
    /// What is new or changes is held back until it is accepted.
    Locked,
    /// Nothing is pinned, and nothing held back.
    Off,
}

/// Which suspicious text holds a thing back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Suspicious {
    /// Characters that cannot be seen or that pretend to be others. Wording is only shown.
    #[default]
    Hidden,
    /// None; all is only shown.
    Flag,
    /// All.
    Hold,
}

impl Default for PinSettings {
    fn default() -> Self {
        Self {
            mode: PinMode::default(),
            suspicious: Suspicious::default(),
            own: false,
            most: 20_000,
            most_bytes: 16 * 1024 * 1024,
        }
    }
}

impl PinMode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Compatible, Self::Hold, Self::Locked, Self::Off];

    /// The word for it in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Compatible => "compatible",
            Self::Hold => "hold",
            Self::Locked => "locked",
            Self::Off => "off",
        }
    }

    /// The mode of that word. `first-visibility_filter` is an older word for `hold`.
    pub fn parse(word: &str) -> Option<Self> {
        let known = Self::ALL.into_iter().find(|mode| mode.word() == word);
        known.or_else(|| (word == "first-sight").then_some(Self::Hold))
    }

    /// Whether what was never seen is pinned as it is.
    fn pins_new(self) -> bool {
        matches!(self, Self::Compatible | Self::Hold)
    }
}

impl Suspicious {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Hidden, Self::Flag, Self::Hold];

    /// The word for it in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hidden => "hidden",
            Self::Flag => "flag",
            Self::Hold => "hold",
        }
    }

    /// Whether one of these holds a thing back.
    fn holds(self, findings: &[InjectionFinding]) -> bool {
        match self {
            Self::Hidden => findings.iter().any(|it| it.sort != Sort::Wording),
            Self::Flag => false,
            Self::Hold => !findings.is_empty(),
        }
    }
}

#[cfg(test)]
mod tests;
