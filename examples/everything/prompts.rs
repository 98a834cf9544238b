//! Prompts: plain, with arguments and their completion, with other content, and one that asks.

use std::collections::HashMap;

use gantry::{Content, Context, Failure, Prompt, PromptMessage, ResourceContents, ServerBuilder};

use crate::rounds::fill_in;
use crate::samples;

/// What the first argument is completed to.
const PLACES: [&str; 4] = ["paris", "park", "party", "london"];

/// Adds the prompts.
pub(crate) fn register(server: ServerBuilder) -> ServerBuilder {
    server
        .prompt(
            Prompt::new("test_simple_prompt").description("A prompt without arguments.").render(
                async |_, _| Ok(PromptMessage::user("This is a simple prompt for testing.")),
            ),
        )
        .prompt(
            Prompt::new("test_prompt_with_arguments")
                .description("A prompt with two arguments.")
                .required("arg1", "First argument, completed while it is typed")
                .required("arg2", "Second argument")
                .complete("arg1", places)
                .render(with_arguments),
        )
        .prompt(
            Prompt::new("test_prompt_with_embedded_resource")
                .description("A prompt that brings a resource along.")
                .required("resourceUri", "URI of the resource")
                .render(with_resource),
        )
        .prompt(
            Prompt::new("test_prompt_with_image")
                .description("A prompt that brings an image along.")
                .render(with_image),
        )
        .prompt(
            Prompt::new("test_input_required_result_prompt")
                .description("A prompt that asks the user first.")
                .render(with_question),
        )
}

fn places(typed: &str) -> Vec<String> {
    PLACES.iter().filter(|place| place.starts_with(typed)).map(|&place| place.to_owned()).collect()
}

type Given = HashMap<String, String>;

async fn with_arguments(given: Given, _: Context) -> Result<PromptMessage, Failure> {
    let (first, second) = (&given["arg1"], &given["arg2"]);
    let text = format!("Prompt with arguments: arg1='{first}', arg2='{second}'");
    Ok(PromptMessage::user(text))
}

async fn with_resource(given: Given, _: Context) -> Result<Vec<PromptMessage>, Failure> {
    let text = ResourceContents::text("Embedded resource content for testing.");
    let resource = Content::resource(&text.mime_type("text/plain"), &given["resourceUri"]);
    Ok(vec![
        PromptMessage::user(resource),
        PromptMessage::user("Please process the embedded resource above."),
    ])
}

async fn with_image(_: Given, _: Context) -> Result<Vec<PromptMessage>, Failure> {
    Ok(vec![
        PromptMessage::user(samples::pixel()),
        PromptMessage::user("Please analyze the image above."),
    ])
}

async fn with_question(_: Given, context: Context) -> Result<PromptMessage, Failure> {
    let message = "What context should the prompt use?";
    let context = fill_in(&context, "user_context", message, "context").await?;
    Ok(PromptMessage::user(format!("Use this context: {context}")))
}
