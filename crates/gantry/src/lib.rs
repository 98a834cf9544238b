//! Write an MCP server in a few lines; every client on every revision of the protocol reaches it.
//!
//! ```no_run
//! use gantry::{Failure, Server, Tool};
//! use schemars::JsonSchema;
//! use serde::Deserialize;
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Greeting {
//!     /// Whom to greet.
//!     name: String,
//! }
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! Server::new("greeter", "1.0.0")
//!     .tool(Tool::new("greet", "Greets someone.").run(async |greeting: Greeting, _| {
//!         Ok::<_, Failure>(format!("Hello, {}!", greeting.name))
//!     }))
//!     .build()?
//!     .serve_stdio()
//!     .await?;
//! # Ok(())
//! # }
//! ```

pub mod policy_set;
mod server;
mod token_authenticator;

pub use gantry_client as client;
pub use gantry_gateway::contract;
pub use gantry_gateway::{
    Caller, Gateway, Histogram, InputRequest, InputRequired, Reply, ServerInfo,
    Settings as GatewaySettings, ToolStatistics,
};
pub use gantry_policy as policy;
pub use gantry_protocol::{
    ClientCapabilities, Level, Method, RawJson, Revision, json::ObjectWriter,
};
pub use gantry_providers::upstreams::{
    Override, Profile, Share, Status, UpstreamConfig, UpstreamSettings, Upstreams,
};
pub use gantry_providers::{
    Content, Context, Elicitation, Failure, Handlers, Json, Manifest, Problem, Prompt,
    PromptMessage, PromptResult, RegisterError, Registration, Resource, ResourceContents,
    ResourceTemplate, Role, Tool, ToolOutput, ToolResult, ToolSettings, Tools, Variable, Variables,
};
pub use gantry_server::{
    AllowedHosts, AuthError, Authenticator, ControlServer, Eras, HandlerAccess, HttpHandler,
    HttpServer, Identity, Link, ListenError, Settings as ServerSettings, TaskLog, TaskLogError,
    TaskLogLimits, TaskRecord,
};
pub use server::{Server, ServerBuilder};
pub use token_authenticator::TokenAuthenticator;
