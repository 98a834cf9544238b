//! Newline-delimited messages, with a limit on their length.

use bytes::{Buf, Bytes, BytesMut};

/// Bytes that are kept of each end of a line that is too long.
const KEPT: usize = 256;

/// A line was longer than the limit. It is skipped; the lines after it are read as ever.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a line is longer than the limit of {limit} bytes; it was skipped")]
pub struct LineTooLong {
    /// The limit in force.
    pub limit: usize,
    /// Its first bytes.
    pub head: Vec<u8>,
    /// Its last bytes, which may be some of the first.
    pub tail: Vec<u8>,
}

impl LineTooLong {
    fn new(limit: usize) -> Self {
        Self { limit, head: Vec::new(), tail: Vec::new() }
    }

    /// More of the line.
    fn take(&mut self, bytes: &[u8]) {
        let more = bytes.len().min(KEPT - self.head.len());
        self.head.extend_from_slice(&bytes[..more]);
        self.tail.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
        self.tail.drain(..self.tail.len().saturating_sub(KEPT));
    }
}

/// Cuts a stream of bytes into lines. Empty lines are passed over.
#[derive(Debug)]
pub struct LineDecoder {
    buffer: BytesMut,
    /// How much of the buffer is known to hold no end of line.
    searched: usize,
    limit: usize,
    /// The line that is thrown away as it comes.
    skipping: Option<LineTooLong>,
}

impl LineDecoder {
    /// Lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), searched: 0, limit, skipping: None }
    }

    /// Adds bytes as they come.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next line, without its end.
    ///
    /// ```
    /// use gantry_transport::lines::LineDecoder;
    /// let mut decoder = LineDecoder::new(8);
    /// decoder.feed(b"one\r\n\nfar too long a line\ntwo\nthr");
    /// let lines: Vec<_> = std::iter::from_fn(|| decoder.next_line()).collect();
    /// assert_eq!(lines[0].as_deref(), Ok(&b"one"[..]));
    /// assert!(lines[1].is_err());
    /// assert_eq!(lines[2].as_deref(), Ok(&b"two"[..]));
    /// assert_eq!(decoder.finish().unwrap().as_deref(), Ok(&b"thr"[..]));
    /// ```
    pub fn next_line(&mut self) -> Option<Result<Bytes, LineTooLong>> {
        loop {
            let Some(found) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                self.overflow();
                return None;
            };
            let end = self.searched + found;
            self.searched = 0;
            let line = self.buffer.split_to(end).freeze();
            self.buffer.advance(1);
            if line.len() > self.limit || self.skipping.is_some() {
                return Some(Err(self.skipped(&line)));
            }
            let line = line.slice_ref(line.trim_ascii());
            if !line.is_empty() {
                return Some(Ok(line));
            }
        }
    }

    /// What is left when no more bytes will come: a last line without its end.
    pub fn finish(&mut self) -> Option<Result<Bytes, LineTooLong>> {
        let line = self.buffer.split().freeze();
        self.searched = 0;
        if self.skipping.is_some() {
            return Some(Err(self.skipped(&line)));
        }
        let line = line.slice_ref(line.trim_ascii());
        (!line.is_empty()).then_some(Ok(line))
    }

    /// An unfinished line beyond the limit is thrown away as it comes, and reported at its end.
    fn overflow(&mut self) {
        if self.buffer.len() > self.limit {
            let limit = self.limit;
            self.skipping.get_or_insert_with(|| LineTooLong::new(limit)).take(&self.buffer);
            self.buffer.clear();
            self.searched = 0;
        }
    }

    /// The line that was thrown away, with the last of it.
    fn skipped(&mut self, rest: &[u8]) -> LineTooLong {
        let mut long = self.skipping.take().unwrap_or_else(|| LineTooLong::new(self.limit));
        long.take(rest);
        long
    }
}

/// Makes one line of a JSON text. An end of line can stand only between tokens there, so a
/// space means the same.
pub fn to_line(message: &Bytes) -> Bytes {
    let mut line = BytesMut::with_capacity(message.len() + 1);
    put_line(&mut line, message);
    line.freeze()
}

/// Adds such a line to others.
pub fn put_line(lines: &mut BytesMut, message: &[u8]) {
    let start = lines.len();
    lines.reserve(message.len() + 1);
    lines.extend_from_slice(message);
    if memchr::memchr2(b'\n', b'\r', message).is_some() {
        let line = lines[start..].iter_mut();
        line.filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    }
    lines.extend_from_slice(b"\n");
}
