//! Checks the chain of one segment: fast while it is intact, then exactly.

use std::collections::{BTreeMap, BTreeSet};

use super::chain::{Line, Mac, Seal};
use super::verify::{Finding, Span};

/// The code that the first line follows.
const START: Mac = [0; 32];

/// What was found.
#[derive(Debug)]
pub(super) struct Inspection<'a> {
    /// How many lines there should be: one more than the highest number.
    pub(super) lines: u64,
    /// The code of the last line, as it stands there.
    pub(super) last: Mac,
    /// What stands after the last whole line.
    pub(super) rest: &'a [u8],
    pub(super) findings: Vec<Finding>,
}

/// Checks a chain.
pub(super) fn inspect<'a>(seal: &Seal, text: &'a [u8]) -> Inspection<'a> {
    let mut inspection = Inspection { lines: 0, last: START, rest: &[], findings: Vec::new() };
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text) {
        let line = Line::parse(&text[start..end]).filter(|line| {
            line.number == inspection.lines && line.mac == seal.mac(&inspection.last, line.text)
        });
        let Some(line) = line else {
            return examine(seal, text);
        };
        (inspection.lines, inspection.last, start) = (line.number + 1, line.mac, end + 1);
    }
    inspection.rest = &text[start..];
    inspection
}

/// Says exactly what is wrong with a chain in which something is.
fn examine<'a>(seal: &Seal, text: &'a [u8]) -> Inspection<'a> {
    let whole = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
    let lines: Vec<Option<Line<'_>>> =
        text[..whole].split_inclusive(|byte| *byte == b'\n').map(Line::parse).collect();
    let evident = evident(&lines);
    let numbered = numbered(&lines, &evident);
    let verdicts = judge(seal, &numbered);
    let mut changed: BTreeSet<u64> = evident.values().copied().collect();
    changed.extend(&verdicts.changed);
    let known: BTreeSet<u64> = numbered.keys().copied().chain(evident.values().copied()).collect();
    let count = known.last().map_or(0, |last| last + 1);
    let mut findings = Vec::new();
    match verdicts.proven {
        0 if lines.len() > 1 => findings.push(Finding::OtherKey),
        _ => {
            findings.extend(Span::gather(changed).into_iter().map(Finding::Changed));
            findings.extend(missing(&known).into_iter().map(Finding::Missing));
            findings.extend(verdicts.doubled.into_iter().map(Finding::Doubled));
            findings.extend(moved(&lines, &evident).into_iter().map(Finding::Moved));
            let unreadable = lines.iter().enumerate();
            let unreadable =
                unreadable.filter(|(at, it)| it.is_none() && !evident.contains_key(at));
            findings.extend(unreadable.map(|(at, _)| Finding::Unreadable(at as u64 + 1)));
        }
    }
    let last = lines.iter().rev().flatten().next().map_or(START, |line| line.mac);
    Inspection { lines: count, last, rest: &text[whole..], findings }
}

/// Lines whose own number cannot be trusted but whose neighbours say which they are, by place.
fn evident(lines: &[Option<Line<'_>>]) -> BTreeMap<usize, u64> {
    let number = |at: usize| lines.get(at).copied().flatten().map(|line| line.number);
    let offset = |at: usize| {
        let before = match at {
            0 => Some(0),
            _ => number(at - 1).map(|it| it + 1),
        }?;
        let fits = number(at + 1).is_none_or(|after| after == before + 1);
        (number(at) != Some(before) && fits).then_some((at, before))
    };
    let is_alone = |at: &usize| number(*at).is_none() || number(at + 1).is_some();
    (0..lines.len()).filter(is_alone).filter_map(offset).collect()
}

/// The other lines by number.
fn numbered<'a>(
    lines: &[Option<Line<'a>>],
    evident: &BTreeMap<usize, u64>,
) -> BTreeMap<u64, Vec<Line<'a>>> {
    let mut numbered: BTreeMap<u64, Vec<Line<'a>>> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        if let Some(line) = line.filter(|_| !evident.contains_key(&at)) {
            numbered.entry(line.number).or_default().push(line);
        }
    }
    numbered
}

#[derive(Debug, Default)]
struct Verdicts {
    /// How many lines are what was written.
    proven: usize,
    changed: BTreeSet<u64>,
    doubled: BTreeSet<u64>,
}

/// Checks every line against the one before, wherever that stands. Of a changed line either the
/// code or the text may be right, so the next one may follow either.
fn judge(seal: &Seal, numbered: &BTreeMap<u64, Vec<Line<'_>>>) -> Verdicts {
    let mut verdicts = Verdicts::default();
    let mut before: (u64, Vec<Mac>) = (0, vec![START]);
    for (&number, lines) in numbered {
        let codes = if before.0 == number { before.1 } else { Vec::new() };
        let made = |line: &Line<'_>| codes.iter().map(|code| seal.mac(code, line.text)).collect();
        let mut next = Vec::new();
        for line in lines {
            let made: Vec<Mac> = made(line);
            match made.contains(&line.mac) {
                true => verdicts.proven += 1,
                // After a gap nothing can be said of the first line.
                false if codes.is_empty() => {}
                false => drop(verdicts.changed.insert(number)),
            }
            next.push(line.mac);
            // Few copies of a line are enough to tell that there are copies.
            next.extend(made.into_iter().filter(|it| *it != line.mac).take(2));
        }
        if lines.len() > 1 {
            verdicts.doubled.insert(number);
        }
        next.truncate(8);
        before = (number + 1, next);
    }
    verdicts
}

fn missing(known: &BTreeSet<u64>) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut next = 0;
    for number in known {
        if *number > next {
            spans.push(Span { first: next, last: number - 1 });
        }
        next = number + 1;
    }
    spans
}

/// Lines that stand behind a later one.
fn moved(lines: &[Option<Line<'_>>], evident: &BTreeMap<usize, u64>) -> BTreeSet<u64> {
    let mut highest = None;
    let mut moved = BTreeSet::new();
    for (at, line) in lines.iter().enumerate() {
        let number = line.filter(|_| !evident.contains_key(&at)).map(|line| line.number);
        if number.is_some() && number < highest {
            moved.extend(number);
        }
        highest = highest.max(number);
    }
    moved
}
