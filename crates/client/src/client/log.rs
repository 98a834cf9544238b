//! What the programs of earlier lives wrote to standard error, the end of it.

/// A text of bounded length that loses its beginning.
#[derive(Debug)]
pub(super) struct Log {
    text: String,
    limit: usize,
}

impl Log {
    pub(super) fn new(limit: usize) -> Self {
        Self { text: String::new(), limit }
    }

    /// Adds what one life wrote, and why it ended.
    pub(super) fn add(&mut self, words: &str, reason: &str) {
        self.text.push_str(words);
        if !words.is_empty() && !words.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str("--- ");
        self.text.push_str(reason);
        self.text.push('\n');
        let excess = self.text.len().saturating_sub(self.limit);
        if excess > 0 {
            // Whole lines go, as far as there are lines.
            let from = self.text.floor_char_boundary(excess - 1);
            let line = self.text[from..].find('\n').map(|at| from + at + 1);
            self.text.drain(..line.unwrap_or(self.text.len()));
        }
    }

    pub(super) fn text(&self) -> String {
        self.text.clone()
    }
}
