//! Changes of schemas that are made of others: choices, conditions and references.

use super::{MAJOR, MINOR, PATCH, arguments, parameter};

#[test]
fn choices_and_conditions() {
    parameter(&[
        (
            r#"{"type":"string"}"#,
            r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
            MINOR,
            "one more form",
        ),
        (
            r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
            r#"{"type":"string"}"#,
            MAJOR,
            "changed its type",
        ),
        (
            r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
            r#"{"type":["null","string"]}"#,
            None,
            "",
        ),
        (
            r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
            r#"{"anyOf":[{"type":"null"},{"type":"string"}]}"#,
            None,
            "",
        ),
        (
            r#"{"anyOf":[{"type":"string"},{"type":"null"},{"type":"array"}]}"#,
            r#"{"anyOf":[{"type":"null"},{"type":"string"}]}"#,
            MAJOR,
            "no longer accepts one of its forms",
        ),
        (
            r#"{"anyOf":[{"type":"integer"},{"type":"null"}]}"#,
            r#"{"anyOf":[{"type":"number"},{"type":"null"}]}"#,
            MINOR,
            "from integer to number",
        ),
        (
            r#"{"oneOf":[{"type":"string"},{"type":"null"}]}"#,
            r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
            None,
            "",
        ),
        (
            r#"{"oneOf":[{"type":"string"}]}"#,
            r#"{"oneOf":[{"type":"string"},{"type":"null"}]}"#,
            MINOR,
            "one more form",
        ),
        (
            r#"{"oneOf":[{"minimum":1},{"maximum":5}]}"#,
            r#"{"oneOf":[{"minimum":0},{"maximum":5}]}"#,
            MAJOR,
            "`oneOf`",
        ),
        (
            r#"{"oneOf":[{"minimum":1},{"maximum":5}]}"#,
            r#"{"oneOf":[{"maximum":5},{"minimum":1}]}"#,
            None,
            "",
        ),
        (
            r#"{"oneOf":[{"type":"object","required":["k"],"properties":{"k":{"const":1}}}]}"#,
            r#"{"oneOf":[{"type":"object","required":["k"],"properties":{"k":{"const":1}}},{"type":"object","required":["k"],"properties":{"k":{"const":2}}}]}"#,
            MINOR,
            "one more form",
        ),
        (
            r#"{"allOf":[{"type":"string"},{"minLength":1}]}"#,
            r#"{"type":"string","minLength":1}"#,
            None,
            "",
        ),
        (
            r#"{"minLength":1,"allOf":[{"minLength":2}]}"#,
            r#"{"minLength":1,"allOf":[{"minLength":3}]}"#,
            MAJOR,
            "`allOf`",
        ),
        (
            r#"{"minLength":1,"allOf":[{"minLength":3}]}"#,
            r#"{"minLength":1,"allOf":[{"minLength":2}]}"#,
            MINOR,
            "`minLength` 2 instead of 3",
        ),
        (r#"{"minLength":1,"allOf":[{"minLength":3}]}"#, r#"{"minLength":1}"#, MINOR, "`allOf`"),
        (r#"{}"#, r#"{"not":{"const":1}}"#, MAJOR, "got `not`"),
        (r#"{"not":{"const":1}}"#, r#"{}"#, MINOR, "lost `not`"),
        (r#"{"not":{"type":"integer"}}"#, r#"{"not":{"type":"number"}}"#, MAJOR, "has `not`"),
        (r#"{"not":{"required":["a","b"]}}"#, r#"{"not":{"required":["b","a"]}}"#, None, ""),
        (
            r#"{"if":{"const":1},"then":{"minimum":1}}"#,
            r#"{"if":{"const":1},"then":{"minimum":0}}"#,
            MINOR,
            "`minimum`",
        ),
        (
            r#"{"if":{"const":1},"then":{"minimum":1}}"#,
            r#"{"if":{"const":2},"then":{"minimum":1}}"#,
            MAJOR,
            "has `if`",
        ),
        (
            r#"{"unevaluatedProperties":false}"#,
            r#"{"unevaluatedProperties":false,"properties":{"b":{}}}"#,
            MAJOR,
            "unevaluatedProperties",
        ),
        (
            r#"{"unevaluatedProperties":false,"title":"x"}"#,
            r#"{"unevaluatedProperties":false}"#,
            PATCH,
            "`title`",
        ),
    ]);
}

#[test]
fn references() {
    arguments(&[
        (
            r##"{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}"##,
            r#"{"properties":{"a":{"type":"string"}}}"#,
            None,
            "",
        ),
        (
            r##"{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}"##,
            r##"{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"null"}}}"##,
            MAJOR,
            "`a` changed its type",
        ),
        (
            r##"{"properties":{"a":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}"##,
            r##"{"properties":{"a":{"$ref":"#/definitions/s~1t"}},"definitions":{"s/t":{"type":"string"}}}"##,
            None,
            "",
        ),
        (
            r##"{"$defs":{"unused":{"type":"string"}}}"##,
            r##"{"$defs":{"unused":{"type":"null"}}}"##,
            None,
            "",
        ),
        (
            r##"{"properties":{"a":{"$ref":"#"}}}"##,
            r##"{"properties":{"a":{"$ref":"#"},"b":{}}}"##,
            MINOR,
            "`b` was added",
        ),
        (
            r##"{"properties":{"a":{"$ref":"#"},"b":{"type":"integer"}}}"##,
            r##"{"properties":{"a":{"$ref":"#"},"b":{"type":"null"}}}"##,
            MAJOR,
            "`b` changed its type",
        ),
        (
            r##"{"properties":{"a":{"$ref":"#"}}}"##,
            r##"{"properties":{"a":{"properties":{"a":{"$ref":"#"}}}}}"##,
            None,
            "",
        ),
        (
            r##"{"properties":{"a":{"not":{"$ref":"#"}},"b":{"type":"integer"}}}"##,
            r##"{"properties":{"a":{"not":{"$ref":"#"}},"b":{"type":"number"}}}"##,
            MAJOR,
            "`not`",
        ),
        (r##"{"$ref":"#"}"##, r##"{"$ref":"#","required":["a"]}"##, MAJOR, ""),
        (
            r##"{"anyOf":[{"$ref":"#"},{"required":["a"]}]}"##,
            r##"{"anyOf":[{"$ref":"#"},{"required":["b"]}]}"##,
            MAJOR,
            "",
        ),
        (
            r##"{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"$ref":"#/$defs/x"}}}"##,
            r##"{"properties":{"a":{}}}"##,
            MAJOR,
            "",
        ),
        (
            r##"{"properties":{"a":{"$ref":"#/nowhere"}}}"##,
            r##"{"properties":{"a":{"$ref":"#/nowhere"},"b":{}}}"##,
            MAJOR,
            "cannot be followed",
        ),
        (
            r##"{"properties":{"a":{"$ref":"other.json"}}}"##,
            r##"{"properties":{"a":{"$ref":"other.json"}},"title":"x"}"##,
            PATCH,
            "",
        ),
        (
            r##"{"properties":{"a":{"$dynamicRef":"#n"}},"$defs":{"n":{"$dynamicAnchor":"n"}}}"##,
            r##"{"properties":{"a":{"$dynamicRef":"#n"}},"$defs":{"n":{"$dynamicAnchor":"n","type":"null"}}}"##,
            MAJOR,
            "cannot be followed",
        ),
        (
            r##"{"properties":{"a":{"$id":"urn:a","type":"string"}}}"##,
            r##"{"properties":{"a":{"$id":"urn:a","type":"null"}}}"##,
            MAJOR,
            "cannot be judged",
        ),
        (
            r##"{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#/definitions/s","maximum":5}},"definitions":{"s":{"type":"integer"}}}"##,
            r##"{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"maximum":5}}}"##,
            MAJOR,
            "`maximum`",
        ),
    ]);
}
