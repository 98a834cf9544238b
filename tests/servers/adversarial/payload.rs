//! What the server says, as texts.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::attack::Attack;

/// How often tools were listed, so that each list differs from the one before.
static LISTED: AtomicU64 = AtomicU64::new(0);

/// The answer to a message that is no attack; none if it wants none.
pub(crate) fn answer(attack: Attack, message: &Value) -> Option<String> {
    let id = message.get("id")?;
    let result = match message["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": revision(attack, &message["params"]["protocolVersion"]),
            "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "adversarial", "version": "1"}
        }),
        "tools/list" => list(attack, &message["params"]["cursor"]),
        "tools/call" => json!({"content": [{"type": "text", "text": "well"}]}),
        "ping" => json!({}),
        method => {
            let error = json!({"code": -32601, "message": format!("{method} is not known")});
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
        }
    };
    Some(response(id, &result))
}

/// Only one revision has batches.
fn revision(attack: Attack, asked: &Value) -> Value {
    if attack == Attack::Batch { json!("2025-03-26") } else { asked.clone() }
}

fn response(id: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

fn list(attack: Attack, cursor: &Value) -> Value {
    let listed = LISTED.fetch_add(1, Ordering::Relaxed);
    let mut tools = vec![json!({"name": "odd", "inputSchema": {"type": "object"}})];
    match attack {
        Attack::GiantList => {
            let page: u64 = cursor.as_str().and_then(|it| it.parse().ok()).unwrap_or(0);
            let text = "x".repeat(1 << 20);
            tools.extend((0..25).map(|number| {
                json!({"name": format!("t{page}-{number}"), "description": text,
                    "inputSchema": {"type": "object"}})
            }));
            return json!({"tools": tools, "nextCursor": (page + 1).to_string()});
        }
        Attack::SchemaBombs => tools.extend((0..50).map(schema_bomb)),
        Attack::ResultBomb => {
            let items = json!({"pattern": "^(a+)+(?!b)$"});
            tools[0]["outputSchema"] = json!({"type": "object", "properties": {
                "items": {"type": "array", "items": items}}});
        }
        Attack::ListChanged => {
            tools.extend((0..200).map(|number| {
                json!({"name": format!("t{listed}-{number}"), "inputSchema": {"type": "object"}})
            }));
        }
        _ => {}
    }
    json!({"tools": tools})
}

/// Bytes of a message that is within the limits.
const LARGE: usize = 24 << 20;

/// A schema each of whose definitions refers to the next one many times over.
fn schema_bomb(number: usize) -> Value {
    let mut definitions = json!({"d40": {"type": "string"}});
    for level in 0..40 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        definitions[format!("d{level}")] = json!({"anyOf": vec![next; 10]});
    }
    json!({"name": format!("bomb-{number}"), "inputSchema": {"type": "object",
        "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions}})
}

/// The one message of an attack that has one; none if the attack is of another kind.
pub(crate) fn message(attack: Attack, id: &Value) -> Option<String> {
    Some(match attack {
        Attack::HugeMessage => {
            let text = "x".repeat(64 << 20);
            response(id, &json!({"content": [{"type": "text", "text": text}]}))
        }
        Attack::LargeText => {
            let text = "\\n\\\"x".repeat(LARGE / 5);
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
            )
        }
        Attack::LargeValues => {
            let values = "{},".repeat(LARGE / 3);
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"structuredContent":{{"all":[{values}0]}}}}}}"#
            )
        }
        Attack::Deep => {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{}", "[".repeat(1 << 20))
        }
        Attack::Batch => {
            let elements = vec!["{\"id\":1}"; (1 << 20) / 9];
            format!("[{}]", elements.join(","))
        }
        Attack::ResultBomb => {
            let items = vec!["a".repeat(39) + "!"; 4000];
            response(id, &json!({"content": [], "structuredContent": {"items": items}}))
        }
        _ => return None,
    })
}

/// What an attack says again and again; none if it is of another kind.
pub(crate) fn repeated(attack: Attack, id: &Value) -> Option<String> {
    let notification = |method: &str| json!({"jsonrpc": "2.0", "method": method, "params": {}});
    Some(match attack {
        Attack::ForeignIds => response(&json!(4_000_000_000_u64), &json!({})),
        Attack::Duplicates => response(id, &json!({"content": []})),
        Attack::Notifications | Attack::EndlessEvents => {
            let params = json!({"level": "error", "data": "noise ".repeat(20)});
            json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params})
                .to_string()
        }
        Attack::ListChanged => notification("notifications/tools/list_changed").to_string(),
        Attack::Questions => {
            json!({"jsonrpc": "2.0", "id": "q", "method": "roots/list"}).to_string()
        }
        _ => return None,
    })
}
