//! Tables of values, annotations and arguments.

use super::*;
use crate::json::{JsonLimits, RawJson};

fn json(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), JsonLimits::default()).expect("the table holds valid JSON")
}

#[test]
fn values_are_encoded_only_where_http_demands_it() {
    let cases = [
        ("", ""),
        ("us-west1", "us-west1"),
        ("a b\tc~!", "a b\tc~!"),
        (" a", "=?base64?IGE=?="),
        ("a ", "=?base64?YSA=?="),
        ("\ta", "=?base64?CWE=?="),
        ("a\nb", "=?base64?YQpi?="),
        ("日本", "=?base64?5pel5pys?="),
        ("\u{7f}", "=?base64?fw==?="),
        ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ("=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="),
        ("=?base64?=", "=?base64?="),
        ("=?BASE64?YQ==?=", "=?BASE64?YQ==?="),
        ("=?base64?YQ==", "=?base64?YQ=="),
    ];
    for (text, value) in cases {
        assert_eq!(encode_value(text), value);
        assert_eq!(decode_value(value).expect("what is encoded decodes"), text);
    }
}

#[test]
fn bad_values_are_refused() {
    let bad =
        ["=?base64?YQ?=", "=?base64?YQ=?=", "=?base64?Y Q=?=", "=?base64?_-==?=", "=?base64?!?="];
    for value in bad {
        assert_eq!(decode_value(value), Err(HeaderError::Base64 { value: value.to_owned() }));
    }
    let value = "=?base64?/w==?=".to_owned();
    assert_eq!(decode_value("=?base64?/w==?="), Err(HeaderError::NotUtf8 { value }));
    assert_eq!(decode_value("a\nb"), Err(HeaderError::Character { character: '\n' }));
    assert_eq!(decode_value("ü"), Err(HeaderError::Character { character: 'ü' }));
    assert_eq!(decode_value(" \ta b \t").expect("whitespace around is trimmed"), "a b");
}

#[test]
fn annotations_are_found_through_properties() {
    let schema = json(
        r#"{"type":"object","properties":{
            "region":{"type":"string","x-mcp-header":"Region"},
            "deep":{"type":"object","properties":{"n":{"type":"integer","\u0078-mcp-header":"N"}}},
            "x-mcp-header":{"type":"boolean","x-mcp-header":"b"},
            "data":{"type":"string","default":{"x-mcp-header":"no"},"enum":[{"x-mcp-header":1}]}},
            "$defs":{"x-mcp-header":{"type":"string"}}}"#,
    );
    let found = argument_headers(&schema).expect("the annotations are valid");
    let found: Vec<_> =
        found.iter().map(|it| (it.header.as_str(), it.path.join("/"), it.kind)).collect();
    let expected = [
        ("mcp-param-region", "region".to_owned(), HeaderKind::String),
        ("mcp-param-n", "deep/n".to_owned(), HeaderKind::Integer),
        ("mcp-param-b", "x-mcp-header".to_owned(), HeaderKind::Boolean),
    ];
    assert_eq!(found, expected);
    assert_eq!(argument_headers(&json("{}")), Ok(vec![]));
    assert_eq!(argument_headers(&json("true")), Ok(vec![]));
}

#[test]
fn bad_annotations_are_refused() {
    let property = |schema: &str| format!(r#"{{"properties":{{"a":{schema}}}}}"#);
    let under = |path: &str, close: &str| {
        format!(r#"{{{path}{{"type":"string","x-mcp-header":"h"}}{close}}}"#)
    };
    let cases = [
        (property(r#"{"type":"string","x-mcp-header":""}"#), "is \"\"; expected"),
        (property(r#"{"type":"string","x-mcp-header":"a b"}"#), "is \"a b\"; expected"),
        (property(r#"{"type":"string","x-mcp-header":"ä"}"#), "is \"ä\"; expected"),
        (property(r#"{"type":"string","x-mcp-header":7}"#), "is 7; expected"),
        (property(r#"{"type":"number","x-mcp-header":"h"}"#), "is on a schema"),
        (property(r#"{"type":"array","x-mcp-header":"h"}"#), "is on a schema"),
        (property(r#"{"type":["string","null"],"x-mcp-header":"h"}"#), "is on a schema"),
        (property(r#"{"x-mcp-header":"h"}"#), "is on a schema"),
        (r#"{"type":"string","x-mcp-header":"h"}"#.to_owned(), "is on a schema"),
        (under(r#""items":"#, ""), "under `items`"),
        (under(r#""$defs":{"d":"#, "}"), "under `$defs`"),
        (under(r#""anyOf":["#, "]"), "under `anyOf`"),
        (under(r#""if":{"properties":{"p":"#, "}}"), "under `if`"),
        (under(r#""properties":{"p":{"items":"#, "}}"), "under `items`"),
        (
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"H"},"b":{"type":"string","x-mcp-header":"h"}}}"#.to_owned(),
            "names the header `mcp-param-h` of another",
        ),
    ];
    for (schema, reason) in cases {
        let error = argument_headers(&json(&schema)).expect_err(&schema).to_string();
        assert!(error.contains(reason), "{schema}: {error}");
    }
}

fn param(kind: HeaderKind) -> HeaderParam {
    HeaderParam { header: "mcp-param-h".to_owned(), path: vec!["o".into(), "a".into()], kind }
}

#[test]
fn headers_must_say_what_the_arguments_say() {
    use HeaderKind::{Boolean, Integer, String};
    let big = "9007199254740993";
    let cases = [
        (String, r#""x""#, Some("x"), "ok"),
        (String, r#""x""#, Some("X"), "is `X`; expected `x`"),
        (String, r#""x""#, None, "is missing"),
        (String, r#""ü""#, Some("=?base64?w7w=?="), "ok"),
        (String, r#""ü""#, Some("=?base64?w7w?="), "not valid base64"),
        (String, r#""42""#, Some("42.0"), "expected `42`"),
        (String, "null", None, "ok"),
        (String, "null", Some(""), "is set; expected none"),
        (Integer, "42", Some(" 42 "), "ok"),
        (Integer, "42", Some("42.0"), "ok"),
        (Integer, "42.0", Some("42"), "ok"),
        (Integer, "4.2e1", Some("420E-1"), "ok"),
        (Integer, "0", Some("-0.0"), "ok"),
        (Integer, "100", Some("1e2"), "ok"),
        (Integer, "-42", Some("42"), "expected `-42`"),
        (Integer, "42", Some("+42"), "expected `42`"),
        (Integer, "42", Some("042"), "expected `42`"),
        (Integer, "42", Some("0x2a"), "expected `42`"),
        (Integer, "42", Some("forty-two"), "expected `42`"),
        (Integer, big, Some("9007199254740992"), "expected `9007199254740993`"),
        (Integer, "1e99999999999999999999", Some("1"), "expected `1e9"),
        (Boolean, "true", Some("true"), "ok"),
        (Boolean, "true", Some("TRUE"), "expected `true`"),
        (Boolean, "false", None, "is missing"),
    ];
    for (kind, value, header, expected) in cases {
        let arguments = json(&format!(r#"{{"o":{{"a":{value}}}}}"#));
        let found = check_argument(&param(kind), Some(&arguments), header);
        let found = found.map_or_else(|error| error.to_string(), |()| "ok".to_owned());
        assert!(found.contains(expected), "{value} {header:?}: {found}");
    }
}

#[test]
fn absent_arguments_have_no_header() {
    let text = param(HeaderKind::String);
    for arguments in [None, Some("{}"), Some(r#"{"o":{}}"#), Some(r#"{"o":7}"#), Some("[]")] {
        let arguments = arguments.map(json);
        assert_eq!(check_argument(&text, arguments.as_ref(), None), Ok(()));
        assert!(check_argument(&text, arguments.as_ref(), Some("x")).is_err());
        assert_eq!(argument_value(&text, arguments.as_ref()), None);
    }
}

#[test]
fn a_duplicate_argument_is_refused() {
    for arguments in [r#"{"o":{"a":"x","\u0061":"y"}}"#, r#"{"o":{},"o":{"a":"x"}}"#] {
        let found = check_argument(&param(HeaderKind::String), Some(&json(arguments)), Some("x"));
        assert!(matches!(found, Err(HeaderError::Duplicate { .. })), "{arguments}");
    }
}

#[test]
fn a_client_sends_what_a_server_expects() {
    let cases = [
        (HeaderKind::String, r#""\u00fc""#, "ü"),
        (HeaderKind::Integer, "42.0", "42"),
        (HeaderKind::Integer, "-1.5e3", "-1500"),
        (HeaderKind::Integer, "1.5", "1.5"),
        (HeaderKind::Integer, "1e400", "1e400"),
        (HeaderKind::Boolean, "false", "false"),
    ];
    for (kind, value, expected) in cases {
        let arguments = json(&format!(r#"{{"o":{{"a":{value}}}}}"#));
        let sent = argument_value(&param(kind), Some(&arguments)).expect("the argument is there");
        assert_eq!(sent, expected);
        let header = encode_value(&sent);
        assert_eq!(check_argument(&param(kind), Some(&arguments), Some(&header)), Ok(()));
    }
}

#[test]
fn a_tool_has_only_so_many_headers() {
    let schema = |count: usize, name: &str| {
        let one = |it| format!(r#""{it}":{{"type":"string","x-mcp-header":"h{it}"}}"#);
        let properties: Vec<String> = (0..count).map(one).collect();
        let inner = format!(r#"{{"properties":{{{}}}}}"#, properties.join(","));
        let schema = format!(r#"{{"properties":{{"{name}":{inner}}}}}"#);
        RawJson::parse(schema, JsonLimits::default()).unwrap()
    };
    let long = "n".repeat(10_000);
    for (count, name, is_taken) in [
        (64, "n", true),
        (65, "n", false),
        (15_000, "n", false),
        (6, &*long, true),
        (7, &long, false),
    ] {
        let found = argument_headers(&schema(count, name));
        assert_eq!(found.is_ok(), is_taken, "{count}: {:?}", found.err());
    }
}
