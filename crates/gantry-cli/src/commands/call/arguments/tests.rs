//! What is typed, and what it means.

use gantry::RawJson;
use gantry_protocol::JsonLimits;
use serde_json::{Value, json};

use crate::commands::call::arguments::read;

fn schema() -> RawJson {
    RawJson::from(json!({
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "count": {"type": "integer", "default": 1},
            "ratio": {"type": "number"},
            "deep": {"type": "boolean"},
            "nothing": {"type": "null"},
            "maybe": {"type": ["integer", "null"]},
            "either": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "unit": {"enum": ["metric", "imperial"]},
            "level": {"type": "integer", "enum": [1, 2, 3]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "numbers": {"type": "array", "items": {"type": "integer"}},
            "units": {"type": "array", "items": {"enum": ["metric", "imperial"]}},
            "any_list": {"type": "array"},
            "points": {"type": "array", "items": {"$ref": "#/$defs/point"}},
            "point": {"$ref": "#/$defs/point"},
            "free": {"type": "object"},
            "open": {"type": "object", "properties": {"a": {"type": "string"}},
                     "additionalProperties": {"type": "integer"}},
            "any": {},
            "dotted.name": {"type": "string"},
        },
        "$defs": {"point": {"type": "object", "properties": {
            "x": {"type": "number"}, "y": {"type": "number"}, "label": {"type": "string"}}}},
    }))
}

fn files(path: &str) -> std::io::Result<String> {
    match path {
        "text.txt" => Ok("a line\n".to_owned()),
        "three.txt" => Ok("3\n".to_owned()),
        "list.json" => Ok("[1, 2]".to_owned()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    }
}

fn typed(schema: &RawJson, base: &str, words: &str) -> Result<RawJson, String> {
    let words: Vec<String> =
        words.split(' ').filter(|it| !it.is_empty()).map(str::to_owned).collect();
    let base = RawJson::parse(base.to_owned(), JsonLimits::default()).expect("JSON");
    read(schema, &base, &words, &files).map_err(|error| error.to_string())
}

#[test]
fn meanings() {
    let cases = [
        ("", r#"{}"#),
        ("text=hello", r#"{"text":"hello"}"#),
        ("text=", r#"{"text":""}"#),
        ("text=a=b", r#"{"text":"a=b"}"#),
        ("text=5", r#"{"text":"5"}"#),
        ("text=null", r#"{"text":"null"}"#),
        ("text=@@home", r#"{"text":"@home"}"#),
        ("text=@text.txt", r#"{"text":"a line\n"}"#),
        ("text:=\"x\"", r#"{"text":"x"}"#),
        ("count=3", r#"{"count":3}"#),
        ("count=-3", r#"{"count":-3}"#),
        ("count=3.0", r#"{"count":3.0}"#),
        ("count=@three.txt", r#"{"count":3}"#),
        ("count=123456789012345678901", r#"{"count":123456789012345678901}"#),
        ("ratio=0.10", r#"{"ratio":0.10}"#),
        ("ratio=1e3", r#"{"ratio":1e3}"#),
        ("deep=true", r#"{"deep":true}"#),
        ("deep=Yes", r#"{"deep":true}"#),
        ("deep=0", r#"{"deep":false}"#),
        ("deep=off", r#"{"deep":false}"#),
        ("nothing=null", r#"{"nothing":null}"#),
        ("maybe=null", r#"{"maybe":null}"#),
        ("maybe=4", r#"{"maybe":4}"#),
        ("either=4", r#"{"either":4}"#),
        ("either=four", r#"{"either":"four"}"#),
        ("either:=\"4\"", r#"{"either":"4"}"#),
        ("unit=metric", r#"{"unit":"metric"}"#),
        ("level=2", r#"{"level":2}"#),
        ("tags=a", r#"{"tags":["a"]}"#),
        ("tags=a,b", r#"{"tags":["a","b"]}"#),
        ("tags=", r#"{"tags":[]}"#),
        ("tags=a,b tags=c", r#"{"tags":["a,b","c"]}"#),
        ("tags=[\"a,b\"]", r#"{"tags":["a,b"]}"#),
        ("numbers=1,2", r#"{"numbers":[1,2]}"#),
        ("numbers=1 numbers=2", r#"{"numbers":[1,2]}"#),
        ("numbers=@list.json", r#"{"numbers":[1, 2]}"#),
        ("units=metric,imperial", r#"{"units":["metric","imperial"]}"#),
        ("any_list=1,a", r#"{"any_list":[1,"a"]}"#),
        ("points=[{\"x\":1}]", r#"{"points":[{"x":1}]}"#),
        ("points={\"x\":1} points={\"x\":2}", r#"{"points":[{"x":1},{"x":2}]}"#),
        ("point.x=1 point.label=2", r#"{"point":{"x":1,"label":"2"}}"#),
        ("point={\"x\":1} point.y=2", r#"{"point":{"x":1,"y":2}}"#),
        ("point:={\"z\":1}", r#"{"point":{"z":1}}"#),
        ("free.a.b=1", r#"{"free":{"a":{"b":1}}}"#),
        ("open.a=1 open.other=2", r#"{"open":{"a":"1","other":2}}"#),
        ("any=1", r#"{"any":1}"#),
        ("any=word", r#"{"any":"word"}"#),
        ("any={\"a\":1}", r#"{"any":{"a":1}}"#),
        ("dotted.name=x", r#"{"dotted.name":"x"}"#),
    ];
    for (words, expected) in cases {
        let read = typed(&schema(), "{}", words);
        let read = read.as_ref().map_or_else(String::as_str, RawJson::as_str);
        assert_eq!(read, expected, "{words}");
    }
}

#[test]
fn mistakes() {
    let cases = [
        ("text", "`text` has no value; write `text=VALUE`"),
        ("=x", "`=x` has no value"),
        (r#"{"text":"a=b"}"#, "a JSON object has its place behind `--args`; write `--args '{…}'`"),
        ("txet=a", "there is no argument `txet`; did you mean `text`?"),
        ("point.z=1", "there is no argument `point.z`; did you mean `point.x`?"),
        ("text.a=1", "there is no argument `text.a`"),
        ("count=many", "`count` must be an integer; got `many`"),
        ("count=1.5", "`count` must be an integer; got `1.5`"),
        ("count=007", "`count` must be an integer; got `007`"),
        ("count=", "`count` must be an integer; got ``"),
        ("count=1 count=2", "`count` is given more than once"),
        ("ratio=NaN", "`ratio` must be a number; got `NaN`"),
        ("deep=perhaps", "`deep` must be true or false; got `perhaps`"),
        ("nothing=x", "`nothing` must be null; got `x`"),
        ("maybe=x", "`maybe` must be null or an integer; got `x`"),
        ("unit=metrics", "`unit` must be one of metric, imperial (perhaps metric); got `metrics`"),
        ("level=9", "`level` must be one of 1, 2, 3"),
        ("numbers=1,x", "`numbers` must be an integer; got `x`"),
        ("units=metric,x", "`units` must be one of metric, imperial; got `x`"),
        ("points=x", "`points` must be a list; got `x`"),
        ("point=x", "`point` must be an object, as JSON or with dots"),
        ("point={", "`point` is not valid JSON"),
        ("text:=x", "`text` is not valid JSON"),
        ("text=@none", "`text` cannot be read from `none`"),
    ];
    for (words, expected) in cases {
        let error = typed(&schema(), "{}", words).expect_err(words);
        assert!(error.starts_with(expected), "{words}: {error}");
    }
}

fn needing(required: &Value) -> RawJson {
    RawJson::from(json!({"type": "object", "required": required, "properties": {
        "a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string", "default": ""}}}))
}

#[test]
fn what_is_missing_is_named_at_once() {
    let cases = [
        (json!([]), "{}", "", Ok("{}")),
        (json!(["a", "b", "c"]), "{}", "", Err("the arguments `a` and `b` are missing")),
        (json!(["a", "b"]), "{}", "a=1", Err("the argument `b` is missing")),
        (json!(["a", "b"]), r#"{"a":"0"}"#, "b=1", Ok(r#"{"a":"0","b":"1"}"#)),
        (json!(["a"]), r#"{"a":"0"}"#, "a=1", Ok(r#"{"a":"1"}"#)),
        (json!(["a"]), r#"{"a":1,"z":2}"#, "", Ok(r#"{"a":1,"z":2}"#)),
    ];
    for (required, base, words, expected) in cases {
        let read = typed(&needing(&required), base, words);
        let read = read.as_ref().map(RawJson::as_str).map_err(String::as_str);
        assert_eq!(read, expected, "{required} {base} {words}");
    }
}

#[test]
fn a_schema_that_names_nothing_takes_anything() {
    let cases = [
        (json!({"type": "object"}), "a=1", r#"{"a":1}"#),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            "a=1",
            r#"{"a":"1"}"#,
        ),
        (
            json!({"type": "object", "additionalProperties": false}),
            "a=1",
            "there is no argument `a`; the tool takes none",
        ),
        (
            json!({"type": "object", "properties": {}}),
            "a=1",
            "there is no argument `a`; the tool takes none",
        ),
        (json!({"$ref": "#"}), "a=1", r#"{"a":1}"#),
    ];
    for (schema, words, expected) in cases {
        let read = typed(&RawJson::from(schema.clone()), "{}", words);
        let read = read.map_or_else(|error| error, |value| value.to_string());
        assert_eq!(read, expected, "{schema} {words}");
    }
}
