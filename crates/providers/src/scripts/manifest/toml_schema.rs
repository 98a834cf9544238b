//! JSON Schemas written as TOML tables, and TOML values as JSON.

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use toml::Spanned;
use toml::de::{DeInteger, DeString, DeTable, DeValue};

/// Words of JSON Schema that take a table. Any other table in a schema is a misplaced property.
const TABLES: &[&str] = &[
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "dependentSchemas",
    "dependentRequired",
    "$defs",
    "definitions",
    "not",
    "if",
    "then",
    "else",
    "default",
    "items",
];

/// One key of a table with its value.
pub(super) type Entry<'a, 'i> = (&'a Spanned<DeString<'i>>, &'a Spanned<DeValue<'i>>);

/// What is wrong with a value, and at which byte.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) offset: usize,
    pub(super) message: String,
    pub(super) advice: String,
}

impl Fault {
    fn new(offset: usize, message: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { offset, message: message.into(), advice: advice.into() }
    }
}

/// The members of a table in the order in which they were written.
pub(super) fn in_order<'a, 'i>(table: &'a DeTable<'i>) -> Vec<Entry<'a, 'i>> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

/// A value as JSON.
pub(super) fn to_json(value: &Spanned<DeValue<'_>>) -> Result<RawJson, Fault> {
    let offset = value.span().start;
    let unfit = || Fault::new(offset, "JSON has no such number", "write a smaller, finite one");
    match value.get_ref() {
        DeValue::String(text) => Ok(RawJson::string(text)),
        DeValue::Integer(number) => integer(number).ok_or_else(unfit),
        DeValue::Float(number) => {
            let number = number.as_str().parse().ok().filter(|it: &f64| it.is_finite());
            Ok(RawJson::from(serde_json::Value::from(number.ok_or_else(unfit)?)))
        }
        DeValue::Boolean(flag) => Ok(RawJson::from(serde_json::Value::from(*flag))),
        DeValue::Datetime(time) => Ok(RawJson::string(&time.to_string())),
        DeValue::Array(values) => {
            let values: Vec<RawJson> = values.iter().map(to_json).collect::<Result<_, _>>()?;
            Ok(RawJson::array(&values))
        }
        DeValue::Table(table) => {
            let mut object = ObjectWriter::new();
            for (key, value) in in_order(table) {
                object = object.raw(key.get_ref(), &to_json(value)?);
            }
            Ok(object.finish())
        }
    }
}

fn integer(number: &DeInteger<'_>) -> Option<RawJson> {
    let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
    Some(RawJson::from(serde_json::Value::from(number)))
}

/// A schema, `input` or `output`: that of an object unless it says otherwise.
pub(super) fn read(which: &str, value: &Spanned<DeValue<'_>>) -> Result<RawJson, Fault> {
    let Some(table) = value.get_ref().as_table() else {
        let text = format!("`{which}` is not a table");
        let advice = format!("write `[tool.gantry.{which}.properties.NAME]` with a `type`");
        return Err(Fault::new(value.span().start, text, advice));
    };
    let is_object = table
        .iter()
        .all(|(key, value)| key.get_ref() != "type" || value.get_ref().as_str() == Some("object"));
    if !is_object && which == "output" {
        return to_json(value);
    }
    if !is_object {
        let text = "the input schema is not that of an object";
        return Err(Fault::new(value.span().start, text, "remove its `type`"));
    }
    object(which, table)
}

fn object(which: &str, table: &DeTable<'_>) -> Result<RawJson, Fault> {
    let mut schema = ObjectWriter::new().value("type", "object");
    let (mut has_properties, mut required) = (false, Some(Vec::new()));
    for (key, value) in in_order(table) {
        let word = key.get_ref().as_ref();
        if value.get_ref().is_table() && !TABLES.contains(&word) {
            let text = format!("`{word}` is no part of a schema");
            let advice = format!("write `[tool.gantry.{which}.properties.{word}]`");
            return Err(Fault::new(key.span().start, text, advice));
        }
        match word {
            "type" => continue,
            "required" => required = None,
            "properties" => {
                has_properties = true;
                let names = without_default(which, value)?;
                required = required.map(|_| names);
            }
            _ => {}
        }
        schema = schema.raw(word, &to_json(value)?);
    }
    if !has_properties {
        schema = schema.raw("properties", &RawJson::EMPTY_OBJECT);
    }
    Ok(schema.value_some("required", required.filter(|names| !names.is_empty())).finish())
}

/// The names of the properties that a caller cannot leave out.
fn without_default(which: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, Fault> {
    let wrong = |offset, name: &str| {
        let text = format!("`{name}` is not a table");
        let advice = format!("write `[tool.gantry.{which}.properties.NAME]` with a `type`");
        Fault::new(offset, text, advice)
    };
    let properties = value.get_ref().as_table();
    let properties = properties.ok_or_else(|| wrong(value.span().start, "properties"))?;
    let mut names = Vec::new();
    for (key, property) in in_order(properties) {
        let table = property.get_ref().as_table();
        let table = table.ok_or_else(|| wrong(key.span().start, key.get_ref()))?;
        if !table.iter().any(|(word, _)| word.get_ref() == "default") {
            names.push(key.get_ref().to_string());
        }
    }
    Ok(names)
}
