//! Where tools come from.

pub mod handlers;
pub mod template;
pub mod tools;
pub mod upstreams;

pub use handlers::{
    Content, Context, Elicitation, Failure, Handlers, Json, Prompt, PromptMessage, PromptResult,
    RegisterError, Resource, ResourceContents, ResourceTemplate, Role, Tool, ToolOutput,
    ToolResult,
};
pub use template::{Template, TemplateError, Variable, Variables};
pub use tools::manifest::{Manifest, Problem};
pub use tools::{Registration, ToolSettings, Tools};
