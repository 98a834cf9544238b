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

/// What a policy says of a call.
pub enum Decision<'a> {
    /// It is decided. Nearly every call is, so nothing is allocated for it.
    Now(Verdict),
    /// It takes a while: a queue, or a person.
    Later(BoxFuture<'a, Verdict>),
}

/// Let through, or why not.
pub type Verdict = Result<Permit, CallError>;

/// Leave to go on, with whatever has to be given back at the end.
#[derive(Default)]
pub struct Permit(Option<Box<dyn OnEnd>>);

/// Something that a call holds while it is under way: a place, a right. Dropped without a word when
/// the call is given up.
pub trait OnEnd: Send + Sync {
    /// The call ends like this. An error takes the place of a good end.
    fn ended(&mut self, outcome: &Outcome) -> Result<(), CallError>;
}

impl Permit {
    /// Leave to go on, with nothing to give back.
    pub const FREE: Self = Self(None);

    /// Leave to go on for as long as this is held.
    pub fn holding(held: impl OnEnd + 'static) -> Self {
        Self(Some(Box::new(held)))
    }

    pub(crate) fn held(self) -> Option<Box<dyn OnEnd>> {
        self.0
    }
}

impl Decision<'_> {
    /// The call may pass.
    pub const GRANTED: Self = Self::Now(Ok(Permit::FREE));

    /// The call may not pass.
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
        formatter.debug_tuple("Pass").field(&self.0.is_some()).finish()
    }
}

/// What a policy decided about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDecision {
    /// Whether the call was let through.
    pub allowed: bool,
    /// Which policy: `rules`, `trust`, `approval`, `pins`, `limits`, …
    pub policy: &'static str,
    /// What of it decided: the name of a rule, a grant, a limit.
    pub rule: Arc<str>,
}

/// A policy that judges what is listed.
pub trait PublishHook: Send + Sync {
    /// This state of a catalog comes into force next, and waits for this, which may show something
    /// else in the place of what is listed. Must return soon, and must not turn to the catalog itself.
    fn publish_hook(&self, next: &mut Snapshot);

    /// The same, where nothing changes but these tools.
    fn publish_tools_hook(&self, next: &mut Snapshot, _changed: &[Arc<ToolEntry>]) {
        self.publish_hook(next);
    }
}

/// A policy that decides what a caller may know of.
pub trait VisibilityFilter: Send + Sync {
    /// What this caller sees; none when it is everything.
    fn view(&self, caller: &Caller) -> Option<View>;
}

/// What some callers see. Callers with one key see the same, so that lists are made once for all
/// of them.
#[derive(Clone)]
pub struct View {
    /// The same for all who see the same, and another one as soon as that changes. Where it is a
    /// hash, it is wide enough that nobody meets two views with one key.
    pub key: u128,
    /// Whether what is not seen must not be known to be there: a call of it is told what a call of
    /// nothing is told.
    pub is_secret: bool,
    /// Whether a thing is seen.
    pub sees: Arc<dyn Fn(&Target) -> bool + Send + Sync>,
}

impl fmt::Debug for View {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("View").field("key", &self.key).finish_non_exhaustive()
    }
}
