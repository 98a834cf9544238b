//! What kinds of answer a client takes.

use crate::headers::{Headers, text};

/// What kinds of answer a client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accept {
    pub(crate) json: bool,
    pub(crate) events: bool,
}

/// What the protocol tells clients to send, as most write it.
const USUAL: &str = "application/json, text/event-stream";

impl Accept {
    /// Reads the header. A client that says nothing takes everything.
    pub(crate) fn read(headers: &Headers) -> Self {
        let mut values = headers.all("accept").peekable();
        if values.peek().is_none() {
            return Self { json: true, events: true };
        }
        let mut accept = Self { json: false, events: false };
        if values.peek().is_some_and(|value| *value == USUAL.as_bytes()) {
            return Self { json: true, events: true };
        }
        for value in values.filter_map(text) {
            for range in value.split(',') {
                let kind = range.split(';').next().unwrap_or_default().trim();
                let any = kind == "*/*";
                accept.json |= any || is(kind, "application/json") || is(kind, "application/*");
                accept.events |= any || is(kind, "text/event-stream") || is(kind, "text/*");
            }
        }
        accept
    }
}

fn is(kind: &str, expected: &str) -> bool {
    kind.eq_ignore_ascii_case(expected)
}
