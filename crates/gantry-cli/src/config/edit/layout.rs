//! How a value is written so that it looks like its surroundings.

use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;

use crate::config::edit::{Member, Object};

/// The columns that a line may take before a value is broken into several.
const WIDTH: usize = 80;

/// How lines end and how far they are moved in.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) newline: &'static str,
    /// One step to the right.
    pub(crate) step: String,
    /// Whether the whole text is one line.
    pub(crate) is_one_line: bool,
}

impl Layout {
    /// What a text, whose outermost object this is, looks like.
    pub(crate) fn of(text: &str, whole: &Object) -> Self {
        let first = whole.members.first().filter(|it| is_first(text, it.start));
        let step = first.map(|it| indent(text, it.start)).filter(|it| !it.is_empty());
        Self {
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            step: step.unwrap_or("  ").to_owned(),
            is_one_line: !text.trim().contains('\n'),
        }
    }

    /// A member on one line if it fits, else broken; its line is moved in by `indent`.
    pub(crate) fn member(&self, (key, value): (&str, &RawJson), indent: &str) -> String {
        let key = RawJson::string(key);
        let taken = indent.chars().count() + key.as_str().chars().count() + 2;
        format!("{}: {}", key.as_str(), self.value(value, indent, taken))
    }

    /// A value of which the first line begins after `taken` columns.
    pub(crate) fn value(&self, value: &RawJson, indent: &str, taken: usize) -> String {
        let flat = flat(value);
        // A comma may follow.
        if taken + flat.chars().count() < WIDTH {
            return flat;
        }
        let deeper = format!("{indent}{}", self.step);
        let (brackets, lines): (_, Vec<String>) = match value.kind() {
            JsonKind::Object => {
                let member = |key: &str, value: &RawJson| self.member((key, value), &deeper);
                (['{', '}'], value.members().map(|it| member(&it.key(), &it.value())).collect())
            }
            JsonKind::Array => {
                let element = |it: RawJson| self.value(&it, &deeper, deeper.chars().count());
                (['[', ']'], value.elements().map(element).collect())
            }
            _ => return flat,
        };
        let Self { newline, .. } = self;
        let lines = lines.join(&format!(",{newline}{deeper}"));
        format!("{}{newline}{deeper}{lines}{newline}{indent}{}", brackets[0], brackets[1])
    }
}

/// A member on one line, however long.
pub(crate) fn flat_member((key, value): (&str, &RawJson)) -> String {
    format!("{}: {}", RawJson::string(key).as_str(), flat(value))
}

/// A value on one line.
fn flat(value: &RawJson) -> String {
    match value.kind() {
        JsonKind::Object => {
            let members = value.members().map(|it| flat_member((&it.key(), &it.value())));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        JsonKind::Array => {
            let elements = value.elements().map(|it| flat(&it));
            format!("[{}]", elements.collect::<Vec<_>>().join(", "))
        }
        _ => value.as_str().to_owned(),
    }
}

/// The first byte from `at` on that is neither space nor in a comment.
pub(crate) fn skip(text: &str, at: usize) -> usize {
    let mut at = at;
    loop {
        let rest = &text[at..];
        let space = rest.len() - rest.trim_start().len();
        let rest = &rest[space..];
        at += space;
        at += match comment(rest) {
            Some(length) => length,
            None => return at,
        };
    }
}

/// Where the line ends on which `at` stands, when only space and comments come before that; the
/// end of the line itself is left out.
pub(crate) fn line_end(text: &str, at: usize) -> Option<usize> {
    let mut at = at;
    loop {
        let rest = &text[at..];
        at += rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let rest = &text[at..];
        if rest.is_empty() || rest.starts_with('\n') || rest.starts_with("\r\n") {
            return Some(at);
        }
        let length = comment(rest)?;
        // A comment over several lines belongs to what follows.
        if rest[..length].contains('\n') {
            return None;
        }
        at += length;
    }
}

/// The length of the comment that a text begins with; the end of its line is left out.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        let line = text.lines().next().unwrap_or_default();
        return Some(line.len());
    }
    let inner = text.strip_prefix("/*")?;
    Some(inner.find("*/").map_or(text.len(), |end| end + 4))
}

/// The space that the line of `at` begins with.
pub(crate) fn indent(text: &str, at: usize) -> &str {
    let line = &text[line_start(text, at)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Whether only space stands before `at` on its line.
pub(crate) fn is_first(text: &str, at: usize) -> bool {
    text[line_start(text, at)..at].trim().is_empty()
}

pub(crate) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// The text with another value for a member.
pub(crate) fn replace(text: &str, member: &Member, layout: &Layout, value: &RawJson) -> String {
    let start = member.value.start;
    let taken = text[line_start(text, start)..start].chars().count();
    let value = layout.value(value, indent(text, start), taken);
    [&text[..start], &value, &text[member.value.end..]].concat()
}

/// The text with a member more at the end of an object.
pub(crate) fn insert(
    text: &str,
    object: &Object,
    layout: &Layout,
    member: (&str, &RawJson),
) -> String {
    let Some(last) = object.members.last() else { return fill(text, object, layout, member) };
    let is_broken = is_first(text, last.start) || text[last.end()..object.close].contains('\n');
    if !is_broken {
        // Comments between the last member and the brace stay with that member.
        let at = text[..object.close].trim_end().len();
        return append(text, last, at, &format!(" {}", flat_member(member)));
    }
    let indent = match is_first(text, last.start) {
        true => indent(text, last.start).to_owned(),
        false => format!("{}{}", indent(text, object.open), layout.step),
    };
    // A comment on the line of the last member stays with it.
    let at = line_end(text, last.end()).unwrap_or(last.end());
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
    let outer = indent(text, object.open);
    let indent = format!("{outer}{}", layout.step);
    let member = layout.member(member, &indent);
    [before, layout.newline, &indent, &member, layout.newline, outer, rest].concat()
}
