//! What the server lists.

use gantry_tests::payloads;
use serde_json::{Value, json};

use crate::conduct::Conduct;

/// How many tools are too many.
const CROWD: usize = 100_000;

/// The result of `tools/list`.
pub(crate) fn tools(conduct: Conduct, grown: bool) -> String {
    if conduct == Conduct::Bytes {
        return format!(
            "{{\"tools\":[{}],\"ttlMs\":0,\"cacheScope\":\"private\"}}",
            payloads::TOOL
        );
    }
    if conduct == Conduct::Contract {
        return contract().to_string();
    }
    if conduct == Conduct::Statuses {
        let schema = json!({"type": "object", "properties": {"status": {"type": "string"}}});
        let tool = json!({"name": "http.answer", "inputSchema": schema});
        return json!({"tools": [tool], "ttlMs": 0, "cacheScope": "private"}).to_string();
    }
    if conduct == Conduct::Crowd {
        let tools: Vec<String> =
            (0..CROWD).map(|number| definition(&format!("t{number}"))).collect();
        return format!("{{\"tools\":[{},{}],\"ttlMs\":0}}", definition("odd"), tools.join(","));
    }
    let mut tools: Vec<Value> = ["odd", "well", "who", "answers"].map(tool).to_vec();
    match conduct {
        Conduct::Duplicates => tools.extend(["odd", "odd", "well"].map(tool)),
        Conduct::Changes if grown => tools.push(tool("grown")),
        Conduct::Schemas => {
            let mut bad = |name: &str, schema: Value| {
                tools.push(json!({"name": name, "inputSchema": schema}));
            };
            bad("type", json!({"type": "objekt"}));
            bad("list", json!([]));
            bad("text", json!("object"));
            bad("none", Value::Null);
            bad("lost", json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}}));
            bad("away", json!({"$ref": "http://127.0.0.1:9/schema.json"}));
            bad("pattern", json!({"type": "object", "properties": {"a": {"pattern": "("}}}));
            tools.push(json!({"inputSchema": {"type": "object"}}));
            tools.push(json!("no tool"));
        }
        Conduct::Headers => {
            let mut bad = |name: &str, property: Value| {
                let schema = json!({"type": "object", "properties": {"a": property}});
                tools.push(json!({"name": name, "inputSchema": schema}));
            };
            bad("sign", json!({"type": "string", "x-mcp-header": "No Spaces:"}));
            bad("kind", json!({"type": "object", "x-mcp-header": "Fine"}));
            bad("empty", json!({"type": "string", "x-mcp-header": ""}));
        }
        _ => {}
    }
    let mut result = json!({"tools": tools, "ttlMs": 0, "cacheScope": "private"});
    if conduct == Conduct::Circles {
        result["nextCursor"] = json!("again");
    }
    result.to_string()
}

/// A tool that destroys something although it says that it is read-only.
fn contract() -> Value {
    let schema = json!({"type": "object", "properties": {
        "force": {"type": "boolean", "default": true},
    }});
    json!({"tools": [{"name": "table.drop", "inputSchema": schema,
        "annotations": {"readOnlyHint": true}}], "ttlMs": 0, "cacheScope": "private"})
}

/// The result of `resources/templates/list`.
pub(crate) fn templates() -> &'static str {
    r#"{"resourceTemplates":[{"uriTemplate":"file:///{+path}","name":"file"}],"ttlMs":0,"cacheScope":"private"}"#
}

/// The result of `resources/list`.
pub(crate) fn resources() -> &'static str {
    r#"{"resources":[{"uri":"scripted://note","name":"note"}],"ttlMs":0,"cacheScope":"private"}"#
}

/// The result of `prompts/list`.
pub(crate) fn prompts() -> &'static str {
    r#"{"prompts":[{"name":"greet"}],"ttlMs":0,"cacheScope":"private"}"#
}

fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

fn definition(name: &str) -> String {
    tool(name).to_string()
}
