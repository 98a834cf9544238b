//! Changes of what a tool accepts.

use super::{MAJOR, MINOR, PATCH, arguments, of_input, parameter};

#[test]
fn parameters() {
    arguments(&[
        (
            r#"{"properties":{"a":{}}}"#,
            r#"{"properties":{"a":{}},"required":["a"]}"#,
            MAJOR,
            "the parameter `a` is now required",
        ),
        (
            r#"{"required":["a"],"properties":{"a":{}}}"#,
            r#"{"properties":{"a":{}}}"#,
            MINOR,
            "`a` is no longer required",
        ),
        (
            r#"{}"#,
            r#"{"properties":{"a":{"type":"string"}}}"#,
            MINOR,
            "the optional parameter `a` was added",
        ),
        (
            r#"{}"#,
            r#"{"properties":{"a":{}},"required":["a"]}"#,
            MAJOR,
            "the required parameter `a` was added",
        ),
        (r#"{"properties":{"a":{}}}"#, r#"{}"#, MAJOR, "the parameter `a` was removed"),
        (r#"{"properties":{"a":false}}"#, r#"{}"#, MINOR, "the parameter `a` was removed"),
        (r#"{}"#, r#"{"properties":{"a":false}}"#, MAJOR, "`a` was added"),
        (r#"{"properties":{"a":{}}}"#, r#"{"properties":{"b":{}}}"#, MAJOR, "`a` was removed"),
        (
            r#"{"additionalProperties":false}"#,
            r#"{"additionalProperties":false,"properties":{"a":{"type":"string"}}}"#,
            MINOR,
            "`a` was added",
        ),
        (
            r#"{"additionalProperties":{"type":"string"}}"#,
            r#"{"additionalProperties":{"type":"string"},"properties":{"a":{"type":"integer"}}}"#,
            MAJOR,
            "other values were accepted",
        ),
        (
            r#"{"additionalProperties":{"type":"string"}}"#,
            r#"{"additionalProperties":{"type":"string"},"properties":{"a":{}}}"#,
            MINOR,
            "`a` was added",
        ),
        (
            r#"{"additionalProperties":{"description":"passed on"}}"#,
            r#"{"additionalProperties":{"description":"passed on"},"properties":{"a":{"type":"null"}}}"#,
            MAJOR,
            "other values were accepted",
        ),
        (
            r#"{"patternProperties":{"^x":{}}}"#,
            r#"{"patternProperties":{"^x":{}},"properties":{"xa":{"type":"string"}}}"#,
            MAJOR,
            "`xa` was added",
        ),
        (
            r#"{"type":"object"}"#,
            r#"{"type":"object","additionalProperties":false}"#,
            MAJOR,
            "`*` is no longer allowed",
        ),
        (r#"{"additionalProperties":false}"#, r#"{}"#, MINOR, "`*` is now allowed"),
        (
            r#"{"additionalProperties":{"type":"string"}}"#,
            r#"{"additionalProperties":{"type":["string","null"]}}"#,
            MINOR,
            "`*` changed its type",
        ),
        (r#"{}"#, r#"{"additionalProperties":true}"#, None, ""),
        (r#"{}"#, r#"{"patternProperties":{"^x":{"type":"string"}}}"#, MAJOR, "are now described"),
        (
            r#"{"patternProperties":{"^x":{"type":"string"}}}"#,
            r#"{}"#,
            MINOR,
            "no longer described",
        ),
        (
            r#"{"patternProperties":{"^x":{"type":"string"}}}"#,
            r#"{"patternProperties":{"^x":{"type":"integer"}}}"#,
            MAJOR,
            "changed its type",
        ),
        (r#"{}"#, r#"{"propertyNames":{"maxLength":3}}"#, MAJOR, "`maxLength` 3"),
        (
            r#"{"propertyNames":{"maxLength":3}}"#,
            r#"{"propertyNames":{"maxLength":4}}"#,
            MINOR,
            "instead of 3",
        ),
        (
            r#"{"dependentRequired":{"a":["b"]}}"#,
            r#"{"dependentRequired":{"a":["b","c"]}}"#,
            MAJOR,
            "dependentRequired",
        ),
        (r#"{"dependentRequired":{"a":["b"]}}"#, r#"{}"#, MINOR, "dependentRequired"),
        (r#"{"dependentSchemas":{"a":{"required":["b"]}}}"#, r#"{}"#, MINOR, "no longer required"),
        (r#"{}"#, r#"{"dependentSchemas":{"a":{"required":["b"]}}}"#, MAJOR, "now required"),
        (r#"{"minProperties":1}"#, r#"{"minProperties":2}"#, MAJOR, "minProperties"),
        (r#"{"maxProperties":1}"#, r#"{"maxProperties":2}"#, MINOR, "maxProperties"),
        (r#"{}"#, r#"{"type":"object"}"#, None, ""),
        (r#"{}"#, r#"{"minLength":3,"type":["object","string"]}"#, None, ""),
        (r#"true"#, r#"{}"#, None, ""),
        (r#"{}"#, r#"false"#, MAJOR, "the argument object is no longer allowed"),
        (r#"{"required":["b","a"]}"#, r#"{"required":["a","b","a"]}"#, None, ""),
        (r#"{"required":"a"}"#, r#"{"required":"b"}"#, MAJOR, "cannot be judged"),
        (r#"{"properties":[1]}"#, r#"{"properties":[2]}"#, MAJOR, "cannot be judged"),
        (r#"[]"#, r#"7"#, MAJOR, "cannot be judged"),
        (
            r#"{"required":["a"],"properties":{"a":{"default":1}}}"#,
            r#"{"required":["a"],"properties":{"a":{}}}"#,
            MAJOR,
            "lost its default",
        ),
    ]);
}

#[test]
fn types_and_values() {
    parameter(&[
        (
            r#"{"type":"string"}"#,
            r#"{"type":"integer"}"#,
            MAJOR,
            "`a` changed its type from string to integer",
        ),
        (r#"{"type":"integer"}"#, r#"{"type":"number"}"#, MINOR, "from integer to number"),
        (r#"{"type":"number"}"#, r#"{"type":"integer"}"#, MAJOR, "less is accepted"),
        (r#"{"type":"string"}"#, r#"{"type":["string","null"]}"#, MINOR, "null or string"),
        (r#"{"type":["string","null"]}"#, r#"{"type":"string"}"#, MAJOR, "to string"),
        (r#"{"type":["string"]}"#, r#"{"type":"string"}"#, None, ""),
        (r#"{"type":["number","integer"]}"#, r#"{"type":"number"}"#, None, ""),
        (r#"{"type":"string"}"#, r#"{}"#, MINOR, "to anything"),
        (r#"{}"#, r#"{"type":"string"}"#, MAJOR, "from anything"),
        (r#"{"type":"strong"}"#, r#"{"type":"string"}"#, MAJOR, "cannot be judged"),
        (r#"true"#, r#"false"#, MAJOR, "no longer allowed"),
        (r#"false"#, r#"{"type":"string"}"#, MINOR, "is now allowed"),
        (r#"{"enum":["x","y"]}"#, r#"{"enum":["x"]}"#, MAJOR, "may no longer be \"y\""),
        (r#"{"enum":["x"]}"#, r#"{"enum":["y","x"]}"#, MINOR, "may now also be \"y\""),
        (r#"{"enum":["x","y"]}"#, r#"{"enum":["y","x"]}"#, None, ""),
        (r#"{"enum":["x"]}"#, r#"{"enum":["y"]}"#, MAJOR, "\"y\" instead of \"x\""),
        (r#"{"enum":["x"]}"#, r#"{"const":"x"}"#, None, ""),
        (r#"{"enum":[1,2]}"#, r#"{"enum":[1.0,2]}"#, None, ""),
        (r#"{"const":1}"#, r#"{"const":2}"#, MAJOR, "2 instead of 1"),
        (r#"{"const":"x"}"#, r#"{"type":"string"}"#, MINOR, "no longer limited"),
        (r#"{"type":"string"}"#, r#"{"type":"string","enum":["x"]}"#, MAJOR, "may now only be"),
        (r#"{"type":"string","enum":["x",1]}"#, r#"{"const":"x"}"#, None, ""),
        (r#"{"enum":"x"}"#, r#"{"enum":"y"}"#, MAJOR, "cannot be judged"),
        (r#"{"format":"uri"}"#, r#"{"format":"email"}"#, MAJOR, "has `format`"),
        (r#"{"format":"uri"}"#, r#"{}"#, MINOR, "lost `format`"),
        (r#"{"type":"string"}"#, r#"{"type":"string","pattern":"^a"}"#, MAJOR, "got `pattern`"),
        (r#"{"type":"string","pattern":"^a"}"#, r#"{"type":"string"}"#, MINOR, "lost `pattern`"),
        (r#"{"pattern":"^a"}"#, r#"{"pattern":"^b"}"#, MAJOR, "may not fit now"),
        (r#"{"type":"integer"}"#, r#"{"type":["integer","string"],"minLength":1}"#, MINOR, "type"),
    ]);
}

#[test]
fn bounds() {
    parameter(&[
        (r#"{"minimum":1}"#, r#"{"minimum":2}"#, MAJOR, "has `minimum` 2 instead of 1"),
        (r#"{"minimum":2}"#, r#"{"minimum":1}"#, MINOR, "more is accepted"),
        (r#"{"minimum":1}"#, r#"{"minimum":1.0}"#, None, ""),
        (r#"{"minimum":0}"#, r#"{"exclusiveMinimum":0}"#, MAJOR, "`exclusiveMinimum`"),
        (r#"{"exclusiveMinimum":0}"#, r#"{"minimum":0}"#, MINOR, "`minimum`"),
        (r#"{"minimum":0,"exclusiveMinimum":3}"#, r#"{"exclusiveMinimum":3}"#, None, ""),
        (r#"{"maximum":5}"#, r#"{"maximum":4}"#, MAJOR, "`maximum`"),
        (r#"{"maximum":5}"#, r#"{"exclusiveMaximum":5}"#, MAJOR, "`exclusiveMaximum`"),
        (r#"{"exclusiveMaximum":5}"#, r#"{"maximum":5.5}"#, MINOR, "`maximum`"),
        (r#"{"maximum":9007199254740993}"#, r#"{"maximum":9007199254740992}"#, MAJOR, "`maximum`"),
        (r#"{"maximum":5}"#, r#"{"maximum":"5"}"#, MAJOR, "cannot be judged"),
        (r#"{}"#, r#"{"multipleOf":2}"#, MAJOR, "got `multipleOf`"),
        (r#"{"multipleOf":6}"#, r#"{"multipleOf":2}"#, MINOR, "`multipleOf`"),
        (r#"{"multipleOf":2}"#, r#"{"multipleOf":6}"#, MAJOR, "`multipleOf`"),
        (r#"{"multipleOf":0.3}"#, r#"{"multipleOf":0.1}"#, MAJOR, "`multipleOf`"),
        (r#"{}"#, r#"{"minLength":0}"#, None, ""),
        (r#"{}"#, r#"{"minLength":1}"#, MAJOR, "got `minLength` 1"),
        (r#"{"maxLength":5}"#, r#"{"maxLength":9}"#, MINOR, "`maxLength`"),
        (r#"{"maxLength":5}"#, r#"{}"#, MINOR, "lost `maxLength`"),
        (r#"{"type":"integer","maxLength":5}"#, r#"{"type":"integer"}"#, None, ""),
        (r#"{"minItems":2}"#, r#"{"minItems":1}"#, MINOR, "`minItems`"),
        (r#"{"maxItems":2}"#, r#"{"maxItems":1}"#, MAJOR, "`maxItems`"),
        (r#"{}"#, r#"{"uniqueItems":true}"#, MAJOR, "`uniqueItems`"),
        (r#"{"uniqueItems":true}"#, r#"{"uniqueItems":false}"#, MINOR, "`uniqueItems`"),
        (r#"{"uniqueItems":false}"#, r#"{}"#, None, ""),
    ]);
}

#[test]
fn items() {
    parameter(&[
        (r#"{"items":{"type":"string"}}"#, r#"{"items":{"type":"integer"}}"#, MAJOR, "`a[]`"),
        (r#"{"items":{"type":"integer"}}"#, r#"{"items":{"type":"number"}}"#, MINOR, "`a[]`"),
        (r#"{"prefixItems":[{}]}"#, r#"{"prefixItems":[{"type":"null"}]}"#, MAJOR, "`a[0]`"),
        (
            r#"{"prefixItems":[{}],"items":false}"#,
            r#"{"prefixItems":[{},{}],"items":false}"#,
            MINOR,
            "`a[1]` is now allowed",
        ),
        (
            r#"{"items":{"type":"null"}}"#,
            r#"{"prefixItems":[{"type":"null"}],"items":{"type":"null"}}"#,
            None,
            "",
        ),
        (r#"{"contains":{"type":"null"}}"#, r#"{}"#, MINOR, "lost `contains`"),
        (r#"{}"#, r#"{"contains":{"type":"null"}}"#, MAJOR, "got `contains`"),
        (r#"{"contains":{}}"#, r#"{"contains":{},"minContains":2}"#, MAJOR, "`minContains`"),
        (r#"{"contains":{}}"#, r#"{"contains":{},"minContains":1}"#, None, ""),
        (
            r#"{"contains":{"const":1},"maxContains":1}"#,
            r#"{"contains":{"type":"integer"},"maxContains":1}"#,
            MAJOR,
            "`contains`",
        ),
        (r#"{"items":[{}]}"#, r#"{"items":[{"type":"null"}]}"#, MAJOR, "cannot be judged"),
    ]);
    arguments(&[(
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{"type":"integer"}]}}}"#,
        r#"{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{"type":"number"}]}}}"#,
        MINOR,
        "`a[0]`",
    )]);
}

#[test]
fn notes_and_unknown_keywords() {
    parameter(&[
        (
            r#"{"description":"x"}"#,
            r#"{"description":"y"}"#,
            PATCH,
            "`description` of the parameter `a`",
        ),
        (r#"{"title":"x"}"#, r#"{}"#, PATCH, "`title`"),
        (r#"{"examples":[1]}"#, r#"{"examples":[2]}"#, PATCH, "`examples`"),
        (r#"{"$comment":"x"}"#, r#"{}"#, PATCH, "texts"),
        (r#"{"x-order":1}"#, r#"{"x-order":2}"#, PATCH, "`x-order`"),
        (r#"{"default":1}"#, r#"{"default":2}"#, MINOR, "from 1 to 2: calls still fit"),
        (r#"{"default":1}"#, r#"{}"#, MINOR, "from 1 to none"),
        (r#"{}"#, r#"{"default":null}"#, MINOR, "from none to null"),
        (r#"{"default":1}"#, r#"{"default":1.0}"#, None, ""),
        (r#"{"x-mcp-header":"A"}"#, r#"{"x-mcp-header":"B"}"#, MAJOR, "in another header"),
        (r#"{}"#, r#"{"x-mcp-header":"B"}"#, MAJOR, "in a header"),
        (r#"{"x-mcp-header":"A"}"#, r#"{}"#, MINOR, "need no longer"),
        (r#"{"novelty":1}"#, r#"{"novelty":2}"#, MAJOR, "cannot be judged"),
        (r#"{}"#, r#"{"contentEncoding":"base64"}"#, MAJOR, "cannot be judged"),
    ]);
    arguments(&[
        (r#"{"$schema":"https://json-schema.org/draft/2020-12/schema"}"#, r#"{}"#, None, ""),
        (r#"{"$schema":"http://json-schema.org/draft-07/schema#"}"#, r#"{}"#, MAJOR, "`$schema`"),
        (r#"{"$schema":"urn:x"}"#, r#"{"$schema":"urn:x","title":"x"}"#, PATCH, ""),
        (r#"{"$schema":"urn:x"}"#, r#"{"$schema":"urn:x","required":[]}"#, MAJOR, "`$schema`"),
        (
            r#"{"properties":{"title":{"type":"string"}}}"#,
            r#"{"properties":{"title":{"type":"null"}}}"#,
            MAJOR,
            "`title` changed its type",
        ),
    ]);
}

#[test]
fn places() {
    let cases = [
        (
            r#"{"properties":{"a":{"type":"string"}}}"#,
            r#"{"properties":{"a":{"type":"null"}}}"#,
            "inputSchema.properties.a.type",
        ),
        (
            r#"{"properties":{"a":{"items":{"minimum":1}}}}"#,
            r#"{"properties":{"a":{"items":{"minimum":2}}}}"#,
            "inputSchema.properties.a.items.minimum",
        ),
        (r#"{}"#, r#"{"required":["a"]}"#, "inputSchema.required"),
        (
            r#"{"properties":{"a":{"anyOf":[{"minimum":1},{"type":"string"}]}}}"#,
            r#"{"properties":{"a":{"anyOf":[{"minimum":2},{"type":"string"}]}}}"#,
            "inputSchema.properties.a.anyOf.0.minimum",
        ),
    ];
    for (old, new, place) in cases {
        assert_eq!(of_input(old, new)[0].place, place, "{old} {new}");
    }
}
