//! Resources: text, bytes, one to watch, and a template.

use gantry::{
    Context, Failure, Resource, ResourceContents, ResourceTemplate, ServerBuilder, Variables,
};
use serde_json::json;

use crate::samples;

/// The resource that clients subscribe to.
pub(crate) const WATCHED: &str = "test://watched-resource";

/// Adds the resources.
pub(crate) fn register(server: ServerBuilder) -> ServerBuilder {
    server
        .resource(
            Resource::new("test://static-text", "static-text")
                .description("A text that never changes.")
                .mime_type("text/plain")
                .read(async |_, _| Ok("This is the content of the static text resource.")),
        )
        .resource(
            Resource::new("test://static-binary", "static-binary")
                .description("An image that never changes.")
                .mime_type("image/png")
                .read(async |_, _| Ok(ResourceContents::blob(samples::PIXEL))),
        )
        .resource(
            Resource::new(WATCHED, "watched-resource")
                .description("A text that is said to change.")
                .mime_type("text/plain")
                .read(async |_, _| Ok("This resource can be watched.")),
        )
        .template(
            ResourceTemplate::new("test://template/{id}/data", "template")
                .description("Data of any id.")
                .mime_type("application/json")
                .read(data),
        )
}

async fn data(_: String, variables: Variables, _: Context) -> Result<String, Failure> {
    let id = variables.text("id").unwrap_or_default();
    let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
    Ok(data.to_string())
}
