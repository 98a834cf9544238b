//! Makes up an example value from a schema: what the schema itself gives as an example, or the
//! smallest value that fits.

use std::collections::{BTreeSet, HashSet};

use gantry_gateway::{Schema, SchemaLimits};
use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};

/// The deepest nesting of a value that is made up.
const DEEPEST: usize = 12;

/// The most parts of one value. Schemas that refer to themselves twice would otherwise double the
/// work with every level.
const MOST_PARTS: usize = 500;

/// A value that `fits`; none when no guess does.
pub(super) fn make(schema: &RawJson, fits: impl Fn(&RawJson) -> bool) -> Option<RawJson> {
    let given = given(schema).find(&fits);
    given.or_else(|| {
        let guesses = [Breadth::Told, Breadth::Required, Breadth::All].into_iter();
        guesses
            .filter_map(|breadth| {
                ExampleBuilder { root: schema, breadth, left: MOST_PARTS }.value(schema, 0)
            })
            .find(&fits)
    })
}

/// Which optional properties an object gets.
#[derive(Clone, Copy, PartialEq)]
enum Breadth {
    /// Those for which the schema gives a value.
    Told,
    /// None.
    Required,
    /// All.
    All,
}

/// What a schema gives as a value, best first.
fn given(schema: &RawJson) -> impl Iterator<Item = RawJson> {
    let list =
        |key| schema.get(key).into_iter().flat_map(|list| list.elements().collect::<Vec<_>>());
    let examples = list("examples").chain(schema.get("example")).chain(schema.get("default"));
    examples.chain(schema.get("const")).chain(list("enum"))
}

struct ExampleBuilder<'a> {
    root: &'a RawJson,
    breadth: Breadth,
    left: usize,
}

impl ExampleBuilder<'_> {
    fn value(&mut self, schema: &RawJson, depth: usize) -> Option<RawJson> {
        self.left = self.left.checked_sub(1)?;
        if depth > DEEPEST {
            return None;
        }
        if let Some(given) = given(schema).next() {
            return Some(given);
        }
        if let Some(target) = schema.get("$ref") {
            return self.value(&resolve(self.root, &target.to_text()?)?, depth + 1);
        }
        for key in ["oneOf", "anyOf"] {
            let Some(choices) = schema.get(key) else { continue };
            if schema.get("properties").is_none() {
                let choices: Vec<_> = choices.elements().collect();
                return choices.iter().find_map(|choice| self.value(choice, depth + 1));
            }
        }
        if let Some(parts) = schema.get("allOf") {
            return self.all_of(schema, &parts, depth);
        }
        match kind(schema) {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, depth),
            "string" => string(schema),
            "integer" | "number" => number(schema),
            "null" => Some(RawJson::NULL),
            "boolean" => Some(RawJson::from_static("true")),
            _ => None,
        }
    }

    fn object(&mut self, schema: &RawJson, depth: usize) -> Option<RawJson> {
        let required: BTreeSet<String> =
            schema.get("required").and_then(|it| it.read()).unwrap_or_default();
        let properties = schema.get("properties").unwrap_or(RawJson::EMPTY_OBJECT);
        let mut object = ObjectWriter::new();
        for member in properties.members() {
            let (key, value) = (member.key(), member.value());
            let is_required = required.contains(&*key);
            let is_wanted = match self.breadth {
                Breadth::Told => given(&value).next().is_some(),
                Breadth::Required => false,
                Breadth::All => true,
            };
            match self.value_if(is_required || is_wanted, &value, depth) {
                Some(value) => object = object.raw(&key, &value),
                None if is_required => return None,
                None => {}
            }
        }
        let told: HashSet<_> = properties.members().map(|it| it.key().into_owned()).collect();
        for key in required.iter().filter(|key| !told.contains(*key)) {
            object = object.value(key, "");
        }
        Some(object.finish())
    }

    fn value_if(&mut self, wanted: bool, schema: &RawJson, depth: usize) -> Option<RawJson> {
        if wanted { self.value(schema, depth + 1) } else { None }
    }

    fn array(&mut self, schema: &RawJson, depth: usize) -> Option<RawJson> {
        let first: Vec<_> =
            schema.get("prefixItems").map_or_else(Vec::new, |it| it.elements().collect());
        let least = schema.get("minItems").and_then(|it| it.read::<usize>());
        let most = schema.get("maxItems").and_then(|it| it.read::<usize>()).unwrap_or(usize::MAX);
        // One item shows what the items look like, where it is allowed.
        let wanted = usize::from(self.breadth != Breadth::Required).max(first.len());
        let count = least.unwrap_or(0).max(wanted).min(most);
        let other = schema.get("items").filter(RawJson::is_object);
        let mut items = Vec::new();
        for index in 0..count {
            let item = first.get(index).or(other.as_ref());
            match item.and_then(|item| self.value(item, depth + 1)) {
                Some(value) => items.push(value),
                None if index >= least.unwrap_or(0) => break,
                None => return None,
            }
        }
        Some(RawJson::array(&items))
    }

    /// The members of all parts and of the schema itself, each once.
    fn all_of(&mut self, schema: &RawJson, parts: &RawJson, depth: usize) -> Option<RawJson> {
        let mut values: Vec<_> = Vec::new();
        for part in parts.elements().collect::<Vec<_>>() {
            values.push(self.value(&part, depth + 1)?);
        }
        if schema.get("properties").is_some() {
            values.push(self.object(schema, depth)?);
        }
        if values.iter().any(|value| !value.is_object()) {
            return values.into_iter().next();
        }
        let mut seen = HashSet::new();
        let mut object = ObjectWriter::new();
        for member in values.iter().flat_map(RawJson::members) {
            if seen.insert(member.key().into_owned()) {
                object = object.raw(&member.key(), &member.value());
            }
        }
        Some(object.finish())
    }
}

/// The type that a value shall have: the first that is stated, or the one that other words imply.
fn kind(schema: &RawJson) -> &'static str {
    const KINDS: [&str; 7] = ["object", "array", "string", "integer", "number", "boolean", "null"];
    let stated = schema.get("type").and_then(|kind| match kind.kind() {
        JsonKind::Array => kind.elements().next().and_then(|first| first.to_text()),
        _ => kind.to_text(),
    });
    match stated {
        Some(word) => KINDS.into_iter().find(|kind| *kind == word).unwrap_or(""),
        None if schema.get("properties").is_some() => "object",
        None if schema.get("items").is_some() => "array",
        None if schema.get("minimum").is_some() => "number",
        // Any value will do.
        None => "string",
    }
}

fn number(schema: &RawJson) -> Option<RawJson> {
    let bound = |key| schema.get(key).and_then(|it| it.read::<f64>());
    let step = bound("multipleOf").filter(|step| *step > 0.0);
    let unit = step.unwrap_or(1.0);
    let least = [bound("minimum"), bound("exclusiveMinimum").map(|it| it + unit.min(1.0))];
    let most = [bound("maximum"), bound("exclusiveMaximum").map(|it| it - unit.min(1.0))];
    let least = least.into_iter().flatten().reduce(f64::max);
    let most = most.into_iter().flatten().reduce(f64::min);
    let mut value = least.unwrap_or_else(|| most.unwrap_or(1.0).min(1.0));
    if let Some(step) = step {
        value = (value / step).ceil() * step;
    }
    if kind(schema) == "integer" {
        value = value.ceil();
    }
    // A whole number is written without a fraction, which a schema for integers may insist on.
    let is_whole = value.fract() == 0.0 && value.abs() < 1e15;
    let text = if is_whole { format!("{value:.0}") } else { value.to_string() };
    RawJson::parse(text, gantry_protocol::JsonLimits::default()).ok()
}

/// The part of the schema that a local reference points at.
fn resolve(root: &RawJson, reference: &str) -> Option<RawJson> {
    let path = reference.strip_prefix('#')?;
    path.split('/').skip(1).try_fold(root.clone(), |value, step| {
        value.get(&step.replace("~1", "/").replace("~0", "~"))
    })
}

/// The longest string that is made up.
const LONGEST: usize = 1000;

/// What patterns often ask for.
const GUESSES: [&str; 24] = [
    "text",
    "a",
    "A",
    "1",
    "",
    "abc",
    "ABC",
    "Abc",
    "123",
    "1234",
    "12345",
    "abc123",
    "a.b",
    "a_b",
    "a-b",
    "a/b",
    "/a",
    "1.0.0",
    "v1.0.0",
    "#000000",
    "deadbeef",
    "2026-01-31",
    "12:00",
    "a@example.com",
];

fn string(schema: &RawJson) -> Option<RawJson> {
    if schema.get("pattern").is_some() {
        let compiled = Schema::compile(schema, SchemaLimits::default()).ok()?;
        let guesses = GUESSES.iter().map(|guess| RawJson::string(guess));
        return guesses.into_iter().find(|guess| compiled.check(guess).is_ok());
    }
    let format = schema.get("format").and_then(|it| it.to_text());
    let mut text = format.as_deref().and_then(formatted).unwrap_or("text").to_owned();
    let bound = |key| schema.get(key).and_then(|it| it.read::<usize>());
    let least = bound("minLength").unwrap_or(0).min(LONGEST);
    while text.chars().count() < least {
        text.push('a');
    }
    Some(RawJson::string(
        &text.chars().take(bound("maxLength").unwrap_or(LONGEST)).collect::<String>(),
    ))
}

fn formatted(format: &str) -> Option<&'static str> {
    Some(match format {
        "date-time" => "2026-01-31T12:00:00Z",
        "date" => "2026-01-31",
        "time" => "12:00:00Z",
        "duration" => "PT1H",
        "email" | "idn-email" => "someone@example.com",
        "hostname" | "idn-hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "iri" | "url" => "https://example.com/",
        "uri-reference" | "iri-reference" => "/path",
        "uuid" => "00000000-0000-4000-8000-000000000000",
        "json-pointer" => "/a",
        "regex" => "^a$",
        _ => return None,
    })
}
