//! The text of one violation. Long values are cut: the reader sent them.

use gantry_protocol::json::{FlatNode, JsonKind};
use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{JsonType, ValidationError};
use serde_json::Value;

/// The most characters of anything that is quoted.
const QUOTED: usize = 120;

/// The most alternatives that are spelled out.
const ALTERNATIVES: usize = 4;

/// What is wrong with `instance`: "must be at most 1000; got 5000".
pub(super) fn fault(kind: &ValidationErrorKind, instance: &Value) -> String {
    format!("{}; got {}", demand(kind), value(instance))
}

/// The same for a value by its index.
pub(super) fn fault_at(kind: &ValidationErrorKind, instance: Option<FlatNode<'_>>) -> String {
    match instance {
        Some(instance) => format!("{}; got {}", demand(kind), node(instance)),
        None => demand(kind),
    }
}

/// What a schema demands.
fn demand(kind: &ValidationErrorKind) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Type { kind } => format!("must be {}", types(kind)),
        Kind::Enum { options } => format!("must be one of {}", alternatives(options)),
        Kind::Constant { expected_value } => format!("must be {}", value(expected_value)),
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::AdditionalItems { limit } => format!("must have at most {limit} items"),
        Kind::MinProperties { limit } => format!("must have at least {limit} members"),
        Kind::MaxProperties { limit } => format!("must have at most {limit} members"),
        Kind::UniqueItems => "must not hold the same item twice".to_owned(),
        Kind::Contains => "must hold enough items of the kind the schema asks for".to_owned(),
        Kind::Pattern { pattern } => format!("must match the pattern `{}`", cut(pattern)),
        Kind::Format { format } => format!("must be a valid `{}`", cut(format)),
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "must be short enough for its pattern to be checked".to_owned()
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            format!("must have one of the allowed forms ({})", forms(context))
        }
        Kind::OneOfMultipleValid { .. } => {
            "must have exactly one of the allowed forms, but has more".to_owned()
        }
        Kind::PropertyNames { error } => {
            format!("has a member whose name {}", fault(error.kind(), error.instance()))
        }
        Kind::FalseSchema => "is not allowed".to_owned(),
        Kind::Not { schema } => format!("must not match {}", value(schema)),
        other => format!("must satisfy `{}`", other.keyword()),
    }
}

/// The first thing each alternative demands.
fn forms(context: &[Vec<ValidationError<'static>>]) -> String {
    let mut forms: Vec<String> = Vec::new();
    for error in context.iter().filter_map(|errors| errors.first()) {
        let form = match error.kind() {
            ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::OneOfNotValid { .. } => {
                "must have one of several other forms".to_owned()
            }
            ValidationErrorKind::Required { property } => format!("must have {property}"),
            kind => demand(kind),
        };
        if !forms.contains(&form) {
            forms.push(form);
        }
    }
    let more = if forms.len() > ALTERNATIVES { ", or others" } else { "" };
    forms.truncate(ALTERNATIVES);
    format!("{}{more}", forms.join(", or "))
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => with_article(*kind).to_owned(),
        TypeKind::Multiple(kinds) => {
            kinds.iter().map(with_article).collect::<Vec<_>>().join(" or ")
        }
    }
}

fn with_article(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "an array",
        JsonType::Boolean => "a boolean",
        JsonType::Integer => "an integer",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    }
}

fn alternatives(options: &Value) -> String {
    let all = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text = String::new();
    for (index, option) in all.iter().enumerate() {
        if text.len() > 2 * QUOTED {
            return format!("{text}, and {} more", all.len() - index);
        }
        text.push_str(if index > 0 { ", " } else { "" });
        text.push_str(&value(option));
    }
    text
}

/// A value in a few words: scalars as they are, strings cut, containers by their size.
pub(super) fn value(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{}\"", cut(text)),
        Value::Array(items) if items.is_empty() => "an empty array".to_owned(),
        Value::Array(items) => format!("an array of {}", items.len()),
        Value::Object(members) if members.is_empty() => "an empty object".to_owned(),
        Value::Object(members) => {
            let names: Vec<_> = members.keys().take(ALTERNATIVES).map(|name| cut(name)).collect();
            let more = if members.len() > names.len() { ", ..." } else { "" };
            format!("an object with {}{more}", names.join(", "))
        }
        scalar => scalar.to_string(),
    }
}

/// The same for a value by its index.
fn node(node: FlatNode<'_>) -> String {
    match node.kind() {
        JsonKind::String => format!("\"{}\"", cut(&node.as_text().unwrap_or_default())),
        JsonKind::Array => match node.elements().count() {
            0 => "an empty array".to_owned(),
            count => format!("an array of {count}"),
        },
        JsonKind::Object => {
            let mut keys = node.members().filter_map(|(key, _)| key.as_text());
            let names: Vec<_> = keys.by_ref().take(ALTERNATIVES).map(|key| cut(&key)).collect();
            let more = if keys.next().is_some() { ", ..." } else { "" };
            match names.is_empty() {
                true => "an empty object".to_owned(),
                false => format!("an object with {}{more}", names.join(", ")),
            }
        }
        JsonKind::Number => node.as_number().map(|it| it.to_string()).unwrap_or_default(),
        JsonKind::Boolean => node.as_boolean().unwrap_or_default().to_string(),
        JsonKind::Null => "null".to_owned(),
    }
}

/// The text, or its beginning when it is long.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// A JSON pointer as people write it: `/filter/items/0/name` is `filter.items[0].name`.
pub(super) fn place(pointer: &str) -> String {
    let mut place = String::new();
    for segment in pointer.split('/').skip(1) {
        let name = segment.replace("~1", "/").replace("~0", "~");
        if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
            place.push_str(&format!("[{name}]"));
            continue;
        }
        if !place.is_empty() {
            place.push('.');
        }
        place.push_str(&cut(&name));
    }
    place
}
