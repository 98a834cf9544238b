//! Where tools come from: handlers in code, scripts and binaries, and other MCP servers.

pub mod file_fingerprint;
pub mod files;
pub mod handlers;
pub mod scripts;
pub mod suggestion;
pub mod tool_spec;
pub mod units;
pub mod upstreams;
pub mod uri_template;

pub use handlers::{
    Content, Context, Elicitation, Failure, Handlers, Json, Prompt, PromptMessage, PromptResult,
    RegisterError, Resource, ResourceContents, ResourceTemplate, Role, Tool, ToolOutput,
    ToolResult,
};
pub use scripts::manifest::{Manifest, Problem};
pub use scripts::{Registration, ToolSettings, Tools};
pub use uri_template::{Template, TemplateError, Variable, Variables};
