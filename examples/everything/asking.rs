//! Tools that ask the client something: its user, its model, or the folders it works in.

use std::time::Duration;

use gantry::{Context, Elicitation, Failure, RawJson, ServerBuilder, Tool};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::tools::Nothing;

/// Adds the tools.
pub(crate) fn register(server: ServerBuilder) -> ServerBuilder {
    server
        .tool(Tool::new("test_sampling", "Asks the client's model.").run(sampling))
        .tool(Tool::new("test_missing_capability", "Asks the client's model.").run(greeting))
        .tool(Tool::new("test_elicitation", "Asks the user for name and address.").run(elicitation))
        .tool(
            Tool::new("test_elicitation_sep1034_defaults", "Asks with values filled in.")
                .run(defaults),
        )
        .tool(Tool::new("test_elicitation_sep1330_enums", "Asks to choose.").run(choices))
        .tool(Tool::new("test_url_elicitation", "Sends the user to a page.").run(page))
        .tool(Tool::new("test_streaming_elicitation", "Reports progress, then asks.").run(stream))
        .tool(Tool::new("test_roots", "Gives the folders the client works in.").run(roots))
}

#[derive(Deserialize, JsonSchema)]
struct Sampling {
    /// What the model is asked.
    prompt: String,
}

async fn sampling(sampling: Sampling, context: Context) -> Result<String, Failure> {
    let answer = context.sample(&question(&sampling.prompt, 100)).await?;
    Ok(format!("LLM response: {}", said(&answer)))
}

async fn greeting(_: Nothing, context: Context) -> Result<String, Failure> {
    let answer = context.sample(&question("Say hello.", 20)).await?;
    Ok(said(&answer))
}

/// The parameters of a request to the client's model.
pub(crate) fn question(text: &str, most_tokens: u32) -> Value {
    json!({
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
        "maxTokens": most_tokens
    })
}

/// The first text that the model said. Clients give one block of content or a list of them.
pub(crate) fn said(answer: &RawJson) -> String {
    let content: Value = answer.get("content").and_then(|it| it.read()).unwrap_or_default();
    let blocks = match content {
        Value::Array(blocks) => blocks,
        block => vec![block],
    };
    blocks.iter().find_map(|block| block["text"].as_str()).unwrap_or_default().to_owned()
}

#[derive(Deserialize, JsonSchema)]
struct Message {
    /// What the user is told.
    message: String,
}

async fn elicitation(message: Message, context: Context) -> Result<String, Failure> {
    let form = json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"}
        },
        "required": ["username", "email"]
    });
    let answer = context.elicit(&message.message, &form).await?;
    Ok(format!("User response: action: {}, content: {}", answer.action, filled_in(&answer)))
}

async fn defaults(_: Nothing, context: Context) -> Result<String, Failure> {
    let form = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Name", "default": "John Doe"},
            "age": {"type": "integer", "description": "Age in years", "default": 30},
            "score": {"type": "number", "description": "Score", "default": 95.5},
            "status": {
                "type": "string",
                "description": "Status",
                "enum": ["active", "inactive", "pending"],
                "default": "active"
            },
            "verified": {"type": "boolean", "description": "Verified", "default": true}
        },
        "required": []
    });
    complete(&context, "Please check what is filled in.", &form).await
}

async fn choices(_: Nothing, context: Context) -> Result<String, Failure> {
    let values = json!(["option1", "option2", "option3"]);
    let titled = |values: [&str; 3]| {
        json!([
            {"const": values[0], "title": "First option"},
            {"const": values[1], "title": "Second option"},
            {"const": values[2], "title": "Third option"}
        ])
    };
    let form = json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": values},
            "titledSingle": {"type": "string", "oneOf": titled(["value1", "value2", "value3"])},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option one", "Option two", "Option three"]
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": values}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled(["value1", "value2", "value3"])}}
        },
        "required": []
    });
    complete(&context, "Please choose.", &form).await
}

async fn complete(context: &Context, message: &str, form: &Value) -> Result<String, Failure> {
    let answer = context.elicit(message, form).await?;
    let (action, content) = (&answer.action, filled_in(&answer));
    Ok(format!("Elicitation completed: action={action}, content={content}"))
}

fn filled_in(answer: &Elicitation) -> RawJson {
    answer.content.clone().unwrap_or(RawJson::EMPTY_OBJECT)
}

async fn page(_: Nothing, context: Context) -> Result<String, Failure> {
    let answer = context.elicit_url("Please confirm.", "https://example.com/confirm").await?;
    Ok(format!("action={}", answer.action))
}

async fn stream(_: Nothing, context: Context) -> Result<String, Failure> {
    context.progress(1.0, Some(2.0), Some("about to ask"));
    sleep(Duration::from_millis(50)).await;
    let form = json!({
        "type": "object",
        "properties": {"answer": {"type": "string"}},
        "required": ["answer"]
    });
    complete(&context, "What is your answer?", &form).await
}

async fn roots(_: Nothing, context: Context) -> Result<String, Failure> {
    let roots = context.roots().await?.get("roots");
    let roots: Vec<Value> = roots.and_then(|it| it.read()).unwrap_or_default();
    let uris: Vec<&str> = roots.iter().filter_map(|root| root["uri"].as_str()).collect();
    Ok(uris.join(","))
}
