//! What can be wrong with a record.

use std::fmt;

/// Numbers of records, from the first to the last of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub first: u64,
    /// The last, which may be the first.
    pub last: u64,
}

/// Something that is wrong with a volume or with the list of volumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Records do not say what was written.
    Changed(Span),
    /// Records are gone.
    Missing(Span),
    /// A record stands behind a later one.
    Moved(u64),
    /// A record is there more than once.
    Doubled(u64),
    /// A line, counted from one, is no record.
    Unreadable(u64),
    /// The end was cut off: records are gone that were there.
    Cut(Span),
    /// Bytes stand behind the end that were not there.
    Added,
    /// No record at all was made with this key.
    OtherKey,
    /// The volume was begun under another name.
    Renamed(String),
    /// The file of a volume is gone, and nobody has noted that it was removed.
    Gone,
    /// A volume that is in no list.
    Unlisted,
    /// The file has fewer lines than it had when the store noted how far it was.
    Shorter {
        /// How many it has.
        lines: u64,
        /// How many it had.
        anchored: u64,
    },
    /// The file has other lines than it had when the store noted how far it was.
    Replaced {
        /// The last line of which the store knows.
        line: u64,
    },
}

impl Span {
    /// One number.
    pub(super) fn one(number: u64) -> Self {
        Self { first: number, last: number }
    }

    /// Numbers that are sorted, as few spans as that takes.
    pub(super) fn gather(numbers: impl IntoIterator<Item = u64>) -> Vec<Self> {
        let mut spans: Vec<Self> = Vec::new();
        for number in numbers {
            match spans.last_mut() {
                Some(span) if span.last + 1 >= number => span.last = span.last.max(number),
                _ => spans.push(Self::one(number)),
            }
        }
        spans
    }
}

impl fmt::Display for Span {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.first == self.last {
            true => write!(formatter, "record {}", self.first),
            false => write!(formatter, "records {} to {}", self.first, self.last),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed(span) => write!(formatter, "{span}: changed"),
            Self::Missing(span) => write!(formatter, "{span}: removed"),
            Self::Moved(number) => write!(formatter, "record {number}: moved behind a later one"),
            Self::Doubled(number) => write!(formatter, "record {number}: there more than once"),
            Self::Unreadable(line) => write!(formatter, "line {line}: not a record"),
            Self::Cut(span) => write!(formatter, "{span}: cut off at the end"),
            Self::Added => formatter.write_str("something was added behind the end"),
            Self::OtherKey => {
                formatter.write_str("every record was changed, or made with another key")
            }
            Self::Renamed(name) => write!(formatter, "this is the volume `{name}`, renamed"),
            Self::Gone => formatter.write_str("the volume was removed"),
            Self::Unlisted => formatter.write_str("the volume is not in the index"),
            Self::Shorter { lines, anchored } => write!(
                formatter,
                "shorter than the store knows it: {lines} lines of at least {anchored}; it was cut, \
                 emptied, or put back to an earlier state"
            ),
            Self::Replaced { line } => write!(
                formatter,
                "record {line}: not the one that the store knows; another log stands in its place"
            ),
        }
    }
}
