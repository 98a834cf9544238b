//! A definition that differs from its pin: why it is held back, or how it differs from what clients see.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gantry_gateway::{ChangeClass, DefinitionChange};
use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;

use super::offered::Seen;
use super::pin::Pin;

/// A thing that is not as it was pinned. Until a person has accepted it nobody sees or calls it, or
/// clients see and call it as it was pinned.
#[derive(Debug)]
pub struct HeldDefinition {
    /// What it is now.
    pub seen: Arc<Seen>,
    /// Why it is held back, or that it is not.
    pub reason: Reason,
    /// What was pinned, if anything was.
    pub before: Option<Arc<Pin>>,
    /// What changed, the worst first.
    pub changes: Vec<DefinitionChange>,
}

/// Why a thing is held back, or that it is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its definition is written otherwise than the pinned one and means the same.
    Rewritten,
    /// Calls and results that fit the pinned definition fit this one too. It is not held back.
    Compatible,
    /// Its definition is not the one that was pinned.
    Changed,
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
            Self::Rewritten => "rewritten",
            Self::Compatible => "compatible",
            Self::Changed => "changed",
            Self::NotPinned => "not pinned",
            Self::Suspicious => "suspicious",
            Self::TooMany => "too many",
        }
    }

    /// Whether nobody sees or calls the thing.
    pub fn is_held(self) -> bool {
        !matches!(self, Self::Rewritten | Self::Compatible)
    }
}

/// Members that a definition may have. Others are not named to models: the server chose them.
const KNOWN: [&str; 10] = [
    "_meta",
    "annotations",
    "arguments",
    "description",
    "execution",
    "icons",
    "inputSchema",
    "name",
    "outputSchema",
    "title",
];

impl HeldDefinition {
    /// How far the changes reach together.
    pub fn class(&self) -> Option<ChangeClass> {
        self.changes.first().map(|change| change.class)
    }

    /// The members of the definition that changed: `description, inputSchema`.
    pub fn members(&self) -> String {
        let first = |change: &DefinitionChange| {
            change.place.split('.').next().unwrap_or_default().to_owned()
        };
        let members: BTreeSet<String> = self.changes.iter().map(first).collect();
        match members.is_empty() {
            true => "the way it is written".to_owned(),
            false => members.into_iter().collect::<Vec<_>>().join(", "),
        }
    }

    /// What has changed, without a word of the server's own: a model reads it.
    fn what(&self) -> String {
        let mut parts = BTreeSet::new();
        for change in &self.changes {
            let member = change.place.split('.').next().unwrap_or_default();
            let member = if KNOWN.contains(&member) { member } else { "another member" };
            let breaks = change.class == ChangeClass::Major && self.reason == Reason::Changed;
            parts.insert(match member {
                "inputSchema" if breaks => {
                    "inputSchema: arguments that fit the pinned one may not fit it".to_owned()
                }
                "outputSchema" if breaks => {
                    "outputSchema: results may not fit the pinned one".to_owned()
                }
                // The texts about hints are our own.
                "annotations" if breaks => format!("annotations: {}", change.text),
                member => member.to_owned(),
            });
        }
        match parts.is_empty() {
            true => "the way it is written".to_owned(),
            false => parts.into_iter().collect::<Vec<_>>().join("; "),
        }
    }

    /// Says to who calls it by this name why it is held back, and what to do.
    pub fn explain(&self, name: &str) -> String {
        let whose = match &*self.seen.key.server {
            "" => String::new(),
            server => format!(" of server `{server}`"),
        };
        let why = match self.reason {
            Reason::Rewritten | Reason::Compatible => {
                let members = self.members();
                format!("has changed ({members}), and clients see it as it was pinned")
            }
            Reason::Changed => format!("has changed since it was pinned ({})", self.what()),
            Reason::NotPinned => "is held back, for it is not in the lock file".to_owned(),
            Reason::Suspicious => {
                format!("is held back, for its definition is suspicious{}", self.finding())
            }
            Reason::TooMany => {
                "is held back, for its server has as many pins as it may (`pins.most`, \
                 `pins.mostBytes`)"
                    .to_owned()
            }
        };
        format!(
            "`{name}`{whose} {why}; `gantry tools pin --diff {name}` shows how, \
             `gantry tools pin {name}` accepts it"
        )
    }

    /// In few words, for a line about many: `s_a (inputSchema)`.
    pub fn brief(&self) -> String {
        let why = match self.reason {
            Reason::Rewritten | Reason::Compatible | Reason::Changed => self.members(),
            Reason::Suspicious => format!("suspicious{}", self.finding()),
            reason => reason.word().to_owned(),
        };
        format!("`{}` ({why})", self.seen.shown)
    }

    /// What is suspicious first, and where. The place may be named by the server below its member.
    fn finding(&self) -> String {
        let Some(first) = self.seen.findings.first() else { return String::new() };
        let member = first.place.split('.').next().unwrap_or_default();
        let member = if KNOWN.contains(&member) { member } else { "another member" };
        format!(" ({member}: {})", first.what)
    }

    /// Every value that differs from what was pinned, or all values if nothing was.
    pub fn differences(&self) -> Vec<Difference> {
        let leaves = |definition: &RawJson| {
            let mut leaves = BTreeMap::new();
            gather(definition, &mut String::new(), &mut leaves);
            leaves
        };
        let before = self.before.as_ref().map(|pin| leaves(&pin.definition)).unwrap_or_default();
        let now = leaves(&self.seen.definition());
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

/// Bytes of a place below which parts are told apart.
const LONGEST: usize = 512;

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
        // Each place repeats those above it: below a very long one nothing is told apart.
        JsonKind::Object if length <= LONGEST && value.members().next().is_some() => {
            value.members().for_each(|it| below(&it.key(), &it.value(), leaves));
        }
        JsonKind::Array if length <= LONGEST && value.elements().next().is_some() => {
            value.elements().enumerate().for_each(|(at, it)| below(&at.to_string(), &it, leaves));
        }
        _ => {
            let text = value.to_text().unwrap_or_else(|| value.as_str().to_owned());
            leaves.insert(place.clone(), text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_do_not_repeat_long_names_without_end() {
        let members: Vec<String> = (0..2000).map(|it| format!("\"m{it}\":{it}")).collect();
        let (name, members) = ("n".repeat(100_000), members.join(","));
        let text = format!("{{\"a\":{{\"b\":1}},\"{name}\":{{{members}}}}}");
        let definition =
            RawJson::parse(text, gantry_protocol::JsonLimits::default()).expect("JSON");
        let mut leaves = BTreeMap::new();
        gather(&definition, &mut String::new(), &mut leaves);
        assert_eq!(leaves.get("a.b").map(String::as_str), Some("1"));
        assert_eq!(leaves.get(&name), Some(&format!("{{{members}}}")));
    }
}
