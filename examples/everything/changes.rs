//! Tools that change the server they belong to, so that clients are told.

use gantry::{Context, Failure, Handlers, Prompt, PromptMessage, ServerBuilder, Tool};

use crate::resources::WATCHED;
use crate::tools::Nothing;

/// The tool and the prompt that come and go.
const NAME: &str = "test_triggered";

/// Adds the tools.
pub(crate) fn register(server: ServerBuilder) -> ServerBuilder {
    let trigger = |name: &str, description: &str, change: Change| {
        let handlers = server.handlers();
        Tool::new(name, description).run(move |_: Nothing, _: Context| {
            let handlers = handlers.clone();
            async move { change(&handlers) }
        })
    };
    let tool = trigger("test_trigger_tool_change", "Adds or removes a tool.", toggle_tool);
    let prompt = trigger("test_trigger_prompt_change", "Adds or removes a prompt.", toggle_prompt);
    let update = trigger("test_trigger_resource_update", "Updates a resource.", update);
    server.tool(tool).tool(prompt).tool(update)
}

type Change = fn(&Handlers) -> Result<&'static str, Failure>;

fn toggle_tool(handlers: &Handlers) -> Result<&'static str, Failure> {
    if handlers.remove_tool(NAME) {
        return Ok("A tool was removed.");
    }
    let tool = Tool::new(NAME, "Comes and goes.")
        .run(async |_: Nothing, _| Ok("This tool is here for now."));
    handlers.add_tool(tool)?;
    Ok("A tool was added.")
}

fn toggle_prompt(handlers: &Handlers) -> Result<&'static str, Failure> {
    if handlers.remove_prompt(NAME) {
        return Ok("A prompt was removed.");
    }
    let prompt = Prompt::new(NAME)
        .description("Comes and goes.")
        .render(async |_, _| Ok(PromptMessage::user("This prompt is here for now.")));
    handlers.add_prompt(prompt)?;
    Ok("A prompt was added.")
}

fn update(handlers: &Handlers) -> Result<&'static str, Failure> {
    handlers.resource_updated(WATCHED);
    Ok("The watched resource was updated.")
}
