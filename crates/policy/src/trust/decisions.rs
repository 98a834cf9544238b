//! All decisions in force, as calls look them up.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use gantry_gateway::{Target, TargetNames, ToolEntry};

use super::decision::{Subject, TrustDecision};
use super::fingerprint::fingerprint;
use super::level::Level;

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
