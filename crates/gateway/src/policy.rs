//! The policies that stand between a call and its provider, one file each.

mod deadline;
mod decision;
mod limit;
mod metrics;
mod policy_decision;
mod publish_hook;
mod validate;
mod visibility_filter;

pub use deadline::Deadline;
pub use decision::{Decision, OnEnd, Permit, Verdict};
pub use limit::{InFlight, InFlightPermit};
pub(crate) use metrics::ToolMetrics;
pub use metrics::{Histogram, Metrics, OutcomeClass, ToolStatistics};
pub use policy_decision::PolicyDecision;
pub use publish_hook::PublishHook;
pub use validate::{
    CheckThreads, check_arguments, check_arguments_early, check_result, fill_defaults,
};
pub use visibility_filter::{View, VisibilityFilter};

use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::call::Call;
use crate::context::CallContext;
use crate::error::CallError;
use crate::provider::{Resolved, Target};
use crate::reply::Outcome;

/// A policy that sees only the name: limits. It stands before the name is resolved.
pub trait RequestFilter: Send + Sync {
    /// Lets the call pass or says why not.
    fn check<'a>(&'a self, call: &'a Call, context: &'a CallContext) -> Decision<'a>;
}

/// A policy that sees what the call is for: authorization, trust, approval. It may ask the
/// client, or wait for a person.
pub trait CallFilter: Send + Sync {
    /// Lets the call pass or says why not.
    fn check<'a>(&'a self, call: &'a Resolved, context: &'a CallContext) -> Decision<'a>;
}

/// A policy that sees calls which ended by the caller's fault before they reached a provider: they
/// were refused, or for what does not exist.
pub trait RefusalFilter: Send + Sync {
    /// What the caller is told.
    fn refused(&self, call: &Call, context: &CallContext, error: CallError) -> CallError;
}

/// What a call has to wait for until a witness knows of it, if for anything; an error of it counts.
pub type Known = Option<BoxFuture<'static, Result<(), CallError>>>;

/// A policy that sees every call, refused ones too: the record.
pub trait CallObserver: Send + Sync {
    /// A call has come, and nothing is known of it yet but what it says itself.
    fn arrived(&self, _call: &Call, _context: &CallContext) {}

    /// A call has passed every policy, and its provider is next. A future that is given back is
    /// waited for first, and an error of it refuses the call.
    fn begun(&self, _call: &CallSummary<'_>) -> Known {
        None
    }

    /// A call has ended in this way. A future that is given back is waited for before the answer
    /// is given, and an error of it takes the answer's place; a call that was given up waits for
    /// nothing.
    fn ended(&self, call: &CallSummary<'_>, end: &CallEnd<'_>) -> Known;
}

/// What a witness is told of a call.
#[derive(Debug)]
pub struct CallSummary<'a> {
    /// The call; once its arguments were checked, with defaults filled in.
    pub call: &'a Call,
    /// What it is for, once that was found.
    pub target: Option<&'a Target>,
    /// Its line, with its number and what was decided.
    pub context: &'a CallContext,
}

/// How a call ended.
#[derive(Debug, Clone, Copy)]
pub struct CallEnd<'a> {
    /// What it came to.
    pub outcome: &'a Outcome,
    /// The same in the words that are counted.
    pub outcome_class: OutcomeClass,
    /// How long it took.
    pub took: Duration,
}
