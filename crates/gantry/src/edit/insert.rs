//! Puts a member into an object of a text.

use gantry_protocol::RawJson;

use super::layout::{Layout, flat_member};
use super::object::{Member, Object};
use super::trivia;

/// The text with another value for a member.
pub(super) fn replace(text: &str, member: &Member, layout: &Layout, value: &RawJson) -> String {
    let start = member.value.start;
    let taken = text[trivia::line_start(text, start)..start].chars().count();
    let value = layout.value(value, trivia::indent(text, start), taken);
    [&text[..start], &value, &text[member.value.end..]].concat()
}

/// The text with a member more at the end of an object.
pub(super) fn insert(
    text: &str,
    object: &Object,
    layout: &Layout,
    member: (&str, &RawJson),
) -> String {
    let Some(last) = object.members.last() else { return fill(text, object, layout, member) };
    let is_broken =
        trivia::is_first(text, last.start) || text[last.end()..object.close].contains('\n');
    if !is_broken {
        // Comments between the last member and the brace stay with that member.
        let at = text[..object.close].trim_end().len();
        return append(text, last, at, &format!(" {}", flat_member(member)));
    }
    let indent = match trivia::is_first(text, last.start) {
        true => trivia::indent(text, last.start).to_owned(),
        false => format!("{}{}", trivia::indent(text, object.open), layout.step),
    };
    // A comment on the line of the last member stays with it.
    let at = trivia::line_end(text, last.end()).unwrap_or(last.end());
    append(text, last, at, &format!("{}{indent}{}", layout.newline, layout.member(member, &indent)))
}

/// Writes a member at `at`, behind the last one, which gets its comma. Where there is a trailing
/// comma, there is one again.
fn append(text: &str, last: &Member, at: usize, member: &str) -> String {
    match last.comma {
        Some(_) => [&text[..at], member, ",", &text[at..]].concat(),
        None => {
            let end = last.value.end;
            [&text[..end], ",", &text[end..at], member, &text[at..]].concat()
        }
    }
}

/// Writes the first member of an object, behind the comments that are in it.
fn fill(text: &str, object: &Object, layout: &Layout, member: (&str, &RawJson)) -> String {
    let (inner, rest) = (&text[object.open + 1..object.close], &text[object.close..]);
    let before = &text[..object.open + 1 + inner.trim_end().len()];
    if layout.is_one_line && !object.is_whole {
        let gap = if inner.trim().is_empty() { "" } else { " " };
        return [before, gap, &flat_member(member), rest].concat();
    }
    let outer = trivia::indent(text, object.open);
    let indent = format!("{outer}{}", layout.step);
    let member = layout.member(member, &indent);
    [before, layout.newline, &indent, &member, layout.newline, outer, rest].concat()
}
