//! A rule as it is written: who may do what, under which circumstances.

use std::fmt;
use std::sync::Arc;

use super::condition::Condition;

/// A rule. What it leaves open fits everything.
#[derive(Debug, Clone)]
pub struct Rule {
    /// What it is called in refusals and in the record.
    pub name: Arc<str>,
    /// Where it is written.
    pub place: Option<Arc<str>>,
    /// What it decides.
    pub effect: RuleEffect,
    /// For whom.
    pub who: Who,
    /// About what.
    pub what: What,
    /// Only for tools that are marked so.
    pub annotations: Annotations,
    /// Only when this holds.
    pub when: Option<Arc<Condition>>,
    /// Who may approve what it stops, as patterns of principals; with none, every approver.
    pub approvers: Vec<String>,
    /// Whether it decides nothing, and only tells what it would refuse.
    pub shadow: bool,
}

/// What a rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleEffect {
    /// The call may be made.
    Allow,
    /// It may not.
    Deny,
    /// It may be made once a person has approved of it.
    Approve,
}

/// For whom a rule is: patterns, of which one must fit where there are some.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Who {
    /// The principal.
    pub principals: Vec<String>,
    /// What the client calls itself, which anyone may do.
    pub clients: Vec<String>,
    /// The face that the call comes through: a server or a profile.
    pub virtual_servers: Vec<String>,
}

/// What a rule is about: patterns. With none at all it is about everything; with some, only about
/// things of these kinds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct What {
    /// The server that offers it.
    pub servers: Vec<String>,
    /// Tools, by the name that they have where all are listed, or `SERVER/NAME`.
    pub tools: Vec<String>,
    /// Resources, by URI.
    pub resources: Vec<String>,
    /// Prompts, like tools.
    pub prompts: Vec<String>,
}

/// What a tool must be marked as.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Annotations {
    /// Whether it only looks.
    pub read_only: Option<bool>,
    /// Whether it may destroy something.
    pub destructive: Option<bool>,
}

impl Rule {
    /// A rule for everyone about everything.
    pub fn new(name: &str, effect: RuleEffect) -> Self {
        Self {
            name: name.into(),
            place: None,
            effect,
            who: Who::default(),
            what: What::default(),
            annotations: Annotations::default(),
            when: None,
            approvers: Vec::new(),
            shadow: false,
        }
    }
}

impl RuleEffect {
    /// The word for it in the configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Approve => "approve",
        }
    }

    /// What the word means.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Allow, Self::Deny, Self::Approve].into_iter().find(|effect| effect.as_str() == word)
    }
}

impl fmt::Display for RuleEffect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Annotations {
    /// Whether nothing is demanded.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}
