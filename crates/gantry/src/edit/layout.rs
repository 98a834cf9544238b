//! How a value is written so that it looks like its surroundings.

use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;

use super::object::Object;
use super::trivia;

/// The columns that a line may take before a value is broken into several.
const WIDTH: usize = 80;

/// How lines end and how far they are moved in.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) newline: &'static str,
    /// One step to the right.
    pub(super) step: String,
    /// Whether the whole text is one line.
    pub(super) is_one_line: bool,
}

impl Layout {
    /// What a text, whose outermost object this is, looks like.
    pub(super) fn of(text: &str, whole: &Object) -> Self {
        let first = whole.members.first().filter(|it| trivia::is_first(text, it.start));
        let step = first.map(|it| trivia::indent(text, it.start)).filter(|it| !it.is_empty());
        Self {
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            step: step.unwrap_or("  ").to_owned(),
            is_one_line: !text.trim().contains('\n'),
        }
    }

    /// A member on one line if it fits, else broken; its line is moved in by `indent`.
    pub(super) fn member(&self, (key, value): (&str, &RawJson), indent: &str) -> String {
        let key = RawJson::string(key);
        let taken = indent.chars().count() + key.as_str().chars().count() + 2;
        format!("{}: {}", key.as_str(), self.value(value, indent, taken))
    }

    /// A value of which the first line begins after `taken` columns.
    pub(super) fn value(&self, value: &RawJson, indent: &str, taken: usize) -> String {
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
pub(super) fn flat_member((key, value): (&str, &RawJson)) -> String {
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
