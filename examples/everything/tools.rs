//! Tools that answer on their own: every kind of content, structured results, errors, progress,
//! log messages and special schemas.

use std::time::Duration;

use gantry::{
    Content, Context, Failure, Json, Level, ResourceContents, ServerBuilder, Tool, ToolResult,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::samples;

/// Time between two notices of one call.
const PAUSE: Duration = Duration::from_millis(50);

/// No arguments.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

/// Adds the tools.
pub(crate) fn register(server: ServerBuilder) -> ServerBuilder {
    let server = contents(server);
    server
        .tool(Tool::new("echo", "Says what it was told.").read_only().run(echo))
        .tool(Tool::new("add", "Adds two numbers.").read_only().run(add))
        .tool(Tool::new("test_error_handling", "Always fails.").run(fail))
        .tool(Tool::new("test_tool_with_progress", "Reports progress three times.").run(progress))
        .tool(Tool::new("test_tool_with_logging", "Logs three messages.").run(log))
        .tool(Tool::new("test_logging_tool", "Logs three messages to who wants them.").run(log))
        .tool(
            Tool::new("json_schema_2020_12_tool", "Has a schema with many keywords.")
                .input_schema(many_keywords())
                .run(show),
        )
        .tool(
            Tool::new("test_custom_header", "Has an argument that clients repeat in a header.")
                .input_schema(json!({
                    "type": "object",
                    "properties": {"value": {"type": "string", "x-mcp-header": "Value"}}
                }))
                .run(show),
        )
}

fn contents(server: ServerBuilder) -> ServerBuilder {
    server
        .tool(Tool::new("test_simple_text", "Gives a text.").run(text))
        .tool(Tool::new("test_image_content", "Gives an image.").run(image))
        .tool(Tool::new("test_audio_content", "Gives a sound.").run(audio))
        .tool(Tool::new("test_embedded_resource", "Gives a resource.").run(embedded))
        .tool(Tool::new("test_multiple_content_types", "Gives several kinds.").run(mixed))
}

#[derive(Deserialize, JsonSchema)]
struct Echo {
    /// What to say.
    text: String,
}

async fn echo(echo: Echo, _: Context) -> Result<String, Failure> {
    Ok(echo.text)
}

#[derive(Deserialize, JsonSchema)]
struct Summands {
    a: f64,
    b: f64,
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: f64,
}

async fn add(summands: Summands, _: Context) -> Result<Json<Sum>, Failure> {
    Ok(Json(Sum { sum: summands.a + summands.b }))
}

async fn text(_: Nothing, _: Context) -> Result<&'static str, Failure> {
    Ok("This is a simple text response for testing.")
}

async fn image(_: Nothing, _: Context) -> Result<Content, Failure> {
    Ok(samples::pixel())
}

async fn audio(_: Nothing, _: Context) -> Result<Content, Failure> {
    Ok(samples::silence())
}

async fn embedded(_: Nothing, _: Context) -> Result<Content, Failure> {
    let text = ResourceContents::text("This is an embedded resource content.");
    Ok(Content::resource(&text.mime_type("text/plain"), "test://embedded-resource"))
}

async fn mixed(_: Nothing, _: Context) -> Result<ToolResult, Failure> {
    let data = ResourceContents::text(r#"{"test":"data","value":123}"#);
    let data = data.mime_type("application/json");
    Ok(ToolResult::text("Multiple content types test:")
        .with(samples::pixel())
        .with(Content::resource(&data, "test://mixed-content-resource")))
}

async fn fail(_: Nothing, _: Context) -> Result<ToolResult, Failure> {
    Ok(ToolResult::text("This tool intentionally returns an error for testing").error())
}

async fn progress(_: Nothing, context: Context) -> Result<&'static str, Failure> {
    context.progress(0.0, Some(100.0), Some("started"));
    sleep(PAUSE).await;
    context.progress(50.0, Some(100.0), Some("halfway"));
    sleep(PAUSE).await;
    context.progress(100.0, Some(100.0), Some("finished"));
    Ok("Progress was reported three times.")
}

async fn log(_: Nothing, context: Context) -> Result<&'static str, Failure> {
    context.log(Level::Info, "Tool execution started").await;
    sleep(PAUSE).await;
    context.log(Level::Info, "Tool processing data").await;
    sleep(PAUSE).await;
    context.log(Level::Info, "Tool execution completed").await;
    Ok("Three messages were logged.")
}

async fn show(arguments: Value, _: Context) -> Result<String, Failure> {
    Ok(format!("The arguments were {arguments}"))
}

/// A schema whose keywords must reach the client as they are.
fn many_keywords() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}}
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"}
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {
            "properties": {"contactMethod": {"const": "phone"}},
            "required": ["contactMethod"]
        },
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false
    })
}
