//! Further tools, all alike and as large as tools usually are, to see how a long list is served.

use gantry::{Context, Failure, ServerBuilder, Tool};
use serde_json::{Value, json};

/// Adds `extra_0001` and so on.
pub(crate) fn register(server: ServerBuilder, count: usize) -> ServerBuilder {
    (1..=count).fold(server, |server, number| server.tool(extra(number)))
}

fn extra(number: usize) -> Tool {
    let description = format!("Searches collection {number} and gives the entries that fit best.");
    Tool::new(format!("extra_{number:04}"), description)
        .input_schema(json!({
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for."},
                "limit": {"type": "integer", "minimum": 1}
            },
            "required": ["query"]
        }))
        .run(search)
}

async fn search(_: Value, _: Context) -> Result<&'static str, Failure> {
    Ok("nothing found")
}
