//! What is kept of the bytes that a child writes: the head, the tail, or each line.

use bytes::{Bytes, BytesMut};
use tokio::sync::mpsc;

use gantry_transport::lines::LineDecoder;

/// Takes bytes as they come.
pub(crate) trait Sink {
    /// Takes some, and says whether more are wanted.
    fn take(&mut self, bytes: &[u8]) -> bool;
}

/// Keeps the first bytes and refuses more.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) kept: BytesMut,
    pub(crate) overflow: bool,
    /// Whether no more is wanted once there is a line.
    pub(crate) stop_at_line: bool,
    limit: usize,
}

/// Keeps the last bytes.
#[derive(Debug)]
pub(crate) struct Tail {
    kept: Vec<u8>,
    limit: usize,
}

/// Passes on each line.
#[derive(Debug)]
pub(crate) struct Lines {
    decoder: LineDecoder,
    sender: mpsc::Sender<Bytes>,
}

impl Head {
    pub(crate) fn new(limit: usize) -> Self {
        Self { kept: BytesMut::new(), overflow: false, stop_at_line: false, limit }
    }

    /// Whether there is a line that says something, and its end.
    pub(crate) fn has_line(&self) -> bool {
        let said = self.kept.trim_ascii_start();
        said.contains(&b'\n')
    }
}

impl Sink for Head {
    fn take(&mut self, bytes: &[u8]) -> bool {
        let room = self.limit - self.kept.len();
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.overflow |= bytes.len() > room;
        !(self.overflow || self.stop_at_line && self.has_line())
    }
}

impl Tail {
    pub(crate) fn new(limit: usize) -> Self {
        Self { kept: Vec::new(), limit }
    }

    /// The text of the last bytes, from the first character that is whole.
    pub(crate) fn text(&self) -> String {
        let cut = self.kept.len().saturating_sub(self.limit);
        let mut last = &self.kept[cut..];
        if cut > 0 {
            // A character has at most three bytes after its first.
            let broken = last.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
            last = &last[broken..];
        }
        String::from_utf8_lossy(last).into_owned()
    }
}

impl Sink for Tail {
    fn take(&mut self, bytes: &[u8]) -> bool {
        self.kept.extend_from_slice(bytes);
        // Cut seldom, and to one byte more than is shown, which tells that something was cut.
        if self.kept.len() > 2 * self.limit {
            self.kept.drain(..self.kept.len().saturating_sub(self.limit + 1));
        }
        true
    }
}

impl Lines {
    pub(crate) fn new(limit: usize, sender: mpsc::Sender<Bytes>) -> Self {
        Self { decoder: LineDecoder::new(limit), sender }
    }

    /// Passes on a last line without its end.
    pub(crate) fn finish(&mut self) {
        if let Some(Ok(line)) = self.decoder.finish() {
            let _ = self.sender.try_send(line);
        }
    }
}

impl Sink for Lines {
    fn take(&mut self, bytes: &[u8]) -> bool {
        self.decoder.feed(bytes);
        while let Some(line) = self.decoder.next_line() {
            // Too long a line is dropped, and so is one for which there is no room or no reader.
            if let Ok(line) = line {
                let _ = self.sender.try_send(line);
            }
        }
        true
    }
}
