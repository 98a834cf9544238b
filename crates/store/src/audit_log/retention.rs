//! Retention: which segments are old enough, or too many, to be removed, and what was removed.
//! Nothing younger than a minimum age is removed for size: what a caller does in a few minutes
//! must not remove the evidence of what it did before.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::AuditSettings;
use super::index::Entry;

/// A segment that has ended, or one that has not.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) written: SystemTime,
    pub(super) has_ended: bool,
}

/// What retention comes to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outdated {
    /// The segments that are to go, the oldest first, each with the reason.
    pub(super) gone: Vec<(String, &'static str)>,
    /// Whether more than the size is left, because it is too young to go.
    pub(super) is_over: bool,
}

/// Which segments are to go. Those that are still written count, but stay.
pub(super) fn outdated(
    mut candidates: Vec<Candidate>,
    settings: &AuditSettings,
    now: SystemTime,
) -> Outdated {
    candidates.sort_by(|one, other| one.name.cmp(&other.name));
    let mut total: u64 = candidates.iter().map(|it| it.bytes).sum();
    let mut gone = Vec::new();
    for candidate in candidates.into_iter().filter(|it| it.has_ended) {
        // A clock that was set back makes nothing older.
        let age = now.duration_since(candidate.written).unwrap_or(Duration::ZERO);
        let why = match () {
            () if age > settings.retain => "age",
            () if total > settings.size && age >= settings.min_age => "size",
            () => continue,
        };
        total -= candidate.bytes;
        gone.push((candidate.name, why));
    }
    Outdated { gone, is_over: total > settings.size }
}

/// Segments that retention removed for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// Why: `age` or `size`.
    pub why: String,
    /// How many segments.
    pub segments: u64,
    /// The name of the oldest of them.
    pub first: String,
    /// The name of the newest of them.
    pub last: String,
    /// How many lines they had together.
    pub lines: u64,
    /// How many bytes.
    pub bytes: u64,
    /// When the oldest of them was begun.
    pub from: String,
    /// When the newest of them was last written.
    pub to: String,
    /// When the first of them was removed.
    pub removed_first: String,
    /// When the last of them was removed.
    pub removed_last: String,
}

impl Removal {
    /// The removal of one segment.
    pub(super) fn of(name: &str, entry: &Entry) -> Self {
        let end = entry.end.as_ref();
        Self {
            why: entry.why.clone().unwrap_or_default(),
            segments: 1,
            first: name.to_owned(),
            last: name.to_owned(),
            lines: end.map_or(0, |end| end.lines),
            bytes: end.map_or(0, |end| end.bytes),
            from: entry.from.clone().unwrap_or_default(),
            to: entry.to.clone().unwrap_or_default(),
            removed_first: entry.at.clone(),
            removed_last: entry.at.clone(),
        }
    }

    /// Adds it to what was removed for the same reason: the list stays short however much goes.
    pub(super) fn merge_into(self, removals: &mut Vec<Self>) {
        let Some(known) = removals.iter_mut().find(|it| it.why == self.why) else {
            return removals.push(self);
        };
        known.segments += self.segments;
        known.lines += self.lines;
        known.bytes += self.bytes;
        for (known, new) in [(&mut known.first, self.first), (&mut known.from, self.from)] {
            *known = std::mem::take(known).min(new);
        }
        for (known, new) in [(&mut known.last, self.last), (&mut known.to, self.to)] {
            *known = std::mem::take(known).max(new);
        }
        known.removed_last = self.removed_last;
    }
}

impl fmt::Display for Removal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { why, segments, first, last, lines, from, to, .. } = self;
        match segments {
            1 => write!(formatter, "segment {first}")?,
            _ => write!(formatter, "{segments} segments from {first} to {last}")?,
        }
        write!(formatter, ", {lines} lines, written from {from} to {to}, removed by retention")?;
        match self.removed_first == self.removed_last {
            true => write!(formatter, " on {}", self.removed_last)?,
            false => write!(formatter, " from {} to {}", self.removed_first, self.removed_last)?,
        }
        write!(formatter, " because of {why}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_go_and_the_oldest_of_too_many() {
        let now = SystemTime::now();
        let day = Duration::from_secs(86_400);
        let segment = |name: &str, bytes, days, has_ended| Candidate {
            name: name.to_owned(),
            bytes,
            written: now - day * days,
            has_ended,
        };
        let settings = AuditSettings {
            retain: day * 90,
            size: 100,
            min_age: day * 7,
            ..AuditSettings::default()
        };
        // The segments, which of them go, and whether there is still too much.
        let cases = [
            (vec![segment("a", 1, 91, true), segment("b", 1, 89, true)], vec![("a", "age")], false),
            (vec![segment("a", 1, 91, false)], vec![], false),
            (
                vec![segment("b", 60, 8, true), segment("a", 60, 9, true)],
                vec![("a", "size")],
                false,
            ),
            (
                vec![segment("a", 90, 9, false), segment("b", 60, 8, true)],
                vec![("b", "size")],
                false,
            ),
            (vec![segment("a", 50, 8, true), segment("b", 50, 8, true)], vec![], false),
            (vec![segment("b", 60, 1, true), segment("a", 60, 2, true)], vec![], true),
            (
                vec![segment("a", 60, 8, true), segment("b", 160, 2, true)],
                vec![("a", "size")],
                true,
            ),
            (vec![segment("a", 160, 9, false)], vec![], true),
        ];
        for (segments, expected, is_over) in cases {
            let case = format!("{segments:?}");
            let gone = expected.into_iter().map(|(name, why)| (String::from(name), why)).collect();
            assert_eq!(outdated(segments, &settings, now), Outdated { gone, is_over }, "{case}");
        }
    }
}
