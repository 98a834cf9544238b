//! Takes a member out of an object of a text.

use std::ops::Range;

use super::object::Object;
use super::trivia;

/// The text without a member. A comment on its last line goes with it, those above it stay.
pub(super) fn remove(text: &str, object: &Object, index: usize) -> String {
    let member = &object.members[index];
    let is_last = index + 1 == object.members.len();
    let before = index.checked_sub(1).map(|index| &object.members[index]);
    // The comma that parted it from the one before parts nothing any more.
    let spare = before.and_then(|it| it.comma).filter(|_| is_last && member.comma.is_none());
    let gone = extent(text, member.start..member.end());
    let head = match spare {
        Some(comma) => [&text[..comma], &text[comma + 1..gone.start]].concat(),
        None => text[..gone.start].to_owned(),
    };
    let tail = &text[gone.end..];
    let inner = [&head[object.open + 1..], &text[gone.end..object.close]].concat();
    if object.members.len() == 1 && inner.trim().is_empty() {
        return [&head[..=object.open], &text[object.close..]].concat();
    }
    head + tail
}

/// All that goes with a member: its lines when it has them to itself, else the space beside it.
fn extent(text: &str, member: Range<usize>) -> Range<usize> {
    let space = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
    if !trivia::is_first(text, member.start) {
        let is_end = text[member.end..].trim_start().starts_with('}');
        let start = text[..member.start].trim_end_matches([' ', '\t']).len();
        return match is_end {
            true => start..member.end,
            false => member.start..member.end + space(&text[member.end..]),
        };
    }
    match trivia::line_end(text, member.end) {
        Some(end) => {
            let newline = text[end..].find('\n').map_or(0, |at| at + 1);
            trivia::line_start(text, member.start)..end + newline
        }
        None => member.start..member.end + space(&text[member.end..]),
    }
}
