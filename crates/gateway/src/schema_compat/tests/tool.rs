//! Changes beside the schemas, definitions written differently, and definitions nobody can read.

use super::super::{ChangeClass, changes};
use super::{check, json, of_input, worst};

const MAJOR: Option<ChangeClass> = Some(ChangeClass::Major);
const MINOR: Option<ChangeClass> = Some(ChangeClass::Minor);
const PATCH: Option<ChangeClass> = Some(ChangeClass::Patch);

#[test]
fn members() {
    let cases = [
        (r#""name":"a""#, r#""name":"b""#, MAJOR, "is called \"b\" instead of \"a\""),
        (r#""title":"a""#, r#""title":"b""#, PATCH, "the title of the tool"),
        (r#""description":"a""#, r#""x-y":1"#, PATCH, "the description of the tool"),
        (r#""_meta":{"version":"1.0.0"}"#, r#""_meta":{"version":"1.0.1"}"#, PATCH, "meta"),
        (r#""icons":[]"#, r#""x-y":1"#, PATCH, "icons"),
        (r#""novelty":1"#, r#""novelty":2"#, MAJOR, "`novelty` of the tool"),
        (r#""x-y":1"#, r#""x-y":2"#, PATCH, "x-y"),
        (r#""x-y":1"#, r#""x-y":1"#, None, ""),
        (r#""x-y":1"#, r#""x-y":1,"outputSchema":{}"#, MINOR, "now has a schema"),
        (r#""x-y":1,"outputSchema":{}"#, r#""x-y":1"#, MAJOR, "no longer has a schema"),
        (r#""execution":{}"#, r#""execution":{"taskSupport":"forbidden"}"#, None, ""),
        (r#""execution":{}"#, r#""execution":{"taskSupport":"optional"}"#, MINOR, "as a task"),
        (r#""execution":{}"#, r#""execution":{"taskSupport":"required"}"#, MAJOR, "as a task"),
        (r#""execution":{"taskSupport":"optional"}"#, r#""execution":{}"#, MAJOR, "forbidden"),
    ];
    for (old, new, expected, text) in cases {
        let changes = changes(&json(&format!("{{{old}}}")), &json(&format!("{{{new}}}")));
        check(&changes, expected, text, &format!("{old} {new}"));
    }
}

#[test]
fn hints() {
    let cases = [
        (r#"{"readOnlyHint":true}"#, r#"{"readOnlyHint":false}"#, MAJOR, "no longer only reads"),
        (r#"{"readOnlyHint":true}"#, "{}", MAJOR, "may now destroy"),
        ("{}", r#"{"readOnlyHint":true}"#, MINOR, "now only reads"),
        (r#"{"destructiveHint":false}"#, r#"{"destructiveHint":true}"#, MAJOR, "may now destroy"),
        (r#"{"destructiveHint":false}"#, "{}", MAJOR, "may now destroy"),
        ("{}", r#"{"destructiveHint":false}"#, MINOR, "no longer destroys"),
        ("{}", r#"{"destructiveHint":true}"#, None, ""),
        (r#"{"readOnlyHint":true}"#, r#"{"readOnlyHint":true,"destructiveHint":true}"#, None, ""),
        (r#"{"idempotentHint":true}"#, "{}", MAJOR, "twice is no longer"),
        ("{}", r#"{"idempotentHint":true}"#, MINOR, "twice is now"),
        (r#"{"openWorldHint":false}"#, "{}", MAJOR, "beyond a closed world"),
        ("{}", r#"{"openWorldHint":false}"#, MINOR, "within a closed world"),
        (r#"{"title":"a"}"#, r#"{"title":"b"}"#, PATCH, "texts"),
        (r#"{"readOnlyHint":"yes"}"#, "{}", None, ""),
    ];
    for (old, new, expected, text) in cases {
        let tool = |hints: &str| json(&format!(r#"{{"name":"t","annotations":{hints}}}"#));
        check(&changes(&tool(old), &tool(new)), expected, text, &format!("{old} {new}"));
    }
}

#[test]
fn unreadable_definitions() {
    let cases = [
        ("1", "1", None),
        ("[ 1]", "[1]", None),
        ("1", "{}", MAJOR),
        ("{}", "[]", MAJOR),
        ("{}", "{}", None),
        (r#"{"inputSchema":{"maximum":1e999}}"#, r#"{"inputSchema":{"maximum":1e999}}"#, None),
        (r#"{"inputSchema":{"maximum":1e999}}"#, r#"{"inputSchema":{"maximum":1e998}}"#, MAJOR),
    ];
    for (old, new, expected) in cases {
        assert_eq!(worst(&changes(&json(old), &json(new))), expected, "{old} {new}");
    }
}

/// A schema that holds `inner` at the end of many steps.
fn nested(step: &str, times: usize, inner: &str) -> String {
    let (before, after) = step.split_once('_').expect("a place for what is inside");
    format!("{}{inner}{}", before.repeat(times), after.repeat(times))
}

#[test]
fn schemas_too_large_to_compare() {
    let wide = |last: &str| {
        let members = (0..60_000).map(|it| format!(r#""p{it}":{{"type":"string"}}"#));
        let members: Vec<String> = members.collect();
        format!(
            r##"{{"properties":{{{},"z":{last}}},"$ref":"#/$defs/d","$defs":{{"d":{{}}}}}}"##,
            members.join(",")
        )
    };
    let doubling = |last: &str| {
        let definition = |it: usize| {
            format!(
                r##""d{it}":{{"allOf":[{{"$ref":"#/$defs/d{0}"}},{{"$ref":"#/$defs/d{0}"}}]}}"##,
                it + 1
            )
        };
        let definitions: Vec<String> = (0..25).map(definition).collect();
        format!(r##"{{"$ref":"#/$defs/d0","$defs":{{{},"d25":{last}}}}}"##, definitions.join(","))
    };
    let within = |step: &str, times, inner: &str| {
        nested(r#"{"properties":{"a":_}}"#, 1, &nested(step, times, inner))
    };
    let (one, two) = (r#"{"required":["a"]}"#, r#"{"required":["b"]}"#);
    let cases = [
        (wide(one), wide(two), "too large"),
        (doubling(one), doubling(two), "too large"),
        (within(r#"{"items":_}"#, 110, one), within(r#"{"items":_}"#, 110, two), "too deep"),
        (within(r#"{"not":_}"#, 110, one), within(r#"{"not":_}"#, 110, two), "`not`"),
        (within(r#"{"anyOf":[{},_]}"#, 50, one), within(r#"{"anyOf":[_]}"#, 50, two), ""),
    ];
    for (old, new, text) in cases {
        check(&of_input(&old, &new), MAJOR, text, &old[..80]);
        assert_eq!(of_input(&old, &old), vec![]);
    }
}
