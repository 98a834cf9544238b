//! The example tools that a gateway without configuration serves, so that there is something to
//! try at once.

use std::time::{SystemTime, UNIX_EPOCH};

use gantry::{
    Context, Failure, Json, Prompt, PromptMessage, Resource, Server, ServerBuilder, Tool,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A server with the example tools.
pub(crate) fn server() -> ServerBuilder {
    Server::new("gantry", env!("CARGO_PKG_VERSION"))
        .info("title", "Gantry")
        .instructions("Example tools, served because Gantry has no configuration yet.")
        .tool(Tool::new("echo", "Gives back the text it is given.").read_only().run(echo))
        .tool(
            Tool::new("word_count", "Counts the lines, words and characters of a text.")
                .read_only()
                .run(word_count),
        )
        .tool(Tool::new("clock", "Tells the time, in seconds since 1970.").read_only().run(clock))
        .tool(
            Tool::new("countdown", "Counts down, reporting progress once for each step.")
                .read_only()
                .long_running()
                .run(countdown),
        )
        .resource(
            Resource::new("gantry://welcome", "welcome")
                .mime_type("text/markdown")
                .description("What to do next.")
                .read(async |_, _| Ok::<_, Failure>(WELCOME)),
        )
        .prompt(
            Prompt::new("summarize")
                .description("Asks for a summary of a text.")
                .required("text", "The text.")
                .render(async |arguments, _| {
                    let text = arguments.get("text").map(String::as_str).unwrap_or_default();
                    let ask = format!("Summarize this in three sentences:\n\n{text}");
                    Ok::<_, Failure>(PromptMessage::user(ask))
                }),
        )
}

/// Takes the example tools away, once there are others.
pub(crate) fn remove(server: &Server) {
    let handlers = server.handlers();
    for tool in ["echo", "word_count", "clock", "countdown"] {
        handlers.remove_tool(tool);
    }
    handlers.remove_resource("gantry://welcome");
    handlers.remove_prompt("summarize");
}

const WELCOME: &str = "# Welcome to Gantry\n\nThis server has no tools of yours yet.\n";

#[derive(Deserialize, JsonSchema)]
struct Text {
    /// The text.
    text: String,
}

#[derive(Serialize, JsonSchema)]
struct Count {
    lines: usize,
    words: usize,
    characters: usize,
}

#[derive(Serialize, JsonSchema)]
struct Time {
    unix_seconds: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Deserialize, JsonSchema)]
struct Steps {
    /// How many steps.
    #[schemars(range(min = 1, max = 20))]
    #[serde(default = "three")]
    from: u32,
}

fn three() -> u32 {
    3
}

async fn echo(Text { text }: Text, _: Context) -> Result<String, Failure> {
    Ok(text)
}

async fn word_count(Text { text }: Text, _: Context) -> Result<Json<Count>, Failure> {
    Ok(Json(Count {
        lines: text.lines().count(),
        words: text.split_whitespace().count(),
        characters: text.chars().count(),
    }))
}

async fn clock(Nothing {}: Nothing, _: Context) -> Result<Json<Time>, Failure> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
    Ok(Json(Time { unix_seconds: since.as_secs() }))
}

async fn countdown(Steps { from }: Steps, context: Context) -> Result<String, Failure> {
    for step in 1..=from {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        let left = (from - step).to_string();
        context.progress(step.into(), Some(from.into()), Some(&left));
    }
    Ok("liftoff".to_owned())
}
