//! The lock file: all pins as JSON that a person can review. Where it is kept is left to others.

use gantry_protocol::json::{JsonKind, ObjectWriter};
use gantry_protocol::{JsonLimits, RawJson};

use super::Pins;
use super::pin::{Digest, Key, Kind, Pin};
use crate::canonical_json::canonical;

/// The form that is written and read.
const VERSION: u64 = 1;

/// The most bytes that a lock file may have.
pub const LARGEST_LOCK: usize = 256 * 1024 * 1024;

/// The most bytes of all pins together. A lock file that holds them can be read, with room for what is
/// written otherwise by hand.
pub(super) const LARGEST_PINS: usize = LARGEST_LOCK / 2;

/// Why a lock file is not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// It is not JSON.
    #[error("it is not valid JSON: {0}")]
    Json(#[from] gantry_protocol::json::JsonError),
    /// It is of another form.
    #[error(
        "it is not `{{\"version\": {VERSION}, \"pins\": […]}}`; a later version may have written it"
    )]
    Form,
    /// An entry lacks a member, or has a wrong one.
    #[error("entry {number} ({path}) has a missing or wrong `{member}`")]
    Entry {
        /// Which entry, counted from one.
        number: usize,
        /// What it is for.
        path: String,
        /// Which member.
        member: &'static str,
    },
    /// An entry was changed, but not its digest.
    #[error(
        "the digest of `{path}` is not that of its definition; remove the entry and accept it anew \
         with `gantry tools pin {path}`"
    )]
    Digest {
        /// What it is for.
        path: String,
    },
    /// Two entries are for the same thing.
    #[error("`{0}` is pinned twice; remove one of the entries")]
    Doubled(String),
}

impl Pins {
    /// All pins as they are kept, in the order of servers and names.
    pub fn to_lock(&self) -> RawJson {
        let pins: Vec<RawJson> = self.all().iter().map(|pin| entry(pin)).collect();
        ObjectWriter::new().value("version", &VERSION).array("pins", &pins).finish()
    }

    /// Takes over the pins of a lock file, or says what is wrong with it and changes nothing.
    pub fn read_lock(&self, text: impl Into<Vec<u8>>) -> Result<(), LockError> {
        self.adopt(read(text.into())?);
        Ok(())
    }
}

fn entry(pin: &Pin) -> RawJson {
    ObjectWriter::new()
        .value("server", &*pin.key.server)
        .value("kind", pin.key.kind.word())
        .value("name", &*pin.key.name)
        .value("identity", &*pin.identity)
        .value("digest", &pin.digest.to_string())
        .value("firstSeen", &pin.first_seen)
        .value("acceptedBy", &pin.accepted_by)
        .value_some("new", pin.is_late.then_some(true))
        .value_some("renamedFrom", pin.renamed_from.as_ref())
        .raw("definition", &pin.definition)
        .finish()
}

fn read(text: Vec<u8>) -> Result<Vec<Pin>, LockError> {
    let limits = JsonLimits { size: LARGEST_LOCK, ..JsonLimits::default() };
    let lock = RawJson::parse(text, limits)?;
    let pins = lock.get("pins").filter(|pins| pins.kind() == JsonKind::Array);
    let version = lock.get("version").and_then(|it| it.read::<u64>());
    let (Some(pins), Some(VERSION)) = (pins, version) else { return Err(LockError::Form) };
    let mut read: Vec<Pin> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for (index, entry) in pins.elements().enumerate() {
        let pin = pin(&entry, index + 1)?;
        if !known.insert(pin.key.clone()) {
            return Err(LockError::Doubled(pin.key.path()));
        }
        read.push(pin);
    }
    Ok(read)
}

fn pin(entry: &RawJson, number: usize) -> Result<Pin, LockError> {
    let text = |member: &str| entry.get(member).and_then(|it| it.to_text());
    let path = || [text("server"), text("name")].map(Option::unwrap_or_default).join("/");
    let wrong = |member| LockError::Entry { number, path: path(), member };
    let needed = |member: &'static str| text(member).ok_or_else(|| wrong(member));
    let kind = Kind::of(&needed("kind")?).ok_or_else(|| wrong("kind"))?;
    let identity: std::sync::Arc<str> = needed("identity")?.into();
    let (server, name) = (needed("server")?.into(), needed("name")?.into());
    let key = Key { server, kind, name, identity: identity.clone() };
    let definition = entry.get("definition").filter(RawJson::is_object);
    let definition = canonical(&definition.ok_or_else(|| wrong("definition"))?);
    let digest = Digest::of(&key, &identity, &definition);
    // A definition that was changed by hand must not be taken for what was reviewed.
    if digest.to_string() != needed("digest")? {
        return Err(LockError::Digest { path: key.path() });
    }
    Ok(Pin {
        identity,
        digest,
        definition,
        first_seen: needed("firstSeen")?,
        accepted_by: needed("acceptedBy")?,
        is_late: entry.get("new").and_then(|it| it.read()).unwrap_or(false),
        renamed_from: text("renamedFrom"),
        key,
    })
}
