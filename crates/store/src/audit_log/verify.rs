//! Verifies a whole audit log: every segment, and the index against the files, and what can be
//! wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::chain::{Anchor, Line, Seal, to_hex};
use super::index::Contents;
use super::index::End;
use super::index::Fate;
use super::inspect::{Inspection, inspect};
use super::retention::Removal;
use super::writer::{is_left, rest};
use super::{AuditError, index, segment};

/// What was found in a record.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The segments, sorted by name.
    pub segments: Vec<SegmentReport>,
    /// What is wrong with the list of segments.
    pub index: Vec<Finding>,
    /// What retention removed, by reason. That is nothing wrong.
    pub removals: Vec<Removal>,
    /// Whether it was known how far the log was.
    pub is_anchored: bool,
}

/// What was found in a segment.
#[derive(Debug, Clone)]
pub struct SegmentReport {
    /// Its name.
    pub name: String,
    /// How it stands.
    pub condition: Condition,
    /// How many lines it has.
    pub lines: u64,
    /// How many bytes.
    pub bytes: u64,
    /// What is wrong with it.
    pub findings: Vec<Finding>,
}

/// How a segment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    /// A program writes it.
    Open,
    /// It was ended in good order.
    Closed,
    /// Its program was gone before it was ended.
    Left,
    /// The same, and nobody has noted yet where it ends: whether its end was cut off since cannot
    /// be told.
    Unsealed,
    /// It is not there.
    Absent,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.index.is_empty() && self.segments.iter().all(|segment| segment.findings.is_empty())
    }
}

/// Checks the audit log in a folder. Programs may write it meanwhile: the anchors must have been read
/// before.
pub fn verify(folder: &Path, key: &[u8; 32], anchors: &[Anchor]) -> Result<Report, AuditError> {
    let seal = Seal::new(key);
    let is_anchored = !anchors.is_empty();
    if !folder.exists() && !is_anchored {
        return Ok(Report::default());
    }
    // Under the lock no segment is made. A copy that may not be written is nobody's to change.
    let lock = index::lock(folder, Duration::from_secs(10)).ok();
    let names = segment_names(folder)?;
    let text = match std::fs::read(folder.join(index::FILE)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        read => read.map_err(AuditError::read(folder.join(index::FILE)))?,
    };
    drop(lock);
    let Contents { segments: fates, removals, generation } = Contents::read(&text);
    let listed = inspect(&seal, &text);
    let mut index = listed.findings;
    if !listed.rest.is_empty() {
        index.push(Finding::Added);
    }
    let anchor = anchors.iter().find(|anchor| anchor.file == index::FILE);
    index.extend(anchor.and_then(|anchor| anchor.check(&text, generation)));
    let gone = fates.iter().filter(|(name, fate)| !names.contains(name) && !fate.is_removed);
    let gone = gone.map(|(name, fate)| absent(name, fate));
    let known = Known { fates: &fates, anchors };
    let mut segments: Vec<_> = gone.chain(inspect_all(folder, &seal, &names, &known)?).collect();
    segments.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Report { segments, index, removals, is_anchored })
}

/// The names of the segments in a folder, sorted.
pub(super) fn segment_names(folder: &Path) -> Result<Vec<String>, AuditError> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(AuditError::read(folder))?,
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<_> = names.filter(|name| segment::is_name(name)).collect();
    names.sort();
    Ok(names)
}

fn absent(name: &str, fate: &Fate) -> SegmentReport {
    let lines = fate.end.as_ref().map_or(0, |end| end.lines);
    let (name, findings) = (name.to_owned(), vec![Finding::Gone]);
    SegmentReport { name, condition: Condition::Absent, lines, bytes: 0, findings }
}

/// What is known of the segments from elsewhere.
struct Known<'a> {
    fates: &'a BTreeMap<String, Fate>,
    anchors: &'a [Anchor],
}

/// Inspects all segments, as many at once as there are cores.
fn inspect_all(
    folder: &Path,
    seal: &Seal,
    names: &[String],
    known: &Known<'_>,
) -> Result<Vec<SegmentReport>, AuditError> {
    let next = AtomicUsize::new(0);
    let reports = Mutex::new(Vec::with_capacity(names.len()));
    let work = || {
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            let report = inspect_segment(&folder.join(name), name, seal, known);
            reports.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(report);
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 1..cores.min(names.len()) {
            scope.spawn(work);
        }
        work();
    });
    let reports = reports.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    reports.into_iter().filter_map(Result::transpose).collect()
}

/// Inspects a segment; none if it was removed just now.
fn inspect_segment(
    path: &Path,
    name: &str,
    seal: &Seal,
    known: &Known<'_>,
) -> Result<Option<SegmentReport>, AuditError> {
    let fate = known.fates.get(name);
    let is_open = !is_left(path);
    let text = match std::fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(AuditError::read(path))?,
    };
    let inspection = inspect(seal, &text);
    let end = fate.and_then(|fate| fate.end.as_ref());
    let condition = match fate {
        Some(fate) if fate.is_left => Condition::Left,
        Some(fate) if fate.end.is_some() => Condition::Closed,
        _ if is_open => Condition::Open,
        _ => Condition::Unsealed,
    };
    let mut findings = inspection.findings.clone();
    findings.extend(renamed(name, &text));
    match end {
        Some(end) => findings.extend(compare(seal, &inspection, text.len() as u64, end)),
        // Whoever was killed before the list was written has left no more than a first line.
        None if fate.is_none() && inspection.lines > 1 => findings.push(Finding::Unlisted),
        None => {}
    }
    let anchor = known.anchors.iter().find(|anchor| anchor.file == name);
    findings.extend(anchor.and_then(|anchor| anchor.check(&text, 0)));
    let (lines, bytes) = (inspection.lines, text.len() as u64);
    Ok(Some(SegmentReport { name: name.to_owned(), condition, lines, bytes, findings }))
}

/// The name that a segment was begun with, if it has another now.
fn renamed(name: &str, text: &[u8]) -> Option<Finding> {
    let first = text.split(|byte| *byte == b'\n').next()?;
    Line::parse(first)?;
    let header: serde_json::Value = serde_json::from_slice(first).ok()?;
    let opened = header.get("volume")?.as_str()?;
    (opened != name).then(|| Finding::Renamed(opened.to_owned()))
}

/// Whether a segment ends where it ended.
fn compare(seal: &Seal, found: &Inspection<'_>, bytes: u64, end: &End) -> Option<Finding> {
    if found.lines < end.lines {
        return Some(Finding::Cut(Span { first: found.lines, last: end.lines - 1 }));
    }
    if found.lines > end.lines || found.rest.len() > bytes as usize {
        return Some(Finding::Added);
    }
    let is_same =
        to_hex(&found.last) == end.last && rest(seal, &found.last, found.rest) == end.rest;
    match is_same && bytes == end.bytes {
        true => None,
        false if !found.findings.is_empty() => None,
        false if found.rest.is_empty() && end.rest.is_some() => {
            Some(Finding::Cut(Span::one(end.lines)))
        }
        false if end.rest.is_none() && !found.rest.is_empty() => Some(Finding::Added),
        false => Some(Finding::Changed(Span::one(end.lines.saturating_sub(1)))),
    }
}

/// Numbers of records, from the first to the last of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first.
    pub first: u64,
    /// The last, which may be the first.
    pub last: u64,
}

/// Something that is wrong with a segment or with the list of segments.
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
    /// The segment was begun under another name.
    Renamed(String),
    /// The file of a segment is gone, and nobody has noted that it was removed.
    Gone,
    /// A segment that is in no list.
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
                "record {line}: not the one that the store knows; another log stands in its offset"
            ),
        }
    }
}
