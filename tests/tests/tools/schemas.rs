//! Schemas from strangers: those that lead out, loop, explode or are none.

use gantry_tests::tool_fixture::{Folder, ToolFixture};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Offers a tool with this input schema that gives its arguments back.
#[expect(clippy::needless_pass_by_value, reason = "cases write their schema in place")]
fn offer(folder: &Folder, name: &str, schema: Value) {
    let members = json!({"inputSchema": schema});
    folder.shell_with(name, "read line; printf '%s' \"$line\"", members);
}

#[tokio::test]
async fn a_bad_schema_is_told_with_its_file() {
    let cases = [
        (json!({"type": "strnig"}), "the input schema is not that of an object"),
        (json!({"type": "object", "properties": 7}), "/properties"),
        (json!({"type": "object", "properties": {}, "required": "a"}), "/required"),
        (json!({"type": "object", "properties": {"a": {"type": "text"}}}), "/properties/a/type"),
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}),
            "regular expression",
        ),
        (json!({"type": "object", "$ref": "#/$defs/none"}), "reference that cannot be resolved"),
        (
            json!({"type": "object", "properties": {}, "$schema": "http://example.com/own"}),
            "dialect",
        ),
        (json!({"type": "object", "properties": {}, "minProperties": -1}), "/minProperties"),
    ];
    let folder = Folder::new();
    for (number, (schema, _)) in cases.iter().enumerate() {
        offer(&folder, &format!("bad.schema{number}"), schema.clone());
    }
    offer(&folder, "good.tool", json!({"type": "object", "properties": {}}));
    let mut tool_fixture = ToolFixture::open(folder).await;
    assert_eq!(tool_fixture.names().await, ["good_tool"]);
    let log = tool_fixture.log();
    for (number, (schema, expected)) in cases.iter().enumerate() {
        let file = format!("bad.schema{number}.tool.json:");
        let line = log.lines().find(|line| line.contains(&file)).unwrap_or_default();
        assert!(line.contains(expected) && line.contains("; "), "{schema}: {line:?} in {log}");
    }
}

/// The schema names a server of the test, which nobody ever asks.
#[tokio::test]
async fn a_reference_out_of_the_schema_is_never_followed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let remote = format!("http://{address}/schema.json");
    let here = format!("file://{}", file!());
    let folder = Folder::new();
    let references = [&remote, "schema.json", &here, "/etc/passwd", "//example.com/a", "urn:a:b"];
    for (number, reference) in references.iter().enumerate() {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": reference}}});
        offer(&folder, &format!("bad.reference{number}"), schema);
    }
    offer(&folder, "bad.identity", json!({"type": "object", "$id": remote, "$ref": "other"}));
    offer(&folder, "bad.dialect", json!({"type": "object", "properties": {}, "$schema": remote}));
    let mut tool_fixture = ToolFixture::open(folder).await;
    assert!(tool_fixture.names().await.is_empty());
    let log = tool_fixture.log();
    for (number, reference) in references.iter().enumerate() {
        let file = format!("bad.reference{number}.tool.json:");
        let line = log.lines().find(|line| line.contains(&file)).unwrap_or_default();
        let expected = "references are never fetched, so put the target under `$defs`";
        assert!(line.contains(expected), "{reference}: {line:?}");
    }
    // The schemas have been dealt with: a connection would be waiting by now.
    listener.into_std().expect("a socket").accept().expect_err("nobody has called");
}

#[tokio::test]
async fn a_schema_may_refer_to_itself() {
    let folder = Folder::new();
    let node = json!({"type": "object", "properties": {
        "value": {"type": "integer"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
    }});
    offer(
        &folder,
        "tree.by_name",
        json!({
            "type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "$defs": {"node": node},
        }),
    );
    offer(
        &folder,
        "tree.by_root",
        json!({
            "type": "object", "properties": {"tree": {"$ref": "#"}, "value": {"type": "integer"}},
        }),
    );
    offer(&folder, "tree.endless", json!({"type": "object", "allOf": [{"$ref": "#"}]}));
    let mut tool_fixture = ToolFixture::open(folder).await;
    let deep = |value: Value| json!({"children": [{"children": [{"value": value}]}]});
    let cases = [
        ("tree.by_name", json!({"tree": deep(json!(1))}), true),
        ("tree.by_name", json!({"tree": deep(json!("one"))}), false),
        ("tree.by_root", json!({"tree": {"tree": {"value": 1}}}), true),
        ("tree.by_root", json!({"tree": {"tree": {"value": "one"}}}), false),
    ];
    for (name, arguments, fits) in cases {
        let result = tool_fixture.call(name, arguments.clone()).await;
        assert_eq!(result["isError"], !fits, "{name} {arguments}: {result}");
        let told = result["content"][0]["text"].as_str().unwrap_or_default();
        assert!(fits || told.contains("value"), "{name}: the place is named: {told}");
    }
    // One that asks for itself without end says nothing; it is answered one way or the other.
    let id = tool_fixture.begin_call("tree.endless", json!({})).await;
    tool_fixture.answer(id).await;
}

/// Patterns that take a careless engine longer than the world lasts. Each call is answered: the
/// tool's own time limit does not cover the check of its arguments.
#[tokio::test]
async fn an_exponential_pattern_takes_no_time() {
    let patterns = ["^(a+)+$", "^(a|aa)+$", "^(.*a){24}$", "^(?=(a+)+$).*b$", "^(a|a)*\\1$"];
    let folder = Folder::new();
    for (number, pattern) in patterns.iter().enumerate() {
        let text = json!({"type": "string", "pattern": pattern});
        let schema = json!({"type": "object", "properties": {"text": text}});
        offer(&folder, &format!("slow.pattern{number}"), schema);
    }
    let mut tool_fixture = ToolFixture::open(folder).await;
    let listed = tool_fixture.names().await;
    assert!(listed.len() >= 3, "patterns without look-around are taken: {listed:?}");
    let arguments = json!({"text": format!("{}!", "a".repeat(50_000))});
    for name in listed {
        let answer = tool_fixture.call(&name, arguments.clone()).await;
        assert_eq!(answer["isError"], true, "{name}: no pattern fits");
    }
}

/// Each definition refers to the next one twice: written out, the schema would not end.
#[tokio::test]
async fn a_schema_that_explodes_is_refused() {
    let mut definitions = json!({"d40": {"type": "string"}});
    for number in 0..40 {
        let next = format!("#/$defs/d{}", number + 1);
        let twice = json!({"anyOf": [{"$ref": &next}, {"items": {"$ref": &next}}]});
        definitions[format!("d{number}")] = twice;
    }
    let folder = Folder::new();
    let properties = json!({"a": {"$ref": "#/$defs/d0"}});
    let schema = json!({"type": "object", "properties": properties, "$defs": definitions});
    offer(&folder, "bad.bomb", schema);
    let mut tool_fixture = ToolFixture::open(folder).await;
    assert!(tool_fixture.names().await.is_empty());
    let log = tool_fixture.log();
    assert!(log.contains("subschemas; split or simplify it"), "{log}");
}
