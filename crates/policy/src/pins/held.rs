//! What is held back, why, and how it differs from what was pinned.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gantry_gateway::{Change, Class, changes};
use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;

use super::pin::{Kind, Pin};
use super::seen::Seen;

/// A thing that nobody sees or calls until a person has accepted it.
#[derive(Debug)]
pub struct Held {
    /// What it is now.
    pub seen: Arc<Seen>,
    /// Why it is held back.
    pub reason: Reason,
    /// What was pinned, if anything was.
    pub before: Option<Arc<Pin>>,
    /// What changed, the worst first.
    pub changes: Vec<Change>,
}

/// Why a thing is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its definition is not the one that was pinned.
    Changed,
    /// Another program or address has its server's name.
    OtherServer,
    /// It is not in the lock file.
    NotPinned,
    /// It says what a person should look at first.
    Suspicious,
    /// There are as many pins as may be.
    TooMany,
}

/// One value that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where it stands.
    pub place: String,
    /// What was pinned.
    pub before: Option<String>,
    /// What it is now.
    pub now: Option<String>,
}

impl Reason {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::OtherServer => "other server",
            Self::NotPinned => "not pinned",
            Self::Suspicious => "suspicious",
            Self::TooMany => "too many",
        }
    }
}

impl Held {
    pub(super) fn new(seen: Arc<Seen>, reason: Reason, before: Option<Arc<Pin>>) -> Self {
        let now = seen.definition();
        let changes =
            before.as_ref().map(|pin| differences_of(seen.key.kind, &pin.definition, &now));
        Self { seen, reason, before, changes: changes.unwrap_or_default() }
    }

    /// How far the changes reach together.
    pub fn class(&self) -> Option<Class> {
        match self.reason {
            Reason::OtherServer => Some(Class::Major),
            _ => self.changes.first().map(|change| change.class),
        }
    }

    /// The members of the definition that changed: `description, inputSchema`.
    pub fn members(&self) -> String {
        let first = |change: &Change| change.place.split('.').next().unwrap_or_default().to_owned();
        let members: BTreeSet<String> = self.changes.iter().map(first).collect();
        match members.is_empty() {
            true => "the way it is written".to_owned(),
            false => members.into_iter().collect::<Vec<_>>().join(", "),
        }
    }

    /// Says to who calls it by this name why it is held back, and what to do.
    pub fn explain(&self, name: &str) -> String {
        let whose = match &*self.seen.key.server {
            "" => String::new(),
            server => format!(" of server `{server}`"),
        };
        let why = match self.reason {
            Reason::Changed => format!("has changed since it was pinned ({})", self.members()),
            Reason::OtherServer => {
                "is held back, for another program or address has its server's name now".to_owned()
            }
            Reason::NotPinned => "is held back, for it is not in the lock file".to_owned(),
            Reason::Suspicious => {
                let what = self.seen.suspicions.first();
                let what =
                    what.map_or_else(String::new, |it| format!(" ({}: {})", it.place, it.what));
                format!("is held back, for its definition is suspicious{what}")
            }
            Reason::TooMany => {
                "is held back, for there are as many pins as may be (`pins.most`)".to_owned()
            }
        };
        format!(
            "`{name}`{whose} {why}; `gantry tools pin --diff {name}` shows how, \
             `gantry tools pin {name}` accepts it"
        )
    }

    /// Every value that differs from what was pinned, or all values if nothing was.
    pub fn differences(&self) -> Vec<Difference> {
        let leaves = |definition: &RawJson| {
            let mut leaves = BTreeMap::new();
            gather(definition, &mut String::new(), &mut leaves);
            leaves
        };
        let mut before =
            self.before.as_ref().map(|pin| leaves(&pin.definition)).unwrap_or_default();
        let mut now = leaves(&self.seen.definition());
        if let Some(pin) = &self.before {
            before.insert("(server)".to_owned(), pin.identity.to_string());
            now.insert("(server)".to_owned(), self.seen.identity.to_string());
        }
        let places: BTreeSet<String> = before.keys().chain(now.keys()).cloned().collect();
        let differing = places.into_iter().filter(|place| before.get(place) != now.get(place));
        let difference = |place: String| Difference {
            before: before.get(&place).cloned(),
            now: now.get(&place).cloned(),
            place,
        };
        differing.map(difference).collect()
    }
}

/// Gathers every value that has no parts, by its place. Texts are taken as they read.
fn gather(value: &RawJson, place: &mut String, leaves: &mut BTreeMap<String, String>) {
    let length = place.len();
    let mut below = |part: &str, value: &RawJson, leaves: &mut BTreeMap<String, String>| {
        if length > 0 {
            place.push('.');
        }
        place.push_str(part);
        gather(value, place, leaves);
        place.truncate(length);
    };
    match value.kind() {
        JsonKind::Object if value.members().next().is_some() => {
            value.members().for_each(|it| below(&it.key(), &it.value(), leaves));
        }
        JsonKind::Array if value.elements().next().is_some() => {
            value.elements().enumerate().for_each(|(at, it)| below(&at.to_string(), &it, leaves));
        }
        _ => {
            let text = value.to_text().unwrap_or_else(|| value.as_str().to_owned());
            leaves.insert(place.clone(), text);
        }
    }
}

/// What changed. A prompt has no schemas to compare: its texts are for people, all else for callers.
fn differences_of(kind: Kind, before: &RawJson, now: &RawJson) -> Vec<Change> {
    if kind == Kind::Tool {
        return changes(before, now);
    }
    let keys = |definition: &RawJson| -> BTreeSet<String> {
        definition.members().map(|it| it.key().into_owned()).collect()
    };
    let changed = |place: &String| before.get(place) != now.get(place);
    let change = |place: String| {
        let is_text = matches!(place.as_str(), "title" | "description" | "icons" | "_meta");
        let class = if is_text { Class::Patch } else { Class::Major };
        Change { class, text: format!("the {place} of the prompt changed"), place }
    };
    let both: BTreeSet<String> = keys(before).union(&keys(now)).cloned().collect();
    let mut found: Vec<Change> = both.into_iter().filter(changed).map(change).collect();
    found.sort_by_key(|change| std::cmp::Reverse(change.class));
    found
}
