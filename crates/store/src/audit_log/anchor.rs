//! How far the log was when that was last noted elsewhere: a log that is shorter now, or another
//! one, was emptied, cut or put back to an earlier state.

use std::sync::Arc;

use super::chain::{Line, Seal, to_hex};
use super::contents::Contents;
use super::finding::Finding;
use super::inspect::inspect;

/// How far a file of the log was. It is kept where who can write the log cannot write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The name of the file: a segment, or the list of segments.
    pub file: String,
    /// How often the file was written anew: only the list of segments is.
    pub generation: u64,
    /// How many lines it had.
    pub lines: u64,
    /// The authentication code of the last of them.
    pub mac: String,
}

/// How far the files of a log are on the disk.
#[derive(Debug, Clone, Default)]
pub struct Position {
    /// The list of segments, and the segment that this program writes.
    pub anchors: Vec<Anchor>,
    pub(super) contents: Arc<Contents>,
}

impl Position {
    /// Whether the list of segments knows where a segment ended, so that it needs no anchor.
    pub fn has_ended(&self, file: &str) -> bool {
        self.contents.has_ended(file)
    }
}

impl Anchor {
    /// What is wrong with a file that has this text now.
    pub(super) fn check(&self, text: &[u8], generation: u64) -> Option<Finding> {
        // Who has no key cannot have written a later list.
        if generation > self.generation {
            return None;
        }
        let lines = memchr::memchr_iter(b'\n', text).count() as u64;
        if generation < self.generation || lines < self.lines {
            return Some(Finding::Shorter { lines, anchored: self.lines });
        }
        let last = self.lines.checked_sub(1)?;
        let line = text.split(|byte| *byte == b'\n').nth(usize::try_from(last).ok()?);
        let mac = line.and_then(Line::parse).map(|line| to_hex(&line.mac));
        (mac.as_ref() != Some(&self.mac)).then_some(Finding::Replaced { line: last })
    }

    /// Whether a list of segments goes on from where it was. A list that was written anew counts
    /// only if every line of it was made with the key.
    pub(super) fn is_extended_by(&self, seal: &Seal, text: &[u8]) -> bool {
        let generation = Contents::read(text).generation;
        self.check(text, generation).is_none()
            && (generation == self.generation || inspect(seal, text).findings.is_empty())
    }
}
