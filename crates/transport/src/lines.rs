//! One message a line, with a bound on its length.

use bytes::{Buf, Bytes, BytesMut};

/// A line was longer than the limit. It is skipped; the lines after it are read as ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a line is longer than the limit of {limit} bytes; it was skipped")]
pub struct LineTooLong {
    /// The limit in force.
    pub limit: usize,
}

/// Cuts a stream of bytes into lines. Empty lines are passed over.
#[derive(Debug)]
pub struct LineDecoder {
    buffer: BytesMut,
    /// How much of the buffer is known to hold no end of line.
    searched: usize,
    limit: usize,
    skipping: bool,
}

impl LineDecoder {
    /// Lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { buffer: BytesMut::new(), searched: 0, limit, skipping: false }
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
                return self.overflow();
            };
            let end = self.searched + found;
            self.searched = 0;
            let line = self.buffer.split_to(end).freeze();
            self.buffer.advance(1);
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if line.len() > self.limit {
                return Some(Err(LineTooLong { limit: self.limit }));
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
        let line = line.slice_ref(line.trim_ascii());
        let skipping = std::mem::take(&mut self.skipping);
        (!skipping && !line.is_empty()).then_some(Ok(line))
    }

    /// An unfinished line beyond the limit is reported once and then thrown away as it comes.
    fn overflow(&mut self) -> Option<Result<Bytes, LineTooLong>> {
        if self.buffer.len() <= self.limit {
            return None;
        }
        self.buffer.clear();
        self.searched = 0;
        let first = !std::mem::replace(&mut self.skipping, true);
        first.then_some(Err(LineTooLong { limit: self.limit }))
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
