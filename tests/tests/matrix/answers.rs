//! What the client says of itself in each revision, and what it answers when it is asked.

use gantry::Revision;
use serde_json::{Map, Value, json};

/// The prefix of the protocol's own `_meta` keys.
const PREFIX: &str = "io.modelcontextprotocol/";

/// Everything that a client of that revision can declare.
pub(crate) fn capabilities(revision: Revision) -> Value {
    let mut capabilities = json!({"roots": {}, "sampling": {}});
    if revision.has_elicitation() {
        capabilities["elicitation"] = json!({});
    }
    if revision.has_rich_elicitation() {
        capabilities["elicitation"] = json!({"form": {}, "url": {}});
    }
    if revision.has_sampling_tools() {
        capabilities["sampling"] = json!({"tools": {}});
    }
    capabilities
}

/// What a request that stands alone says of its client.
pub(crate) fn meta(revision: Revision) -> Map<String, Value> {
    let members = [
        ("protocolVersion", json!(revision.as_str())),
        ("clientCapabilities", capabilities(revision)),
        ("clientInfo", json!({"name": "matrix", "version": "1"})),
        ("logLevel", json!("debug")),
    ];
    members.map(|(key, value)| (format!("{PREFIX}{key}"), value)).into_iter().collect()
}

/// The headers of a message.
pub(crate) fn headers(
    revision: Revision,
    session: Option<&str>,
    message: &Value,
) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    let mut add = |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
    if let Some(session) = session {
        add("Mcp-Session-Id", session);
    }
    let opened = session.is_some() || revision.is_stateless();
    if opened && revision >= Revision::V2025_06_18 {
        add("MCP-Protocol-Version", revision.as_str());
    }
    if revision.is_stateless() {
        let method = message["method"].as_str().unwrap_or_default();
        add("Mcp-Method", method);
        let member = if method == "resources/read" { "uri" } else { "name" };
        if let ("tools/call" | "prompts/get" | "resources/read", Some(name)) =
            (method, message["params"][member].as_str())
        {
            add("Mcp-Name", name);
        }
    }
    headers
}

/// The answer to a question.
pub(crate) fn to(method: &str, params: &Value) -> Value {
    match method {
        "elicitation/create" if params["mode"] == "url" => json!({"action": "accept"}),
        "elicitation/create" => json!({"action": "accept", "content": filled_in(params)}),
        "sampling/createMessage" => message(params),
        "roots/list" => json!({"roots": [{"uri": "file:///work", "name": "work"}]}),
        _ => json!({}),
    }
}

fn filled_in(params: &Value) -> Value {
    match params["requestedSchema"]["properties"].get("colour") {
        Some(_) => json!({"colour": "blue"}),
        None => json!({"name": "Ada"}),
    }
}

fn message(params: &Value) -> Value {
    let (content, reason) = match params.get("tools") {
        Some(_) => {
            let input = json!({"city": "Paris"});
            let used = json!({"type": "tool_use", "id": "1", "name": "weather", "input": input});
            (json!([used]), "toolUse")
        }
        None => (json!({"type": "text", "text": "hello"}), "endTurn"),
    };
    json!({"role": "assistant", "model": "none", "content": content, "stopReason": reason})
}
