//! The trust decisions of people: how far a tool, a server or the whole gateway is trusted, since when and by
//! whom, indexed for lookup by calls.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use gantry_gateway::{Target, TargetNames, ToolEntry};
use serde::{Deserialize, Serialize};

use crate::canonical_json::fingerprint;

/// Decisions by what they are about. Made anew when one changes.
#[derive(Debug, Default)]
pub(super) struct TrustDecisions {
    all: BTreeMap<Subject, Arc<Row>>,
    servers: HashMap<String, Arc<Row>>,
    tools: HashMap<String, Arc<Row>>,
    /// Tools that are not trusted, so that no other name of one is a way around.
    distrusted: Vec<Arc<Row>>,
}

/// A decision, and what is known of where it fits.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) decision: TrustDecision,
    /// What the record says when it decides.
    pub(super) rule: Arc<str>,
    /// The entry that was found to be the one that is trusted. Held weakly, so that its address is
    /// not used again while this remembers it.
    known: Mutex<Weak<ToolEntry>>,
}

impl TrustDecisions {
    pub(super) fn new(decisions: impl IntoIterator<Item = TrustDecision>) -> Self {
        let mut all = Self::default();
        for decision in decisions {
            let row = Arc::new(Row::new(decision));
            match &row.decision.subject {
                Subject::Gateway => {}
                Subject::Server(name) => {
                    all.servers.insert(name.clone(), row.clone());
                }
                Subject::Tool(name) => {
                    all.tools.insert(name.clone(), row.clone());
                    let distrusted = (row.level() == Level::Untrusted).then(|| row.clone());
                    all.distrusted.extend(distrusted);
                }
            }
            all.all.insert(row.decision.subject.clone(), row);
        }
        all
    }

    /// Every decision.
    pub(super) fn iter(&self) -> impl Iterator<Item = &TrustDecision> {
        self.all.values().map(|row| &row.decision)
    }

    /// What was decided for the gateway as a whole.
    pub(super) fn gateway(&self) -> Option<Level> {
        self.all.get(&Subject::Gateway).map(|row| row.level())
    }

    /// What was decided for the server that offers this.
    pub(super) fn server(&self, target: &Target) -> Option<&Arc<Row>> {
        let origin = target.origin().filter(|_| !self.servers.is_empty())?;
        let row = self.servers.get(&*origin.server)?;
        // Trust was given to that program or address, and not to whatever takes its name.
        let is_same = row.decision.bound.as_deref().is_none_or(|it| it == &*origin.identity);
        (is_same || row.level() == Level::Untrusted).then_some(row)
    }

    /// What was decided for a tool. Distrust goes by every name that it has, and by what its server
    /// calls it: a definition that changes, or an endpoint with other names, does not end it. Trust
    /// goes by the canonical name, and only for the definition that was trusted.
    pub(super) fn tool(&self, target: &Target) -> Option<&Arc<Row>> {
        let Target::Tool(tool) = target else { return None };
        if self.tools.is_empty() {
            return None;
        }
        let names = target.names();
        let distrusted = self.distrusted.iter().find(|row| row.is_distrust_of(&names));
        distrusted
            .or_else(|| self.tools.get(names.canonical()).filter(|row| row.is_about(tool, target)))
    }
}

impl Row {
    fn new(decision: TrustDecision) -> Self {
        let rule = format!("{} is {}", decision.subject, decision.level).into();
        Self { decision, rule, known: Mutex::default() }
    }

    pub(super) fn level(&self) -> Level {
        self.decision.level
    }

    /// Whether a tool has been distrusted by one of its names.
    fn is_distrust_of(&self, names: &TargetNames<'_>) -> bool {
        let Subject::Tool(subject) = &self.decision.subject else { return false };
        self.decision.tool.as_ref().is_some_and(|it| it.is_of(names))
            || names.restricting().any(|name| name == subject)
            || names.is_qualified_by(subject)
    }

    /// Whether the tool is still the one that was decided about.
    fn is_about(&self, tool: &Arc<ToolEntry>, target: &Target) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if std::ptr::eq(known.as_ptr(), Arc::as_ptr(tool)) {
            return true;
        }
        let is_same = self.decision.bound.as_ref() == Some(&fingerprint(target));
        if is_same {
            *known = Arc::downgrade(tool);
        }
        is_same
    }
}

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

/// How far something is trusted. The order is that of trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing of it runs.
    Untrusted,
    /// It is in order: what destroys nothing runs.
    Verified,
    /// All of it runs.
    Trusted,
}

impl Level {
    /// All levels, the lowest first.
    pub const ALL: [Self; 3] = [Self::Untrusted, Self::Verified, Self::Trusted];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::Verified => "verified",
            Self::Trusted => "trusted",
        }
    }

    /// The level of that name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.as_str() == word)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}
