//! Tables of schemas and values.

mod bombs;

use gantry_protocol::json::{JsonLimits, RawJson};

use super::{Schema, SchemaError, SchemaLimits, Subject};

fn raw(text: &str) -> RawJson {
    let limits = JsonLimits { size: usize::MAX, depth: 126 };
    RawJson::parse(text.to_owned(), limits).unwrap()
}

fn compile(text: &str) -> Result<Schema, SchemaError> {
    Schema::compile(&raw(text), SchemaLimits::default())
}

fn schema(text: &str) -> Schema {
    compile(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The words of the violations, empty when there are none.
fn words(schema: &Schema, value: &str) -> String {
    schema
        .check(&raw(value))
        .map_or_else(|it| it.about(Subject::Arguments).to_string(), |()| String::new())
}

#[test]
fn values_are_taken_or_not() {
    let tree = r##"{"type":"object","properties":{"next":{"$ref":"#"},"n":{"type":"integer"}}}"##;
    let definitions = r##"{"properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#named"}},
        "$defs":{"n":{"type":"integer"},"x":{"$anchor":"named","type":"string"}}}"##;
    let branches = r#"{"if":{"properties":{"k":{"const":"n"}}},
        "then":{"properties":{"v":{"type":"number"}}},"else":{"required":["w"]}}"#;
    let draft_7 = r##"{"$schema":"http://json-schema.org/draft-07/schema#",
        "properties":{"a":{"$ref":"#/definitions/x"}},"definitions":{"x":{"type":"null"}}}"##;
    let identified = r#"{"$id":"https://tool.example/s","properties":{"a":{"$ref":"part"}},
        "$defs":{"p":{"$id":"part","type":"integer"}}}"#;
    let old_items = r#"{"$schema":"http://json-schema.org/draft-07/schema#",
        "items":[{"type":"integer"}],"additionalItems":false}"#;
    let cases = [
        ("true", "5", true),
        ("false", "5", false),
        ("{}", "null", true),
        (tree, r#"{"next":{"next":{"n":1}}}"#, true),
        (tree, r#"{"next":{"next":{"n":"1"}}}"#, false),
        (definitions, r#"{"a":1,"b":"x"}"#, true),
        (definitions, r#"{"a":"x"}"#, false),
        (definitions, r#"{"b":1}"#, false),
        (branches, r#"{"k":"n","v":1}"#, true),
        (branches, r#"{"k":"n","v":"1"}"#, false),
        (branches, r#"{"k":"m"}"#, false),
        (branches, r#"{"k":"m","w":1}"#, true),
        (draft_7, r#"{"a":null}"#, true),
        (draft_7, r#"{"a":1}"#, false),
        (identified, r#"{"a":1}"#, true),
        (identified, r#"{"a":"1"}"#, false),
        (old_items, "[1]", true),
        (old_items, "[1,2]", false),
        (r#"{"prefixItems":[{"type":"integer"}],"items":false}"#, "[1,2]", false),
        (r##"{"$ref":"#"}"##, "1", true),
        (r#"{"type":"integer"}"#, "123456789012345678901234567890", true),
        (r#"{"maximum":10}"#, "123456789012345678901234567890", false),
        (r#"{"type":"integer"}"#, "1e400", false),
        (r#"{"type":"integer"}"#, "1.0", true),
        (r#"{"pattern":"^(a+)+$"}"#, r#""aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!""#, false),
        (r#"{"pattern":"^\\d{3}$"}"#, r#""123""#, true),
        (r#"{"pattern":"^(?!\\.)[a-z.]+$"}"#, r#""a.b""#, true),
        (r#"{"pattern":"^(?!\\.)[a-z.]+$"}"#, r#"".b""#, false),
        (r#"{"format":"no-such-format"}"#, r#""x""#, true),
        (r#"{"$ref":"https://json-schema.org/draft/2020-12/schema"}"#, r#"{"type":"x"}"#, false),
    ];
    for (text, value, taken) in cases {
        assert_eq!(schema(text).check(&raw(value)).is_ok(), taken, "{text} on {value}");
    }
}

#[test]
fn violations_can_be_acted_on() {
    let search = schema(
        r#"{"type":"object","required":["query"],"additionalProperties":false,"properties":{
            "query":{"type":"string","minLength":2},
            "limit":{"type":"integer","maximum":1000},
            "sort":{"enum":["asc","desc"]},
            "id":{"anyOf":[{"type":"string"},{"type":"integer"}]},
            "filter":{"type":"object","properties":{"tags":{"items":{"type":["string","null"]}}}}}}"#,
    );
    let cases = [
        (r#"{"query":"ab","limit":5000}"#, "argument `limit` must be at most 1000; got 5000"),
        (r#"{"query":"ab","limit":"x"}"#, "argument `limit` must be an integer; got \"x\""),
        (r#"{"query":"a"}"#, "argument `query` must have at least 2 characters; got \"a\""),
        ("{}", "argument `query` is required and missing"),
        (r#"{"query":"ab","a/b":1}"#, "argument `a/b` is not known; remove it"),
        (
            r#"{"query":"ab","sort":"up"}"#,
            "argument `sort` must be one of \"asc\", \"desc\"; got \"up\"",
        ),
        (
            r#"{"query":"ab","id":null}"#,
            "argument `id` must have one of the allowed forms \
             (must be a string, or must be an integer); got null",
        ),
        (
            r#"{"query":"ab","filter":{"tags":["a",{"b":[]}]}}"#,
            "argument `filter.tags[1]` must be null or a string; got an object with b",
        ),
        ("[]", "the whole of the arguments must be an object; got an empty array"),
        (
            r#"{"limit":1.5}"#,
            "argument `query` is required and missing; and \
             argument `limit` must be an integer; got 1.5",
        ),
    ];
    for (value, expected) in cases {
        let said = words(&search, value);
        let mut parts: Vec<_> = said.split("; and ").collect();
        let mut wanted: Vec<_> = expected.split("; and ").collect();
        parts.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(parts, wanted, "{value}");
    }
}

#[test]
fn violations_are_few_and_short() {
    let strings = schema(r#"{"items":{"type":"string","maxLength":3}}"#);
    let violations = strings.check(&raw("[1,2,3,4,5,6,7,8]")).unwrap_err();
    assert_eq!(violations.list().len(), 5);
    assert_eq!(violations.list()[4].path, "/4");
    let long = format!("[\"{}\"]", "\u{fc}".repeat(50_000));
    assert!(words(&strings, &long).len() < 500);
    let many = format!("[{}0]", "0,".repeat(200_000));
    assert_eq!(strings.check(&raw(&many)).unwrap_err().list().len(), 1);
}

#[test]
fn bad_schemas_are_refused() {
    let nested =
        |levels: usize| format!("{}true{}", r#"{"not":"#.repeat(levels), "}".repeat(levels));
    let chain = |length: usize| {
        let links: Vec<_> = (0..length)
            .map(|at| format!(r##""d{at}":{{"$ref":"#/$defs/d{}"}}"##, at + 1))
            .collect();
        format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d{length}":true}}}}"##, links.join(","))
    };
    let doubling: Vec<_> = (0..40)
        .map(|at| {
            let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, at + 1);
            format!(r#""d{at}":{{"allOf":[{next},{next}]}}"#)
        })
        .collect();
    let doubling =
        format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d40":true}}}}"##, doubling.join(","));
    let patterns = format!("{{\"allOf\":[{}true]}}", r#"{"pattern":"a"},"#.repeat(201));
    let large = format!("{{\"description\":\"{}\"}}", "x".repeat(10 * 1024 * 1024));
    let cases = [
        (large, "more than the limit of 1048576"),
        (nested(110), "nested deeper than the limit of 100"),
        (chain(300), "nested deeper than the limit of 256"),
        (doubling, "more than 100000 subschemas"),
        (patterns, "more than 200 patterns"),
        (r#"{"$ref":"https://example.com/x.json"}"#.into(), "`https://example.com/x.json`"),
        (r#"{"$ref":"file:///etc/passwd"}"#.into(), "`file:///etc/passwd`, which is outside"),
        (r#"{"$ref":"other.json#/a"}"#.into(), "other.json"),
        (r##"{"$ref":"#/$defs/a"}"##.into(), "/$defs/a"),
        (r##"{"$ref":"#a"}"##.into(), "cannot be resolved"),
        (r#"{"$schema":"https://example.com/d"}"#.into(), "`https://example.com/d`"),
        (r#"{"properties":{"a":{"$schema":"urn:x"}}}"#.into(), "dialect `urn:x`"),
        (r#"{"$schema":"http://json-schema.org/draft-03/schema#"}"#.into(), "draft-03"),
        (r#"{"type":"banana"}"#.into(), "not valid at `/type`"),
        (r#"{"properties":[]}"#.into(), "not valid at `/properties`: must be an object"),
        (r#"{"pattern":"(a"}"#.into(), "the pattern \"(a\" at `/pattern`"),
        (r#"{"pattern":"(((a{1,999}){1,999}){1,999})"}"#.into(), "the pattern"),
        ("5".into(), "must be"),
    ];
    for (text, part) in cases {
        let said = compile(&text).map(|_| ()).unwrap_err().to_string();
        assert!(said.contains(part), "{said} does not say {part}");
        assert!(said.len() < 400, "{said}");
    }
    assert!(compile(&nested(90)).is_ok());
    assert!(compile(&chain(200)).is_ok());
}

#[test]
fn hostile_patterns_and_recursion_end() {
    let look = schema(r#"{"pattern":"^(?=a)(a|aa)+\\1$"}"#);
    let slow = format!("\"{}!\"", "a".repeat(5_000));
    assert!(look.check(&raw(&slow)).is_err());
    let strict = SchemaLimits { backtracks: 0, ..SchemaLimits::default() };
    assert!(Schema::compile(&raw(r#"{"pattern":"(?=a)"}"#), strict).is_err());
    let both = schema(
        r##"{"type":"object","anyOf":[{"required":["a"],"properties":{"a":{"$ref":"#"}}},
            {"required":["a"],"properties":{"a":{"$ref":"#"}}}]}"##,
    );
    let deep = format!("{}{{}}{}", r#"{"a":"#.repeat(100), "}".repeat(100));
    assert!(words(&both, &deep).contains("must match the schema"));
    assert!(words(&both, "{}").contains("allowed forms"));
}

#[test]
fn defaults_are_filled_in() {
    let flat = r#"{"properties":{"a":{"default":1.10},"b":{"default":{"z":1,"a":2}},"c":{}}}"#;
    let nested = r#"{"properties":{"o":{"properties":{"x":{"default":1}}}}}"#;
    let chained =
        r#"{"properties":{"o":{"default":{},"properties":{"x":{"default":1},"y":{"default":2}}}}}"#;
    let referred = r##"{"properties":{"o":{"$ref":"#/$defs/o","default":{"y":0}},
        "n":{"$ref":"#/$defs/n"}},"$defs":{"o":{"properties":{"x":{"default":1}}},"n":{"default":7}}}"##;
    let wrapped = r##"{"properties":{"o":{"allOf":[{"$ref":"#/$defs/o"}],"default":{}}},
        "$defs":{"o":{"properties":{"x":{"default":1}}}}}"##;
    let recursive = r##"{"properties":{"n":{"default":0},"child":{"$ref":"#"}}}"##;
    let endless = r##"{"properties":{"child":{"$ref":"#","default":{}}}}"##;
    let cases = [
        (flat, "{}", r#"{"a":1.10,"b":{"z":1,"a":2}}"#),
        (flat, r#"{ "a" : 2.50 , "q":[ 1 ]}"#, r#"{ "a" : 2.50 , "q":[ 1 ],"b":{"z":1,"a":2}}"#),
        (flat, r#"{"\u0061":null, "b":0}"#, r#"{"\u0061":null, "b":0}"#),
        (flat, "[]", "[]"),
        (nested, "{}", "{}"),
        (nested, r#"{"o":{}}"#, r#"{"o":{"x":1}}"#),
        (nested, r#"{"o":5}"#, r#"{"o":5}"#),
        (chained, "{}", r#"{"o":{"x":1,"y":2}}"#),
        (chained, r#"{"o":{"x":5}}"#, r#"{"o":{"x":5,"y":2}}"#),
        (referred, "{}", r#"{"n":7,"o":{"y":0,"x":1}}"#),
        (wrapped, "{}", r#"{"o":{"x":1}}"#),
        (recursive, "{}", r#"{"n":0}"#),
        (recursive, r#"{"child":{"child":{}}}"#, r#"{"child":{"child":{"n":0},"n":0},"n":0}"#),
        (endless, "{}", r#"{"child":{"child":{}}}"#),
        (nested, r#"{"o":{"x":2},"o":{}}"#, r#"{"o":{"x":1}}"#),
        (r#"{"properties":{"default":{"type":"string"}}}"#, "{}", "{}"),
        (r#"{"properties":{"default":{"default":"d"}}}"#, "{}", r#"{"default":"d"}"#),
        ("true", "{}", "{}"),
    ];
    for (text, value, expected) in cases {
        assert_eq!(schema(text).fill_defaults(&raw(value)).as_str(), expected, "{text} on {value}");
    }
}

#[test]
fn defaults_cannot_grow_without_bound() {
    let levels: Vec<_> = (0..14)
        .map(|at| {
            let next = format!(r##"{{"$ref":"#/$defs/d{}","default":{{}}}}"##, at + 1);
            format!(r##""d{at}":{{"properties":{{"a":{next},"b":{next}}}}}"##)
        })
        .collect();
    let text =
        raw(&format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d14":{{}}}}}}"##, levels.join(",")));
    let tight = SchemaLimits { defaults: 10_000, ..SchemaLimits::default() };
    let filled = Schema::compile(&text, tight).unwrap().fill_defaults(&RawJson::EMPTY_OBJECT);
    assert!((5_000..10_000).contains(&filled.bytes().len()), "{}", filled.bytes().len());
    let small = SchemaLimits { defaults: 20, ..SchemaLimits::default() };
    let two = raw(r#"{"properties":{"a":{"default":"12345678"},"b":{"default":"12345678"}}}"#);
    let filled = Schema::compile(&two, small).unwrap().fill_defaults(&RawJson::EMPTY_OBJECT);
    assert_eq!(filled.as_str(), r#"{"a":"12345678"}"#);
}

/// A caller must not be able to use up the room inside its own arguments, so that what it left out
/// further up gets no default.
#[test]
fn defaults_are_filled_in_from_the_outside() {
    let tight = SchemaLimits { defaults: 30, ..SchemaLimits::default() };
    for name in ["a", "z"] {
        let text =
            format!(r##"{{"properties":{{"{name}":{{"$ref":"#"}},"force":{{"default":true}}}}}}"##);
        let schema = Schema::compile(&raw(&text), tight).unwrap();
        let deep = format!(r#"{{"{name}":{{"{name}":{{"{name}":{{"{name}":{{}}}}}}}}}}"#);
        let filled = schema.fill_defaults(&raw(&deep));
        let value: serde_json::Value = filled.read().unwrap();
        assert_eq!(value["force"], true, "{filled}");
        assert_eq!(value[name]["force"], true, "{filled}");
    }
}

#[test]
fn arguments_are_accepted() {
    let tool = schema(
        r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer","default":3}}}"#,
    );
    assert_eq!(tool.accept(None).unwrap().as_str(), r#"{"n":3}"#);
    let given = raw(r#"{"n" : 4}"#);
    assert_eq!(tool.accept(Some(&given)).unwrap(), given);
    let wrong = tool.accept(Some(&raw(r#"{"n":"4"}"#))).unwrap_err();
    assert_eq!(wrong.to_string(), "argument `n` must be an integer; got \"4\"");
    assert!(tool.accept(Some(&RawJson::NULL)).is_err());
}

#[test]
fn a_derived_schema_is_compiled_when_it_is_used() {
    let derive = |text: &str| Schema::derived(&raw(text), SchemaLimits::default());
    let tool = derive(r#"{"properties":{"n":{"type":"integer","default":3}}}"#);
    assert!(tool.compiled.get().is_none());
    assert_eq!(tool.accept(None).unwrap().as_str(), r#"{"n":3}"#);
    assert_eq!(words(&tool, r#"{"n":"4"}"#), "argument `n` must be an integer; got \"4\"");
    // What turns out to be none lets nothing through.
    let none = derive(r#"{"properties":{"n":{"pattern":"("}}}"#);
    assert!(none.accept(None).is_err() && none.check(&raw("{}")).is_err());
}
