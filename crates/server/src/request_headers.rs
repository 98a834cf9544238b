//! The headers of an HTTP request, and those that are parsed for every request: `Accept` and
//! `Content-Type`.
//!
//! Headers are copied into one buffer, which is reused for the next request, and are found by a linear
//! search. A call asks for eight names: a header map costs more to build than it saves.

pub(crate) use gantry_protocol::headers::{
    LAST_EVENT_ID, METHOD, NAME, PROTOCOL_VERSION, SESSION_ID,
};
pub(crate) use gantry_protocol::trace::{TRACEPARENT, TRACESTATE};

/// Bytes of memory kept for the next request.
const KEPT: usize = 4 * 1024;

/// The headers of a request. Their memory is reused for the next one.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    /// Names and values, one after the other.
    text: Vec<u8>,
    fields: Vec<Field>,
}

/// The position of a header in the text: its name, directly followed by its value.
#[derive(Debug)]
struct Field {
    start: usize,
    name: usize,
    value: usize,
}

impl Headers {
    /// Removes all.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.text.shrink_to(KEPT);
        self.fields.clear();
    }

    /// Frees the memory of unusually large headers, and removes them.
    pub(crate) fn release(&mut self) {
        if self.text.capacity() > KEPT {
            self.clear();
        }
    }

    /// Adds one.
    pub(crate) fn add(&mut self, name: &str, value: &[u8]) {
        let (start, value) = (self.text.len(), value.trim_ascii());
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(value);
        self.fields.push(Field { start, name: name.len(), value: value.len() });
    }

    /// The value of the first header of this name, if it is ASCII.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next().and_then(text)
    }

    /// The values of all headers of this name, trimmed.
    pub(crate) fn all<'a, 'b>(
        &'a self,
        name: &'b str,
    ) -> impl Iterator<Item = &'a [u8]> + use<'a, 'b> {
        // Lengths first: most names differ there.
        let is_it = move |field: &&Field| {
            field.name == name.len() && self.name(field).eq_ignore_ascii_case(name.as_bytes())
        };
        self.fields.iter().filter(is_it).map(|field| self.value(field))
    }

    /// All names and values.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let name = |field: &Field| text(self.name(field)).unwrap_or_default();
        self.fields.iter().map(move |field| (name(field), self.value(field)))
    }

    fn name(&self, field: &Field) -> &[u8] {
        &self.text[field.start..][..field.name]
    }

    fn value(&self, field: &Field) -> &[u8] {
        &self.text[field.start + field.name..][..field.value]
    }
}

/// A value as text; none if it is not ASCII.
pub(crate) fn text(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value).ok().filter(|text| text.is_ascii())
}

/// The content types that a client accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accept {
    pub(crate) json: bool,
    pub(crate) events: bool,
}

/// The value that most clients send, as the protocol says.
const USUAL: &str = "application/json, text/event-stream";

impl Accept {
    /// Reads the header `Accept`. A client without one accepts everything.
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

/// Whether the body is declared as JSON.
pub(crate) fn is_json(headers: &Headers) -> bool {
    let kind = headers.get("content-type").unwrap_or_default();
    is(kind.split(';').next().unwrap_or_default().trim(), "application/json")
}

fn is(kind: &str, expected: &str) -> bool {
    kind.eq_ignore_ascii_case(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_found_whatever_their_case() {
        let mut headers = Headers::default();
        for round in 0..2 {
            headers.clear();
            headers.add("Mcp-Name", b"  one ");
            headers.add("x-bytes", b"\xff");
            headers.add("MCP-NAME", b"two");
            assert_eq!(headers.get(NAME), Some("one"), "round {round}");
            assert_eq!(headers.all("mcp-name").collect::<Vec<_>>(), [b"one", b"two"]);
            assert_eq!(headers.get("x-bytes"), None, "it is no text");
            assert_eq!(headers.all("x-bytes").collect::<Vec<_>>(), [b"\xff"]);
            assert_eq!(headers.get("x"), None);
            assert_eq!(headers.iter().count(), 3);
        }
    }
}
