//! One decision of a person: how far something is trusted, since when and by whose word.

use std::fmt;

use gantry_gateway::TargetNames;
use serde::{Deserialize, Serialize};

use super::level::Level;

/// What a decision is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Subject {
    /// Everything.
    Gateway,
    /// All that a server offers, by its name in the configuration.
    Server(String),
    /// One tool, by the name that clients use.
    Tool(String),
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustDecision {
    /// What it is about.
    pub subject: Subject,
    /// How far that is trusted.
    pub level: Level,
    /// What it was when that was decided: the fingerprint of a tool, the identity of a server.
    /// Trust ends where that is another.
    pub bound: Option<String>,
    /// Which tool it was then, by server and own name. Distrust stays with it, whatever its
    /// definition and its name here become.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<OwnName>,
    /// Who decided.
    pub by: String,
    /// When, in seconds since 1970.
    pub at: u64,
}

/// A tool by what its provider calls it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OwnName {
    /// The server that offers it; none for a tool of the gateway's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Its own name.
    pub name: String,
}

impl OwnName {
    pub(super) fn of(names: &TargetNames<'_>) -> Self {
        Self { server: names.server.map(str::to_owned), name: names.own().to_owned() }
    }

    pub(super) fn is_of(&self, names: &TargetNames<'_>) -> bool {
        self.server.as_deref() == names.server && self.name == names.own()
    }
}

impl Subject {
    /// Reads `gateway`, `server:NAME`, `tool:NAME` or the bare name of a tool.
    pub fn parse(text: &str) -> Option<Self> {
        let named = |name: &str| Some(name.to_owned()).filter(|name| !name.is_empty());
        match text.split_once(':') {
            Some(("server", name)) => named(name).map(Self::Server),
            Some(("tool", name)) => named(name).map(Self::Tool),
            None if text == "gateway" => Some(Self::Gateway),
            _ => named(text).map(Self::Tool),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gateway => formatter.write_str("gateway"),
            Self::Server(name) => write!(formatter, "server:{name}"),
            Self::Tool(name) => write!(formatter, "tool:{name}"),
        }
    }
}

impl From<Subject> for String {
    fn from(subject: Subject) -> Self {
        subject.to_string()
    }
}

impl TryFrom<String> for Subject {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is nothing that can be trusted"))
    }
}
