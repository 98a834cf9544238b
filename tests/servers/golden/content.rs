//! What can be read: the note, the items and the prompt.

use gantry::{Failure, Prompt, PromptMessage, Resource, ResourceTemplate, ServerBuilder};

/// The resource that clients watch.
pub(crate) const NOTE: &str = "peer://note";
/// What the prompt's argument is completed to.
const NAMES: [&str; 3] = ["ada", "alan", "grace"];

/// Adds them.
pub(crate) fn register(server: ServerBuilder) -> ServerBuilder {
    server
        .resource(
            Resource::new(NOTE, "note")
                .mime_type("text/plain")
                .read(async |_, _| Ok::<_, Failure>("a note")),
        )
        .template(ResourceTemplate::new("peer://item/{id}", "item").mime_type("text/plain").read(
            async |_, variables, _| {
                let id = variables.text("id").unwrap_or_default();
                Ok::<_, Failure>(format!("item {id}"))
            },
        ))
        .prompt(
            Prompt::new("greet")
                .description("Greets someone.")
                .required("name", "Whom to greet.")
                .complete("name", |typed| {
                    let fitting = NAMES.iter().filter(|name| name.starts_with(typed));
                    fitting.map(|&name| name.to_owned()).collect()
                })
                .render(async |given, _| {
                    Ok::<_, Failure>(PromptMessage::user(format!("Hello, {}.", given["name"])))
                }),
        )
}
