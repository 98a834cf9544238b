//! Trust decisions: whether a call runs, needs an approval, or is refused.

mod decide;
mod decisions;
mod effect_report;
mod settings;

use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use gantry_gateway::filter::{CallFilter, Decision, PolicyDecision};
use gantry_gateway::{
    CallContext, CallError, Effect, ErrorKind, NameStyle, Resolved, Snapshot, Target,
};

use self::decisions::{Row, TrustDecisions};
use crate::approvals::{Approvals, Need};
use crate::canonical_json::fingerprint;
use crate::document_store::DocumentStoreError;

pub use self::decide::{Approve, Outcome, Reason, TrustInputs, decide};
pub use self::decisions::{Level, OwnName, Subject, TrustDecision};
pub use self::effect_report::Marks;
pub use self::settings::{TrustSettings, Wanted};

/// The kind of documents that decisions are.
const KIND: &str = "trust";

/// Tells whether definition, schema and pin of something are in order.
pub type InOrder = Arc<dyn Fn(&Target) -> bool + Send + Sync>;

/// The trust gate. Clones are the same gate.
#[derive(Clone)]
pub struct Trust(Arc<Inner>);

struct Inner {
    settings: ArcSwap<TrustSettings>,
    decisions: ArcSwap<TrustDecisions>,
    /// Held while decisions change, so that none is lost; never across an await.
    changing: Mutex<()>,
    in_order: InOrder,
    approvals: Approvals,
    /// The servers that the log has told of.
    told: effect_report::Told,
}

/// Why a decision could not be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// What it is about is not there, so that trust could not be bound to what it is.
    #[error("there is no {0} to trust; `gantry tools list` and `gantry status` show what there is")]
    Unknown(Subject),
    /// It cannot be kept.
    #[error("the decision could not be kept: {0}")]
    DocumentStore(#[from] DocumentStoreError),
}

impl Trust {
    /// The gate, with every decision that was kept where approvals are.
    pub async fn open(
        settings: TrustSettings,
        approvals: Approvals,
        in_order: InOrder,
    ) -> Result<Self, DocumentStoreError> {
        let decisions =
            TrustDecisions::new(approvals.signed_store().all::<TrustDecision>(KIND).await?);
        Ok(Self(Arc::new(Inner {
            settings: ArcSwap::from_pointee(settings),
            decisions: ArcSwap::from_pointee(decisions),
            changing: Mutex::default(),
            in_order,
            approvals,
            told: effect_report::Told::default(),
        })))
    }

    /// Puts other settings in force.
    pub fn configure(&self, settings: TrustSettings) {
        self.0.settings.store(Arc::new(settings));
    }

    /// The approvals that calls wait for.
    pub fn approvals(&self) -> &Approvals {
        &self.0.approvals
    }

    /// Every decision in force.
    pub fn decisions(&self) -> Vec<TrustDecision> {
        self.0.decisions.load().iter().cloned().collect()
    }

    /// How far the gateway as a whole is trusted.
    pub fn level(&self) -> Level {
        self.0.decisions.load().gateway().unwrap_or(self.0.settings.load().level)
    }

    /// Decides how far something is trusted, as it is in this snapshot of the catalog.
    pub async fn rule(
        &self,
        subject: Subject,
        level: Level,
        by: &str,
        snapshot: &Snapshot,
    ) -> Result<TrustDecision, TrustError> {
        let subject = canonical(subject, snapshot);
        let (bound, tool) = (bound(&subject, snapshot), own_name(&subject, snapshot));
        if bound.is_none() && subject != Subject::Gateway && level != Level::Untrusted {
            return Err(TrustError::Unknown(subject));
        }
        let at = self.0.approvals.clock().seconds();
        let decision = TrustDecision { subject, level, bound, tool, by: by.to_owned(), at };
        let key = decision.subject.to_string();
        // What takes trust away is in force even if it cannot be kept.
        if level == Level::Untrusted {
            self.change(&decision.subject, Some(&decision));
        }
        self.0.approvals.signed_store().put(KIND, &key, &decision).await?;
        self.change(&decision.subject, Some(&decision));
        tracing::info!(subject = key, %level, by, "trust was decided");
        Ok(decision)
    }

    /// Takes a decision back. Gives whether there was one.
    pub async fn revoke(&self, subject: &Subject, by: &str) -> Result<bool, TrustError> {
        let decisions = self.decisions();
        let exact = decisions.iter().find(|it| it.subject == *subject);
        let known = exact.or_else(|| decisions.iter().find(|it| is_shown_as(&it.subject, subject)));
        let subject = known.map_or(subject, |it| &it.subject);
        if known.as_ref().is_some_and(|it| it.level != Level::Untrusted) {
            self.change(subject, None);
        }
        let key = subject.to_string();
        let removed = self.0.approvals.signed_store().remove(KIND, &key).await?;
        self.change(subject, None);
        tracing::info!(subject = key, by, "a decision about trust was taken back");
        Ok(removed || known.is_some())
    }

    fn change(&self, subject: &Subject, decision: Option<&TrustDecision>) {
        let _changing = self.0.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.0.decisions.load();
        let others = before.iter().filter(|it| it.subject != *subject).chain(decision);
        self.0.decisions.store(Arc::new(TrustDecisions::new(others.cloned())));
    }

    /// All that matters for a call on this; `rule` says whether a rule wants it approved.
    pub fn inputs(&self, target: &Target, rule: bool) -> TrustInputs {
        self.stands(&self.0.decisions.load(), target, rule).0
    }

    /// What a call on this may do, by its definition and the settings.
    pub fn effect(&self, target: &Target) -> Effect {
        self.0.settings.load().effect(target)
    }

    fn stands(
        &self,
        decisions: &TrustDecisions,
        target: &Target,
        rule: bool,
    ) -> (TrustInputs, Option<Arc<Row>>) {
        let settings = self.0.settings.load();
        let (server, tool) = (decisions.server(target), decisions.tool(target));
        let inputs = TrustInputs {
            gateway: decisions.gateway().unwrap_or(settings.level),
            server: server.map(|row| row.level()),
            tool: tool.map(|row| row.level()),
            in_order: (self.0.in_order)(target),
            effect: settings.effect(target),
            rule,
            approve: settings.approve(target),
        };
        (inputs, tool.or(server).cloned())
    }
}

impl CallFilter for Trust {
    fn check<'a>(&'a self, call: &'a Resolved, context: &'a CallContext) -> Decision<'a> {
        let wanted_by = context.decisions().into_iter().find_map(|it| approve_rule(&it));
        let decisions = self.0.decisions.load();
        let (inputs, row) = self.stands(&decisions, &call.target, wanted_by.is_some());
        match decide(&inputs) {
            Outcome::Run => {
                if let Some(row) = row {
                    note(context, true, row.rule.clone());
                }
                Decision::GRANTED
            }
            Outcome::Refuse(reason) => {
                // A decision is named where it is what refuses; a lock refuses whatever was decided.
                let row = row.filter(|_| reason.is_decided());
                let rule = row.map_or_else(|| reason.as_str().into(), |row| row.rule.clone());
                note(context, false, rule);
                Decision::refused(refusal(&call.target, reason))
            }
            Outcome::NeedsApproval(reason) => {
                let need = Need {
                    trust_helps: reason.trust_helps(),
                    reason: wanted_by.as_ref().map_or_else(|| reason.text().into(), reason_of_rule),
                    rule: wanted_by,
                };
                Decision::Later(Box::pin(self.0.approvals.seek(call, context, need)))
            }
        }
    }
}

/// The rule that wants the call to be approved, if this is the decision of one that does.
fn approve_rule(decision: &PolicyDecision) -> Option<String> {
    let name = decision.rule.strip_prefix("approve:").filter(|_| decision.policy == "rules")?;
    Some(name.trim().to_owned())
}

fn reason_of_rule(name: &String) -> Arc<str> {
    format!("the rule `{name}` wants it to be approved").into()
}

fn note(context: &CallContext, allowed: bool, rule: Arc<str>) {
    context.note_decision(PolicyDecision { allowed, policy: KIND, rule });
}

fn refusal(target: &Target, reason: Reason) -> CallError {
    let names = target.names();
    let name = names.canonical();
    let server = target.origin().map_or("", |origin| &*origin.server);
    let advice = match reason {
        Reason::LockedDown => "`gantry trust level verified` unlocks it".to_owned(),
        Reason::OutOfOrder => format!("`gantry tools pin --diff {name}` shows what changed"),
        Reason::ServerUntrusted => format!("`gantry trust revoke server:{server}` ends that"),
        Reason::ToolUntrusted => format!("`gantry trust revoke {name}` ends that"),
        _ => format!("`gantry trust grant {name}` trusts it"),
    };
    CallError::new(ErrorKind::Blocked, format!("`{name}` is not run: {}; {advice}", reason.text()))
}

/// The same subject, a tool by its canonical name whichever of its names a person gave.
fn canonical(subject: Subject, snapshot: &Snapshot) -> Subject {
    match &subject {
        Subject::Tool(name) => match snapshot.tool(name) {
            Some(tool) => Subject::Tool(tool.canonical_name().to_owned()),
            None => subject,
        },
        Subject::Gateway | Subject::Server(_) => subject,
    }
}

/// Whether clients see the tool of one subject under the name of the other one.
fn is_shown_as(subject: &Subject, name: &Subject) -> bool {
    match (subject, name) {
        (Subject::Tool(tool), Subject::Tool(name)) => NameStyle::default().fit(tool) == *name,
        _ => false,
    }
}

/// What a decision about this holds for, and for nothing else.
fn bound(subject: &Subject, snapshot: &Snapshot) -> Option<String> {
    match subject {
        Subject::Gateway => None,
        Subject::Tool(name) => {
            snapshot.tool(name).map(|tool| fingerprint(&Target::Tool(tool.clone())))
        }
        Subject::Server(name) => {
            let mut origins = snapshot.tools().filter_map(|tool| tool.origin.clone());
            let origin = origins.find(|origin| *origin.server == **name);
            origin.map(|origin| origin.identity.to_string())
        }
    }
}

/// Which tool a decision is about, if it is there.
fn own_name(subject: &Subject, snapshot: &Snapshot) -> Option<OwnName> {
    let Subject::Tool(name) = subject else { return None };
    let tools = || snapshot.tools().cloned().map(Target::Tool);
    let named = tools().find(|target| target.names().canonical() == name);
    let target = named.or_else(|| tools().find(|target| target.names().is_qualified_by(name)))?;
    Some(OwnName::of(&target.names()))
}

impl std::fmt::Debug for Trust {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Trust").field("level", &self.level()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
