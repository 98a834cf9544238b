//! Changes of what a tool promises: what is safe for the input is not for the output.

use super::{MAJOR, MINOR, PATCH, check, of_output};

#[test]
fn results() {
    let cases = [
        (r#"{"properties":{"a":{}}}"#, r#"{}"#, MAJOR, "the field `a` was removed"),
        (r#"{}"#, r#"{"properties":{"a":{"type":"string"}}}"#, MINOR, "the field `a` was added"),
        (r#"{}"#, r#"{"properties":{"a":{}},"required":["a"]}"#, MINOR, "the field `a` was added"),
        (
            r#"{"additionalProperties":false}"#,
            r#"{"additionalProperties":false,"properties":{"a":{}}}"#,
            MAJOR,
            "which the old schema does not allow",
        ),
        (
            r#"{"additionalProperties":{"type":"number"}}"#,
            r#"{"additionalProperties":{"type":"number"},"properties":{"a":{"type":"integer"}}}"#,
            MINOR,
            "`a` was added",
        ),
        (
            r#"{"required":["a"],"properties":{"a":{}}}"#,
            r#"{"properties":{"a":{}}}"#,
            MAJOR,
            "no longer always there",
        ),
        (
            r#"{"properties":{"a":{}}}"#,
            r#"{"required":["a"],"properties":{"a":{}}}"#,
            MINOR,
            "is now required",
        ),
        (
            r#"{"properties":{"a":{"type":"integer"}}}"#,
            r#"{"properties":{"a":{"type":"number"}}}"#,
            MAJOR,
            "less is promised",
        ),
        (
            r#"{"properties":{"a":{"type":"number"}}}"#,
            r#"{"properties":{"a":{"type":"integer"}}}"#,
            MINOR,
            "more is promised",
        ),
        (r#"{"type":"object"}"#, r#"{}"#, MAJOR, "the result changed its type"),
        (r#"{}"#, r#"{"type":"object"}"#, MINOR, "the result changed its type"),
        (r#"{"enum":["x"]}"#, r#"{"enum":["x","y"]}"#, MAJOR, "may now also be"),
        (r#"{"enum":["x","y"]}"#, r#"{"enum":["x"]}"#, MINOR, "may no longer be"),
        (r#"{"const":"x"}"#, r#"{"const":"y"}"#, MAJOR, "instead of"),
        (r#"{"additionalProperties":false}"#, r#"{}"#, MAJOR, "`*` is now allowed"),
        (r#"{}"#, r#"{"additionalProperties":false}"#, MINOR, "`*` is no longer allowed"),
        (
            r#"{"patternProperties":{"^x":{"type":"string"}}}"#,
            r#"{}"#,
            MAJOR,
            "no longer described",
        ),
        (r#"{}"#, r#"{"patternProperties":{"^x":{"type":"string"}}}"#, MINOR, "now described"),
        (r#"{"minimum":1}"#, r#"{"minimum":0}"#, MAJOR, "`minimum`"),
        (r#"{"minimum":1}"#, r#"{"minimum":2}"#, MINOR, "`minimum`"),
        (r#"{"maxLength":9}"#, r#"{}"#, MAJOR, "lost `maxLength`"),
        (r#"{"pattern":"^a"}"#, r#"{"pattern":"^b"}"#, MAJOR, "`pattern`"),
        (r#"{}"#, r#"{"format":"uri"}"#, MINOR, "got `format`"),
        (r#"{"format":"uri"}"#, r#"{}"#, MAJOR, "lost `format`"),
        (r#"{"uniqueItems":true}"#, r#"{}"#, MAJOR, "`uniqueItems`"),
        (r#"{"items":{"type":"string"}}"#, r#"{}"#, MAJOR, "`[]` changed its type"),
        (r#"{}"#, r#"{"items":{"type":"string"}}"#, MINOR, "`[]` changed its type"),
        (r#"{"type":"string"}"#, r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#, MAJOR, ""),
        (
            r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
            r#"{"type":"string"}"#,
            MINOR,
            "no longer has one of its forms",
        ),
        (
            r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
            r#"{"anyOf":[{"type":"null"},{"type":"array"},{"type":"string"}]}"#,
            MAJOR,
            "has a form that it did not have",
        ),
        (r#"{"not":{"const":1}}"#, r#"{}"#, MAJOR, "lost `not`"),
        (r#"{}"#, r#"{"not":{"const":1}}"#, MINOR, "got `not`"),
        (r#"{"minLength":1}"#, r#"{"minLength":1,"allOf":[{"minLength":2}]}"#, MINOR, "`allOf`"),
        (r#"{"minLength":1,"allOf":[{"minLength":2}]}"#, r#"{"minLength":1}"#, MAJOR, "`allOf`"),
        (r#"false"#, r#"true"#, MAJOR, "is now allowed"),
        (r#"{"default":1}"#, r#"{"default":2}"#, PATCH, "`default`"),
        (r#"{"x-mcp-header":"A"}"#, r#"{}"#, PATCH, "`x-mcp-header`"),
        (r#"{"description":"x"}"#, r#"{"description":"y"}"#, PATCH, "`description` of the result"),
        (
            r##"{"properties":{"a":{"$ref":"#"},"b":{"type":"number"}}}"##,
            r##"{"properties":{"a":{"$ref":"#"},"b":{"type":"integer"}}}"##,
            MINOR,
            "`b`",
        ),
        (
            r##"{"properties":{"a":{"$ref":"#"},"b":{"type":"integer"}}}"##,
            r##"{"properties":{"a":{"$ref":"#"},"b":{"type":"number"}}}"##,
            MAJOR,
            "`b`",
        ),
    ];
    for (old, new, expected, text) in cases {
        check(&of_output(old, new), expected, text, &format!("{old} {new}"));
    }
}
