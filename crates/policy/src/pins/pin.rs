//! A definition that was seen or accepted, and what tells it from every other.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use gantry_protocol::RawJson;
use sha2::{Digest as _, Sha256};

use crate::canonical_json::canonical;

/// What is pinned: which thing of which server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The name of the server in the configuration; empty for tools of the gateway's own.
    pub server: Arc<str>,
    /// What sort of thing.
    pub kind: Kind,
    /// What its server calls it. Faces show it under other names, and one pin holds for all of them.
    pub name: Arc<str>,
    /// What tells its server from another of that name: its program with all arguments, or its
    /// address. Each has pins of its own.
    pub identity: Arc<str>,
}

/// What sort of thing is pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A tool.
    Tool,
    /// A prompt.
    Prompt,
}

/// SHA-256 over everything that is pinned.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

/// A definition that was seen first or accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// Which thing it is.
    pub key: Key,
    /// What tells its server from another of that name.
    pub identity: Arc<str>,
    /// Over all of this.
    pub digest: Digest,
    /// The whole definition, in its one form.
    pub definition: RawJson,
    /// The day on which it was pinned, as `2026-07-28`.
    pub first_seen: String,
    /// Who accepted it.
    pub accepted_by: String,
    /// Whether its server had been seen before without it.
    pub is_late: bool,
    /// What the same definition was called before, when that name has gone.
    pub renamed_from: Option<String>,
}

/// Who accepts what nobody was asked about.
pub(super) const FIRST_SIGHT: &str = "first sight";

impl Kind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
        }
    }

    pub(super) fn of(word: &str) -> Option<Self> {
        [Self::Tool, Self::Prompt].into_iter().find(|kind| kind.word() == word)
    }
}

impl Key {
    /// Whether it is the same thing of a server of that name, whichever server that is.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        (&self.server, self.kind, &self.name) == (&other.server, other.kind, &other.name)
    }

    /// Its name for people and for the command line: `SERVER/NAME`.
    pub fn path(&self) -> String {
        match &*self.server {
            "" => self.name.to_string(),
            server => format!("{server}/{}", self.name),
        }
    }
}

/// Bytes that an entry of the lock file takes beside its definition and its names.
const ENTRY: usize = 512;

/// No fewer bytes than what is pinned takes in the lock file.
pub(super) fn bytes_of(key: &Key, definition: &RawJson, former: Option<&str>) -> usize {
    let names = [&*key.server, &*key.name, &*key.identity, former.unwrap_or_default()];
    // A control character takes six in JSON.
    let names: usize = names.iter().map(|it| 6 * it.len()).sum();
    ENTRY + names + definition.bytes().len()
}

impl Pin {
    /// Bytes for which it counts.
    pub(super) fn bytes(&self) -> usize {
        bytes_of(&self.key, &self.definition, self.renamed_from.as_deref())
            + 6 * self.accepted_by.len()
    }

    /// Whether no person has looked at it.
    pub fn is_by_first_sight(&self) -> bool {
        self.accepted_by == FIRST_SIGHT
    }
}

impl Digest {
    /// The digest of a definition, however it is written.
    pub fn of_written(key: &Key, identity: &str, definition: &RawJson) -> Self {
        Self::of(key, identity, &canonical(definition))
    }

    /// The digest of a definition in its one form.
    pub(super) fn of(key: &Key, identity: &str, definition: &RawJson) -> Self {
        let mut digest = Sha256::new();
        let parts: [&[u8]; 6] = [
            b"gantry pin 1",
            key.kind.word().as_bytes(),
            key.server.as_bytes(),
            key.name.as_bytes(),
            identity.as_bytes(),
            definition.bytes(),
        ];
        for part in parts {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        Self(digest.finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// The day of a moment, in UTC. Years are counted from March, so that the odd day of a leap year is
/// the last; 719468 days lie between the first of March of the year 0 and 1970.
pub(super) fn day(moment: SystemTime) -> String {
    let day = moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 86_400 + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, (month + 2) % 12 + 1);
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn days() {
        let cases = [(0, "1970-01-01"), (951_782_400, "2000-02-29"), (1_785_196_800, "2026-07-28")];
        for (seconds, expected) in cases {
            assert_eq!(day(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn every_part_counts() {
        let key = |server: &str, kind, name: &str| {
            let (server, name, identity) = (server.into(), name.into(), "i".into());
            Key { server, kind, name, identity }
        };
        let (one, other) = (RawJson::from_static("{}"), RawJson::from_static("[]"));
        let digests = [
            Digest::of(&key("s", Kind::Tool, "n"), "i", &one),
            Digest::of(&key("t", Kind::Tool, "n"), "i", &one),
            Digest::of(&key("s", Kind::Prompt, "n"), "i", &one),
            Digest::of(&key("s", Kind::Tool, "m"), "i", &one),
            Digest::of(&key("s", Kind::Tool, "n"), "j", &one),
            Digest::of(&key("s", Kind::Tool, "n"), "i", &other),
            Digest::of(&key("sn", Kind::Tool, ""), "i", &one),
        ];
        for (index, digest) in digests.iter().enumerate() {
            assert!(!digests[..index].contains(digest), "{index}");
        }
        assert_eq!(digests[0].to_string().len(), "sha256:".len() + 64);
    }
}
