//! Where the parts of an object stand in a text.

use std::ops::Range;

use gantry_protocol::RawJson;

use super::trivia;

/// An object of a text.
#[derive(Debug)]
pub(super) struct Object {
    /// Where its opening brace stands.
    pub(super) open: usize,
    /// Where its closing brace stands.
    pub(super) close: usize,
    /// Its members, in order.
    pub(super) members: Vec<Member>,
    /// Whether it is the whole of the text.
    pub(super) is_whole: bool,
}

/// A member of an object.
#[derive(Debug)]
pub(super) struct Member {
    name: String,
    /// Where its name begins.
    pub(super) start: usize,
    pub(super) value: Range<usize>,
    /// Where the comma after it stands; the last one may have none.
    pub(super) comma: Option<usize>,
}

impl Object {
    /// The parts of `json`, a part of `plain`, which has the bytes of `text` without its comments.
    pub(super) fn of(text: &str, plain: &[u8], json: &RawJson, whole: &RawJson) -> Self {
        let Range { start: open, end } = range(plain, json);
        let close = end - 1;
        let mut from = open + 1;
        let mut members = Vec::new();
        for member in json.members() {
            let value = member.value();
            let Range { start: begin, end } = range(plain, &value);
            let start = trivia::skip(text, from);
            let comma = Some(trivia::skip(text, end)).filter(|at| text[*at..].starts_with(','));
            from = comma.map_or(end, |comma| comma + 1);
            members.push(Member {
                name: member.key().into_owned(),
                start,
                value: begin..end,
                comma,
            });
        }
        Self { open, close, members, is_whole: open == range(plain, whole).start }
    }

    /// The place of the member of that name among the others.
    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.members.iter().position(|member| member.name == name)
    }
}

/// Where a value stands in the text that it is a part of.
pub(super) fn range(plain: &[u8], json: &RawJson) -> Range<usize> {
    // Values are slices of one text, so their addresses tell where they stand.
    let start = json.bytes().as_ptr().addr() - plain.as_ptr().addr();
    start..start + json.bytes().len()
}

impl Member {
    /// Where the member ends, its comma included.
    pub(super) fn end(&self) -> usize {
        self.comma.map_or(self.value.end, |comma| comma + 1)
    }
}
