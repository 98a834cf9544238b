//! HTTP/1.1 framing for both sides: where a body ends, chunked encoding, and keep-alive. It refuses
//! whatever two readers might read differently, which is how request smuggling starts.

use bytes::{Buf, Bytes, BytesMut};
use httparse::Status;

/// Bytes of a piece that is copied, so that the connection keeps its buffer.
const SMALL: usize = 4 * 1024;
/// Bytes that a body may have beside its chunks and their sizes: what is said with sizes, and headers
/// behind the last one.
const BESIDE: usize = 16 * 1024;

/// How the end of a body is known, and how much is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// After so many bytes.
    Length(u64),
    /// After a chunk without bytes.
    Chunked(Chunked),
    /// With the connection.
    UntilClose,
}

/// A body of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chunked {
    next: Next,
    /// Bytes that were thrown away.
    beside: usize,
}

/// What comes next in a body of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The size of a chunk.
    Size,
    /// So many bytes of a chunk.
    Data(u64),
    /// The end of the line behind a chunk.
    DataEnd,
    /// Headers behind the last chunk.
    Trailer,
    /// Nothing.
    Ended,
}

/// What a look at the bytes that came has given.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// A piece of the body.
    Piece(Bytes),
    /// Nothing until more bytes come.
    More,
    /// The body has ended.
    End,
}

impl Framing {
    /// A body of chunks, at its beginning.
    pub const fn chunked() -> Self {
        Self::Chunked(Chunked { next: Next::Size, beside: 0 })
    }

    /// The bytes that are left for certain.
    pub fn at_least(&self) -> u64 {
        match self {
            Self::Length(left) | Self::Chunked(Chunked { next: Next::Data(left), .. }) => *left,
            Self::Chunked(_) | Self::UntilClose => 0,
        }
    }

    /// Whether the body has ended, and the connection is still there.
    pub fn has_ended(&self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunked { next: Next::Ended, .. }))
    }

    /// Takes what there is.
    pub fn step(&mut self, bytes: &mut BytesMut) -> Result<Step, &'static str> {
        match self {
            Self::Length(0) => Ok(Step::End),
            Self::Length(left) => Ok(take(bytes, left)),
            Self::Chunked(chunked) => chunked.step(bytes),
            Self::UntilClose => Ok(take(bytes, &mut { u64::MAX })),
        }
    }
}

impl Chunked {
    fn step(&mut self, bytes: &mut BytesMut) -> Result<Step, &'static str> {
        loop {
            self.next = match self.next {
                // An empty line would be taken for a size of none, and so for the end.
                Next::Size if bytes.first().is_some_and(|byte| !byte.is_ascii_hexdigit()) => {
                    return Err(NO_SIZE);
                }
                Next::Size => match self.line(bytes)? {
                    Some(length) => {
                        let size = self.size(&bytes[..length])?;
                        bytes.advance(length);
                        if size == 0 { Next::Trailer } else { Next::Data(size) }
                    }
                    None => return Ok(Step::More),
                },
                Next::Data(0) => Next::DataEnd,
                Next::Data(ref mut left) => return Ok(take(bytes, left)),
                Next::DataEnd if bytes.len() < 2 => return Ok(Step::More),
                Next::DataEnd if bytes.starts_with(b"\r\n") => {
                    bytes.advance(2);
                    Next::Size
                }
                Next::DataEnd => return Err("a chunk is longer than its size"),
                Next::Trailer => match self.line(bytes)? {
                    Some(2) => {
                        bytes.advance(2);
                        Next::Ended
                    }
                    Some(length) if is_header(&bytes[..length - 2]) => {
                        self.pass(length)?;
                        bytes.advance(length);
                        Next::Trailer
                    }
                    Some(_) => return Err("what follows the last chunk is no header"),
                    None => return Ok(Step::More),
                },
                Next::Ended => return Ok(Step::End),
            };
        }
    }

    /// The length of the line that the bytes begin with, once it is whole. Nothing but both signs ends
    /// one: others would see two lines where we see one.
    fn line(&self, bytes: &[u8]) -> Result<Option<usize>, &'static str> {
        match memchr::memchr(b'\n', bytes) {
            Some(end) if end > 0 && bytes[end - 1] == b'\r' => Ok(Some(end + 1)),
            Some(_) => Err("a line beside the chunks has no proper end"),
            None if self.beside + bytes.len() < BESIDE => Ok(None),
            None => Err(TOO_MUCH),
        }
    }

    /// The size that a line says.
    fn size(&mut self, line: &[u8]) -> Result<u64, &'static str> {
        let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let Ok(Status::Complete((_, size))) = httparse::parse_chunk_size(line) else {
            return Err(NO_SIZE);
        };
        self.pass(line.len() - digits - 2)?;
        Ok(size)
    }

    /// Throws so many bytes away.
    fn pass(&mut self, bytes: usize) -> Result<(), &'static str> {
        self.beside += bytes;
        if self.beside < BESIDE { Ok(()) } else { Err(TOO_MUCH) }
    }
}

const NO_SIZE: &str = "a chunk has no size";
const TOO_MUCH: &str = "the body has too much beside its chunks";

/// Whether a line has a name and a value.
fn is_header(line: &[u8]) -> bool {
    let is_in_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    let is_in_value = |byte: &u8| *byte == b'\t' || !byte.is_ascii_control();
    match memchr::memchr(b':', line) {
        None | Some(0) => false,
        Some(colon) => {
            line[..colon].iter().all(is_in_name) && line[colon + 1..].iter().all(is_in_value)
        }
    }
}

/// Takes as much as there is of what is left.
fn take(bytes: &mut BytesMut, left: &mut u64) -> Step {
    let length = usize::try_from(*left).map_or(bytes.len(), |left| left.min(bytes.len()));
    if length == 0 {
        return Step::More;
    }
    *left -= length as u64;
    if length > SMALL {
        return Step::Piece(bytes.split_to(length).freeze());
    }
    let piece = Bytes::copy_from_slice(&bytes[..length]);
    bytes.advance(length);
    Step::Piece(piece)
}

/// What the headers say about the connection and the length of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Hints {
    /// The bytes of the body.
    pub length: Option<u64>,
    /// Whether the body has a transfer coding.
    pub encoded: bool,
    /// Whether that is `chunked` and nothing else.
    pub chunked: bool,
    /// Whether the connection is not to be used again.
    pub close: bool,
    /// Whether it is, although the message is of HTTP/1.0.
    pub keep_alive: bool,
}

impl Hints {
    /// Reads a header. The error says what is wrong with it.
    pub fn note(&mut self, name: &str, value: &[u8]) -> Result<(), &'static str> {
        // Only these lengths are of interest, and most headers have another.
        match name.len() {
            10 if name.eq_ignore_ascii_case("connection") => {
                self.close |= words(value).any(|word| word.eq_ignore_ascii_case(b"close"));
                self.keep_alive |=
                    words(value).any(|word| word.eq_ignore_ascii_case(b"keep-alive"));
            }
            14 if name.eq_ignore_ascii_case("content-length") => {
                let length = number(value).ok_or("the length of the body is no number")?;
                if self.length.replace(length).is_some_and(|other| other != length) {
                    return Err("the body has two lengths");
                }
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                // A second header names a second coding.
                let is_chunked = value.trim_ascii().eq_ignore_ascii_case(b"chunked");
                self.chunked = is_chunked && !self.encoded;
                self.encoded = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether a message of HTTP/1.1, or of what was before it, lets the connection go on.
    pub fn lasts(&self, is_newest: bool) -> bool {
        !self.close && (is_newest || self.keep_alive)
    }
}

/// Digits and nothing else: a sign or a list would be read differently by others.
fn number(value: &[u8]) -> Option<u64> {
    let value = value.trim_ascii();
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    digits.then(|| std::str::from_utf8(value).ok()?.parse().ok()).flatten()
}

fn words(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The body out of bytes that come in pieces of this size, and whether it has ended.
    fn read(mut framing: Framing, text: &str, size: usize) -> Result<(String, bool), &'static str> {
        let (mut bytes, mut body) = (BytesMut::new(), Vec::new());
        for part in text.as_bytes().chunks(size) {
            bytes.extend_from_slice(part);
            loop {
                match framing.step(&mut bytes)? {
                    Step::Piece(piece) => body.extend_from_slice(&piece),
                    Step::More => break,
                    Step::End => return Ok((String::from_utf8(body).unwrap(), true)),
                }
            }
        }
        Ok((String::from_utf8(body).unwrap(), framing.has_ended()))
    }

    #[test]
    fn bodies_however_their_bytes_come() {
        let long = "x".repeat(3 * SMALL);
        for (framing, text, body, ended) in [
            (Framing::Length(0), "", "", true),
            (Framing::Length(5), "hello, more", "hello", true),
            (Framing::Length(9), "hello", "hello", false),
            (Framing::Length(3 * SMALL as u64), long.as_str(), long.as_str(), true),
            (Framing::UntilClose, "hello", "hello", false),
            (Framing::chunked(), "5\r\nhello\r\n0\r\n\r\n", "hello", true),
            (
                Framing::chunked(),
                "A;name=value\r\n0123456789\r\n1 \r\n!\r\n0\r\n\r\n",
                "0123456789!",
                true,
            ),
            (Framing::chunked(), "1\r\na\r\n0\r\nx: y\r\nz: 0\r\n\r\n", "a", true),
            (Framing::chunked(), "5\r\nhel", "hel", false),
        ] {
            for size in [1, 2, 3, 7, 100_000] {
                // A body that ended is not asked for more.
                let expected = (body.to_owned(), ended);
                let text = if text.is_empty() { " " } else { text };
                assert_eq!(read(framing, text, size), Ok(expected), "{text} by {size}");
            }
        }
    }

    #[test]
    fn chunks_that_are_none() {
        for (text, expected) in [
            ("hello", "no size"),
            ("\r\n", "no size"),
            ("fffffffffffffffff\r\n", "no size"),
            ("5\r\nhello!\r\n", "longer"),
            ("2;\nxx\r\n", "proper end"),
            ("2\nxx\r\n", "proper end"),
            ("0\r\n\n", "proper end"),
            ("0\r\nGET /x HTTP/1.1\r\n\r\n", "no header"),
            ("0\r\n: y\r\n\r\n", "no header"),
            ("0\r\nx : y\r\n\r\n", "no header"),
            ("0\r\nx: \u{b}\r\n\r\n", "no header"),
            (&format!("5;{}", "x".repeat(BESIDE)), "too much"),
            (&format!("1;{}\r\n!\r\n", "x".repeat(999)).repeat(17), "too much"),
            (&format!("0\r\n{}", "x: y\r\n".repeat(BESIDE)), "too much"),
            (&format!("0\r\n{}", "x".repeat(BESIDE)), "too much"),
        ] {
            for size in [1, 64] {
                let error = read(Framing::chunked(), text, size).unwrap_err();
                assert!(error.contains(expected), "{text}: {error}");
            }
        }
    }

    proptest! {
        #[test]
        fn every_body_comes_out_of_its_chunks(
            pieces in prop::collection::vec("[ -~]{1,40}", 0..6),
            size in 1..64_usize,
        ) {
            let mut text: String =
                pieces.iter().map(|it| format!("{:x}\r\n{it}\r\n", it.len())).collect();
            text.push_str("0\r\n\r\n");
            prop_assert_eq!(read(Framing::chunked(), &text, size), Ok((pieces.concat(), true)));
        }

        #[test]
        fn no_bytes_are_too_bad_to_be_judged(bytes in any::<Vec<u8>>()) {
            for mut framing in [Framing::Length(9), Framing::chunked(), Framing::UntilClose] {
                let mut bytes = BytesMut::from(&bytes[..]);
                while let Ok(Step::Piece(_)) = framing.step(&mut bytes) {}
            }
        }
    }
}
