//! The headers of a request, as they came. They are looked for by their names, of which there are few,
//! so that no table of them is made for each request.

pub(crate) use gantry_protocol::headers::{
    LAST_EVENT_ID, METHOD, NAME, PROTOCOL_VERSION, SESSION_ID,
};
pub(crate) use gantry_protocol::trace::{TRACEPARENT, TRACESTATE};

/// Bytes of memory that are kept for the next request.
const KEPT: usize = 4 * 1024;

/// The headers of a request. Their memory is used again for the next one.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    /// What they are parts of.
    text: Vec<u8>,
    fields: Vec<Field>,
}

/// Where a header stands in the text: its name, and its value right behind it.
#[derive(Debug)]
struct Field {
    start: usize,
    name: usize,
    value: usize,
}

impl Headers {
    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.text.shrink_to(KEPT);
        self.fields.clear();
    }

    /// Gives memory back that was needed for large headers, and forgets them with it.
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

    /// The first header of this name, if it is text.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next().and_then(text)
    }

    /// All headers of this name, without space around them.
    pub(crate) fn all<'a, 'b>(
        &'a self,
        name: &'b str,
    ) -> impl Iterator<Item = &'a [u8]> + use<'a, 'b> {
        // Most names differ in length.
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

/// A value as text; none if it has signs that a header should not have.
pub(crate) fn text(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value).ok().filter(|text| text.is_ascii())
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
