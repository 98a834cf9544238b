//! Tools that ask their client something.

use gantry::{Context, Failure, RawJson, ServerBuilder, ToolResult};
use serde_json::{Value, json};

use crate::tools::plain;

/// Adds them.
pub(crate) fn register(server: ServerBuilder) -> ServerBuilder {
    server
        .tool(plain("ask_form", "Asks the user for a name.", async |_, context| {
            Ok(ToolResult::text(form(&context).await?))
        }))
        .tool(plain("ask_url", "Sends the user to a page.", async |_, context| {
            let answer = context.elicit_url("Confirm there.", "https://example.com/confirm");
            Ok(ToolResult::text(answer.await?.action))
        }))
        .tool(plain("ask_model", "Asks the client's model.", async |_, context| {
            Ok(ToolResult::text(model(&context).await?))
        }))
        .tool(plain(
            "ask_model_tools",
            "Asks the client's model, which may use a tool.",
            async |_, context| Ok(ToolResult::text(model_with_tools(&context).await?)),
        ))
        .tool(plain("ask_roots", "Asks for the client's folders.", async |_, context| {
            Ok(ToolResult::text(roots(&context).await?))
        }))
        .tool(plain("ask_many", "Asks several things at once.", many))
        .tool(plain("ask_rounds", "Asks one thing after the other.", rounds))
}

/// Older revisions have no forms; then the caller says so.
fn with_form(arguments: &Value) -> bool {
    arguments["form"].as_bool().unwrap_or(true)
}

async fn many(arguments: Value, context: Context) -> Result<ToolResult, Failure> {
    if !with_form(&arguments) {
        let (model, roots) = tokio::join!(model(&context), roots(&context));
        return Ok(ToolResult::text([model?, roots?].join("|")));
    }
    let (form, model, roots) = tokio::join!(form(&context), model(&context), roots(&context));
    Ok(ToolResult::text([form?, model?, roots?].join("|")))
}

async fn rounds(arguments: Value, context: Context) -> Result<ToolResult, Failure> {
    if !with_form(&arguments) {
        let (first, second) = (model(&context).await?, roots(&context).await?);
        return Ok(ToolResult::text(format!("{first} then {second}")));
    }
    let name = fill_in(&context, "Who are you?", "name").await?.1;
    let colour = fill_in(&context, "Which colour?", "colour").await?.1;
    Ok(ToolResult::text(format!("{name} likes {colour}")))
}

async fn form(context: &Context) -> Result<String, Failure> {
    let (action, name) = fill_in(context, "Who are you?", "name").await?;
    Ok(format!("{action} {name}"))
}

/// Asks the user for one text: what was done with the form, and the text.
async fn fill_in(
    context: &Context,
    message: &str,
    field: &str,
) -> Result<(String, String), Failure> {
    let schema = json!({
        "type": "object",
        "properties": {field: {"type": "string"}},
        "required": [field],
    });
    let answer = context.elicit(message, &schema).await?;
    let filled = answer.accepted::<Value>().unwrap_or_default();
    Ok((answer.action, filled[field].as_str().unwrap_or("nobody").to_owned()))
}

fn question() -> Value {
    let content = json!({"type": "text", "text": "Say something."});
    json!({"messages": [{"role": "user", "content": content}], "maxTokens": 50})
}

async fn model(context: &Context) -> Result<String, Failure> {
    let answer = context.sample(&question()).await?;
    let text = blocks(&answer).iter().find_map(|block| block["text"].as_str().map(str::to_owned));
    Ok(text.unwrap_or_default())
}

async fn model_with_tools(context: &Context) -> Result<String, Failure> {
    let mut question = question();
    question["tools"] = json!([{
        "name": "weather",
        "description": "The weather of a city.",
        "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
    }]);
    let answer = context.sample(&question).await?;
    let blocks = blocks(&answer);
    let used = blocks.iter().find(|block| block["type"] == "tool_use");
    let used = used.ok_or_else(|| Failure::new("the model used no tool"))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(format!("{} {}", text(&used["name"]), text(&used["input"]["city"])))
}

/// Clients give one block of content or a list of them.
fn blocks(answer: &RawJson) -> Vec<Value> {
    match answer.get("content").and_then(|it| it.read()).unwrap_or_default() {
        Value::Array(blocks) => blocks,
        block => vec![block],
    }
}

async fn roots(context: &Context) -> Result<String, Failure> {
    let roots = context.roots().await?.get("roots");
    let roots: Vec<Value> = roots.and_then(|it| it.read()).unwrap_or_default();
    let uris: Vec<&str> = roots.iter().filter_map(|root| root["uri"].as_str()).collect();
    Ok(uris.join(","))
}
