//! One typed text as the value that its place in the schema asks for.

use gantry::RawJson;
use gantry_protocol::JsonLimits;
use gantry_protocol::json::JsonKind;
use gantry_providers::suggestion::nearest;

use crate::commands::call::arguments::shape::{Form, Shape};
use crate::commands::call::arguments::{ArgumentError, Text, json};

/// The value of a key, from everything that was typed for it.
pub(crate) fn value(
    key: &str,
    place: Option<&Shape>,
    texts: &[&Text],
) -> Result<RawJson, ArgumentError> {
    match texts {
        [Text::Json(value)] => Ok(value.clone()),
        [Text::File(content)] => file(key, place, content),
        [Text::Typed(text)] => one(key, place, text),
        several => list(key, place, several),
    }
}

/// A key that is given more than once is a list, each time one item; commas mean nothing then.
fn list(key: &str, place: Option<&Shape>, texts: &[&Text]) -> Result<RawJson, ArgumentError> {
    if place.is_some_and(|place| !takes(place, Form::Array)) {
        return Err(ArgumentError::Twice(key.to_owned()));
    }
    let items = place.and_then(Shape::items);
    let item = |text: &&Text| value(key, items.as_ref(), &[*text]);
    let values = texts.iter().map(item).collect::<Result<Vec<_>, _>>()?;
    Ok(RawJson::array(&values))
}

/// A file for a string is the string, to its last byte; for anything else it is what one types.
fn file(key: &str, place: Option<&Shape>, content: &str) -> Result<RawJson, ArgumentError> {
    let is_text = place.is_none_or(|place| takes(place, Form::String) && place.options().is_none());
    if is_text {
        return Ok(RawJson::string(content));
    }
    one(key, place, content.trim())
}

fn takes(place: &Shape, form: Form) -> bool {
    let forms = place.forms();
    forms.is_empty() || forms.contains(&form)
}

fn one(key: &str, place: Option<&Shape>, text: &str) -> Result<RawJson, ArgumentError> {
    let Some(place) = place else { return Ok(anything(text)) };
    let forms = place.forms();
    if let Some(options) = place.options() {
        let chosen = option(&options, text);
        // A list or an object may hold listed values and yet not be one.
        let is_scalar = !forms.contains(&Form::Array) && !forms.contains(&Form::Object);
        match chosen {
            Some(chosen) => return Ok(chosen),
            None if forms.contains(&Form::Null) && text == "null" => return Ok(RawJson::NULL),
            None if is_scalar => return Err(not_listed(key, &options, text)),
            None => {}
        }
    }
    if forms.is_empty() {
        return Ok(anything(text));
    }
    for form in &forms {
        if let Some(value) = read(*form, key, place, text)? {
            return Ok(value);
        }
    }
    let expected: Vec<&str> = forms.iter().map(|form| with_article(*form)).collect();
    Err(ArgumentError::form(key, expected.join(" or "), text))
}

/// The text as this form; none when it is not of that form. Forms are tried from the strictest to
/// a string, which takes everything.
fn read(
    form: Form,
    key: &str,
    place: &Shape,
    text: &str,
) -> Result<Option<RawJson>, ArgumentError> {
    Ok(match form {
        Form::Null => (text == "null").then_some(RawJson::NULL),
        Form::Integer => number(text).filter(is_whole),
        Form::Number => number(text),
        Form::Boolean => boolean(text),
        Form::Object => text.starts_with('{').then(|| json(key, text.to_owned())).transpose()?,
        Form::Array => array(key, place, text)?,
        Form::String => Some(RawJson::string(text)),
    })
}

/// A list is JSON, or items with commas between them when they are scalars.
fn array(key: &str, place: &Shape, text: &str) -> Result<Option<RawJson>, ArgumentError> {
    if text.starts_with('[') {
        return json(key, text.to_owned()).map(Some);
    }
    let items = place.items();
    let forms = items.as_ref().map(Shape::forms).unwrap_or_default();
    if forms.contains(&Form::Array) || forms == [Form::Object] {
        return Ok(None);
    }
    let texts = text.split(',').map(str::trim).filter(|_| !text.is_empty());
    let values = texts.map(|text| one(key, items.as_ref(), text)).collect::<Result<Vec<_>, _>>()?;
    Ok(Some(RawJson::array(&values)))
}

/// Where the schema says nothing: JSON when it is JSON, else the text itself.
fn anything(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), JsonLimits::default()).unwrap_or_else(|_| RawJson::string(text))
}

fn number(text: &str) -> Option<RawJson> {
    let value = RawJson::parse(text.to_owned(), JsonLimits::default()).ok()?;
    (value.kind() == JsonKind::Number && value.as_str() == text).then_some(value)
}

/// `3`, and also `3.0`, which JSON Schema takes for an integer too.
fn is_whole(number: &RawJson) -> bool {
    let is_digits = !number.as_str().contains(['.', 'e', 'E']);
    is_digits || number.read::<f64>().is_some_and(|number| number.fract() == 0.0)
}

fn boolean(text: &str) -> Option<RawJson> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(RawJson::from_static("true")),
        "false" | "no" | "off" | "0" => Some(RawJson::from_static("false")),
        _ => None,
    }
}

/// The listed value that is meant: one with that text, else one that is written so in JSON.
fn option(options: &[RawJson], text: &str) -> Option<RawJson> {
    let by_text = options.iter().find(|option| option.to_text().as_deref() == Some(text));
    by_text.or_else(|| options.iter().find(|option| option.as_str() == text)).cloned()
}

fn not_listed(key: &str, options: &[RawJson], text: &str) -> ArgumentError {
    let names: Vec<String> =
        options.iter().map(|it| it.to_text().unwrap_or_else(|| it.to_string())).collect();
    let expected = format!("one of {}", names.join(", "));
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    match nearest(text, &known) {
        Some(meant) => ArgumentError::form(key, format!("{expected} (perhaps {meant})"), text),
        None => ArgumentError::form(key, expected, text),
    }
}

fn with_article(form: Form) -> &'static str {
    match form {
        Form::Null => "null",
        Form::Integer => "an integer",
        Form::Number => "a number",
        Form::Boolean => "true or false",
        Form::Object => "an object, as JSON or with dots: `key.member=value`",
        Form::Array => "a list",
        Form::String => "a string",
    }
}
