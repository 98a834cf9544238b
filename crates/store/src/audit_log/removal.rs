//! What retention removed: kept in the list of segments, so that nothing goes without a trace.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::contents::Entry;

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
