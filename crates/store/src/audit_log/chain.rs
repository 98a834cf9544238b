//! The hash chain: each line carries the authentication code (HMAC) of itself and of the line
//! before.
//!
//! An [`Anchor`] notes, outside of the log, how far it was: a log that is shorter than its anchor
//! was emptied, cut or put back. Anchors are never ahead of the disk, so that a crash is no false
//! alarm.

use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac as _};
use sha2::Sha256;

use super::index::Contents;
use super::inspect::inspect;
use super::verify::Finding;

/// The authentication code of a line and of all before it.
pub(super) type Mac = [u8; 32];

/// What stands between the text of a line and its code.
const SEAM: &[u8] = b",\"mac\":\"";

/// What ends a line.
const END: &[u8] = b"\"}\n";

/// A chain at its end: what the next line is tied to.
#[derive(Clone)]
pub(super) struct Chain {
    seal: Seal,
    last: Mac,
    next: u64,
}

/// Makes authentication codes with one key.
#[derive(Clone)]
pub(super) struct Seal(Hmac<Sha256>);

/// A line, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Its number, from zero.
    pub(super) number: u64,
    /// What its code is made of, beside the code before.
    pub(super) text: &'a [u8],
    /// Its code, as it stands there.
    pub(super) mac: Mac,
}

impl Seal {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
        block[..key.len()].copy_from_slice(key);
        Self(Hmac::new(&block))
    }

    /// The code of a text that follows a line with that code.
    pub(super) fn mac(&self, before: &Mac, text: &[u8]) -> Mac {
        let mut mac = self.0.clone();
        mac.update(before);
        mac.update(text);
        mac.finalize().into_bytes().into()
    }
}

impl Chain {
    /// A chain without lines.
    pub(super) fn new(seal: Seal) -> Self {
        Self { seal, last: [0; 32], next: 0 }
    }

    /// A chain that goes on after a line.
    pub(super) fn after(seal: Seal, last: Mac, next: u64) -> Self {
        Self { seal, last, next }
    }

    /// Writes a line with these members: the inside of an object, and not nothing.
    pub(super) fn append(&mut self, members: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(b"{\"n\":");
        put_number(self.next, out);
        out.push(b',');
        out.extend_from_slice(members);
        self.last = self.seal.mac(&self.last, &out[start..]);
        self.next += 1;
        out.extend_from_slice(SEAM);
        put_hex(&self.last, out);
        out.extend_from_slice(END);
    }

    /// The code of the last line.
    pub(super) fn last(&self) -> &Mac {
        &self.last
    }

    /// How many lines there are.
    pub(super) fn lines(&self) -> u64 {
        self.next
    }
}

impl<'a> Line<'a> {
    /// Takes a line apart, which may have its end or not. Only what a chain wrote has this form.
    pub(super) fn parse(line: &'a [u8]) -> Option<Self> {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\"}")?;
        let (front, code) = line.split_at_checked(line.len().checked_sub(64)?)?;
        let text = front.strip_suffix(SEAM)?;
        let digits = text.strip_prefix(b"{\"n\":")?;
        let end = memchr::memchr(b',', digits)?;
        Some(Self { number: number(&digits[..end])?, text, mac: from_hex(code)? })
    }

    /// The members of the line: the inside of an object, without number and code.
    pub(super) fn members(&self) -> &'a [u8] {
        let start = memchr::memchr(b',', self.text).map_or(self.text.len(), |at| at + 1);
        &self.text[start..]
    }
}

/// A code as text.
pub(super) fn to_hex(mac: &Mac) -> String {
    let mut out = Vec::with_capacity(64);
    put_hex(mac, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// A code from its text. There is one text for each code: capitals are refused.
pub(super) fn from_hex(text: &[u8]) -> Option<Mac> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut mac = [0; 32];
    if text.len() != 2 * mac.len() {
        return None;
    }
    for (byte, pair) in mac.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(mac)
}

fn put_hex(mac: &Mac, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(mac) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
    }
    out.extend_from_slice(&text);
}

fn put_number(mut number: u64, out: &mut Vec<u8>) {
    let start = out.len();
    loop {
        out.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out[start..].reverse();
}

/// A number as it is written here: no sign, no zero before others.
fn number(digits: &[u8]) -> Option<u64> {
    let is_plain = digits.iter().all(u8::is_ascii_digit)
        && (digits.len() == 1 || digits.first() != Some(&b'0'));
    is_plain.then(|| std::str::from_utf8(digits).ok()?.parse().ok()).flatten()
}

/// How far a file of the log was. It is kept where who can write the log cannot write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anchor {
    /// The name of the file: a segment, or the list of segments.
    pub file: String,
    /// How often the file was written again: only the list of segments is.
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

    /// Whether a list of segments goes on from where it was. A list that was written again counts
    /// only if every line of it was made with the key.
    pub(super) fn is_extended_by(&self, seal: &Seal, text: &[u8]) -> bool {
        let generation = Contents::read(text).generation;
        self.check(text, generation).is_none()
            && (generation == self.generation || inspect(seal, text).findings.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart_as_it_was_put_together() {
        let mut chain = Chain::new(Seal::new(&[7; 32]));
        let mut out = Vec::new();
        chain.append(b"\"a\":1", &mut out);
        let first = out.len();
        chain.append(b"\"b\":\",\"", &mut out);
        let line = Line::parse(&out[first..]).expect("a line");
        assert_eq!((line.number, line.mac), (1, *chain.last()));
        assert_eq!(line.members(), b"\"b\":\",\"");
        assert_eq!(chain.lines(), 2);
        let text = String::from_utf8(out).expect("text");
        assert!(text.starts_with("{\"n\":0,\"a\":1,\"mac\":\""), "{text}");
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn what_is_no_line() {
        let mac = "0".repeat(64);
        let cases = [
            String::new(),
            "{}".to_owned(),
            format!("{{\"n\":01,\"a\":1,\"mac\":\"{mac}\"}}"),
            format!("{{\"n\":,\"a\":1,\"mac\":\"{mac}\"}}"),
            format!("{{\"n\":+1,\"a\":1,\"mac\":\"{mac}\"}}"),
            format!("{{\"n\":1,\"a\":1,\"mac\":\"{}\"}}", "A".repeat(64)),
            format!("{{\"n\":99999999999999999999,\"a\":1,\"mac\":\"{mac}\"}}"),
            format!("{{\"m\":1,\"a\":1,\"mac\":\"{mac}\"}}"),
            format!("\"mac\":\"{mac}\"}}"),
        ];
        for case in cases {
            assert_eq!(Line::parse(case.as_bytes()), None, "{case}");
        }
    }
}
