//! What a policy can be: the traits through which the pipeline asks it, and what it may answer.
//!
//! This is the gateway's middleware interface. Each trait sees a call at another time:
//! [`RequestFilter`] before the target is known, [`CallFilter`] after, [`RefusalFilter`] when it was
//! refused, [`CallObserver`] from arrival to end. [`VisibilityFilter`] and [`PublishHook`] decide what
//! is listed. `crate::pipeline` has the order in which they run.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use crate::call::Call;
use crate::caller::Caller;
use crate::catalog::Snapshot;
use crate::context::CallContext;
use crate::entry::ToolEntry;
use crate::error::CallError;
use crate::metrics::OutcomeClass;
use crate::provider::{Outcome, Resolved, Target};

/// A filter that runs before the target is resolved and sees only the name: limits.
pub trait RequestFilter: Send + Sync {
    /// Decides whether the call continues.
    fn check<'a>(&'a self, call: &'a Call, context: &'a CallContext) -> Decision<'a>;
}

/// A filter that runs after the target is resolved: authorization, trust, approval, limits. It may send
/// input requests, or wait for a person.
pub trait CallFilter: Send + Sync {
    /// Decides whether the call continues.
    fn check<'a>(&'a self, call: &'a Resolved, context: &'a CallContext) -> Decision<'a>;
}

/// A filter of calls that failed before they reached a provider and by the caller's fault: refused, or for a
/// target that does not exist.
pub trait RefusalFilter: Send + Sync {
    /// The error that the caller gets.
    fn refused(&self, call: &Call, context: &CallContext, error: CallError) -> CallError;
}

/// What a call has to wait for until an observer has recorded it; none if nothing. An error refuses the call.
pub type Recorded = Option<BoxFuture<'static, Result<(), CallError>>>;

/// An observer that sees every call, refused ones too: the audit log, tracing.
pub trait CallObserver: Send + Sync {
    /// A call has arrived. Nothing is known of it yet but what it says itself.
    fn arrived(&self, _call: &Call, _context: &CallContext) {}

    /// A call has passed every filter, and its provider is called next. A returned future is awaited
    /// first, and an error of it refuses the call: strict audit.
    fn begun(&self, _call: &CallSummary<'_>) -> Recorded {
        None
    }

    /// A call has ended. A returned future is awaited before the response is sent, and an error of it
    /// replaces the response. For a cancelled call it is dropped.
    fn ended(&self, call: &CallSummary<'_>, end: &CallEnd<'_>) -> Recorded;
}

/// What an observer gets of a call.
#[derive(Debug)]
pub struct CallSummary<'a> {
    /// The call; once its arguments were checked, with defaults filled in.
    pub call: &'a Call,
    /// What it is for, once that was found.
    pub target: Option<&'a Target>,
    /// Its context, with its number and the decisions of the policies.
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

/// What a filter decides about a call.
pub enum Decision<'a> {
    /// Decided at once. Nearly every call is, so nothing is allocated for it.
    Now(Verdict),
    /// Decided later: after a queue, or by a person.
    Later(BoxFuture<'a, Verdict>),
}

/// A permit, or why the call is refused.
pub type Verdict = Result<Permit, CallError>;

/// The permission to continue, with what has to be released when the call ends.
#[derive(Default)]
pub struct Permit(Option<Box<dyn OnEnd>>);

/// Something that a call holds while it is in flight, such as a concurrency slot. It is dropped
/// without [`Self::ended`] when the call is cancelled.
pub trait OnEnd: Send + Sync {
    /// The call has ended like this. An error replaces a successful result.
    fn ended(&mut self, outcome: &Outcome) -> Result<(), CallError>;
}

impl Permit {
    /// A permit with nothing to release.
    pub const FREE: Self = Self(None);

    /// A permit that holds this until the call ends.
    pub fn holding(held: impl OnEnd + 'static) -> Self {
        Self(Some(Box::new(held)))
    }

    pub(crate) fn into_inner(self) -> Option<Box<dyn OnEnd>> {
        self.0
    }
}

impl Decision<'_> {
    /// The call continues.
    pub const GRANTED: Self = Self::Now(Ok(Permit::FREE));

    /// The call is refused.
    pub fn refused(error: CallError) -> Self {
        Self::Now(Err(error))
    }

    pub(crate) async fn verdict(self) -> Verdict {
        match self {
            Self::Now(verdict) => verdict,
            Self::Later(verdict) => verdict.await,
        }
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Permit").field(&self.0.is_some()).finish()
    }
}

/// What a policy decided about a call, for the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDecision {
    /// Whether the call was allowed.
    pub allowed: bool,
    /// Which policy: `rules`, `trust`, `approval`, `pins`, `limits`, …
    pub policy: &'static str,
    /// What decided: the name of a rule, a grant, a limit.
    pub rule: Arc<str>,
}

/// A hook that validates what is listed before it is published.
pub trait PublishHook: Send + Sync {
    /// Called with the next snapshot of a catalog before anybody can see it; may replace entries. It runs
    /// under the catalog's lock, so it must return soon and must not access the catalog.
    fn publish_hook(&self, next: &mut Snapshot);

    /// The same when only these tools change.
    fn publish_tools_hook(&self, next: &mut Snapshot, _changed: &[Arc<ToolEntry>]) {
        self.publish_hook(next);
    }
}

/// A filter that decides what a caller can see.
pub trait VisibilityFilter: Send + Sync {
    /// What this caller can see; none if everything.
    fn view(&self, caller: &Caller) -> Option<View>;
}

/// What some callers can see. Callers with the same key see the same, so that lists are built once for all
/// of them.
#[derive(Clone)]
pub struct View {
    /// Equal for callers that see the same; another key as soon as that changes. Where it is a hash, it is
    /// wide enough that two views never share one.
    pub key: u128,
    /// Whether the existence of what is hidden is secret: a call of it gets the same error as a call of
    /// something that does not exist.
    pub is_secret: bool,
    /// Whether a target is visible.
    pub sees: Arc<dyn Fn(&Target) -> bool + Send + Sync>,
}

impl fmt::Debug for View {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("View").field("key", &self.key).finish_non_exhaustive()
    }
}
