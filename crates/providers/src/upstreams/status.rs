//! How a server stands, for people.

use gantry_client::Health;
use serde::Serialize;

/// How a server stands.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// What it is called here.
    pub name: String,
    /// One of the states, such as `ready`.
    pub state: &'static str,
    /// Why it is so.
    pub reason: Option<String>,
    /// `stdio`, `http`, `sse` or `websocket`.
    pub transport: &'static str,
    /// The command or address, without secrets.
    pub place: String,
    /// The revision spoken with it, once it was reached.
    pub revision: Option<String>,
    /// What it calls itself, and in which version.
    pub server: Option<String>,
    /// How many of each it offers.
    pub tools: usize,
    /// The same for resources and templates.
    pub resources: usize,
    /// The same for prompts.
    pub prompts: usize,
    /// What it lists that cannot be offered, each with the reason.
    pub problems: Vec<String>,
    /// What is known of its program or connection.
    #[serde(skip)]
    pub health: Health,
}
