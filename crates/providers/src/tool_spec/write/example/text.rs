//! A string that fits its schema.

use gantry_gateway::{Schema, SchemaLimits};
use gantry_protocol::RawJson;

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

pub(super) fn string(schema: &RawJson) -> Option<RawJson> {
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
