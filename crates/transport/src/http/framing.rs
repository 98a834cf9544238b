//! Where the body of a message ends, and how its bytes are cut out of the connection.

use bytes::{Buf, Bytes, BytesMut};
use httparse::Status;

/// Bytes of a piece that is copied, so that the connection keeps its buffer.
const SMALL: usize = 4 * 1024;
/// Bytes that the size of a chunk, with what is said beside it, or all headers behind the last one
/// may take.
const LINE: usize = 16 * 1024;

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

/// What comes next in a body of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chunked {
    /// The size of a chunk.
    Size,
    /// So many bytes of a chunk.
    Data(u64),
    /// The end of the line behind a chunk.
    DataEnd,
    /// Headers behind the last chunk, of which so many bytes were thrown away.
    Trailer(usize),
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
        Self::Chunked(Chunked::Size)
    }

    /// The bytes that are left for certain.
    pub fn at_least(&self) -> u64 {
        match self {
            Self::Length(left) | Self::Chunked(Chunked::Data(left)) => *left,
            Self::Chunked(_) | Self::UntilClose => 0,
        }
    }

    /// Whether the body has ended, and the connection is still there.
    pub fn has_ended(&self) -> bool {
        matches!(self, Self::Length(0) | Self::Chunked(Chunked::Ended))
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
            *self = match *self {
                // An empty line would be taken for a size of none, and so for the end.
                Self::Size if bytes.first().is_some_and(|byte| !byte.is_ascii_hexdigit()) => {
                    return Err("a chunk has no size");
                }
                Self::Size => match httparse::parse_chunk_size(bytes) {
                    Ok(Status::Complete((length, size))) => {
                        bytes.advance(length);
                        if size == 0 { Self::Trailer(0) } else { Self::Data(size) }
                    }
                    Ok(Status::Partial) if bytes.len() < LINE => return Ok(Step::More),
                    Ok(Status::Partial) | Err(_) => return Err("a chunk has no size"),
                },
                Self::Data(0) => Self::DataEnd,
                Self::Data(ref mut left) => return Ok(take(bytes, left)),
                Self::DataEnd if bytes.len() < 2 => return Ok(Step::More),
                Self::DataEnd if bytes.starts_with(b"\r\n") => {
                    bytes.advance(2);
                    Self::Size
                }
                Self::DataEnd => return Err("a chunk is longer than its size"),
                Self::Trailer(before) => match bytes.windows(2).position(|two| two == b"\r\n") {
                    Some(0) => {
                        bytes.advance(2);
                        Self::Ended
                    }
                    Some(length) if before + length < LINE => {
                        bytes.advance(length + 2);
                        Self::Trailer(before + length)
                    }
                    None if before + bytes.len() < LINE => return Ok(Step::More),
                    _ => return Err("the headers behind the body are too long"),
                },
                Self::Ended => return Ok(Step::End),
            };
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
            (&format!("5;{}", "x".repeat(LINE)), "no size"),
            (&format!("0\r\n{}", "x: y\r\n".repeat(LINE)), "too long"),
            (&format!("0\r\n{}", "x".repeat(LINE)), "too long"),
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
