//! The outermost stage: every call is counted and recorded once, however it ends.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Pipeline, Policies};
use crate::call::Call;
use crate::context::CallContext;
use crate::error::{CallError, ErrorKind};
use crate::filter::{CallEnd, CallSummary, OnEnd, Permit};
use crate::metrics::{OutcomeClass, ToolMetrics};
use crate::provider::{Outcome, Resolved, Target};

/// A call whose end is still to be recorded.
///
/// A client that leaves ends its call by dropping it, so that this is the one thing that is
/// recorded on drop: a tool may have done its work, and that must not go unseen.
pub(super) struct Record<'a> {
    policies: &'a Policies,
    call: Arc<Call>,
    target: Option<Target>,
    context: &'a CallContext,
    tool: Option<Arc<ToolMetrics>>,
    /// What policies gave the call to hold until its end.
    held: Vec<Box<dyn OnEnd>>,
    started: Instant,
    /// Whether its provider was next.
    is_begun: bool,
    open: bool,
}

impl<'a> Record<'a> {
    pub(super) fn open(pipeline: &'a Pipeline, call: &Arc<Call>, context: &'a CallContext) -> Self {
        for observer in &pipeline.policies.observers {
            observer.arrived(call, context);
        }
        Self {
            policies: &pipeline.policies,
            call: call.clone(),
            target: None,
            context,
            tool: None,
            held: Vec::new(),
            started: Instant::now(),
            is_begun: false,
            open: true,
        }
    }

    /// Keeps what a policy gave, until the end.
    pub(super) fn hold(&mut self, pass: Permit) {
        self.held.extend(pass.held());
    }

    /// Notes what the call is for, once that is known to be in the catalog.
    pub(super) fn found(&mut self, target: &Target) {
        self.target = Some(target.clone());
        if let Target::Tool(tool) = target {
            self.tool = Some(self.policies.metrics.tool(tool.canonical_name()));
        }
    }

    /// Finds out what a refused call was for, if it was refused before that was known.
    pub(super) fn identify(&mut self, find: impl FnOnce(&Call) -> Option<Target>) {
        if self.target.is_none() {
            self.target = find(&self.call);
        }
    }

    /// The provider is next: whoever must know of the call before that knows now.
    pub(super) async fn begun(&mut self, resolved: &Resolved) -> Result<(), CallError> {
        self.call = resolved.call.clone();
        for observer in &self.policies.observers {
            if let Some(known) = observer.begun(&self.summary()) {
                known.await?;
            }
        }
        self.is_begun = true;
        Ok(())
    }

    /// What the caller is told of a failure, which those see who count refusals.
    pub(super) fn refused(&self, error: CallError) -> CallError {
        if self.is_begun || !error.kind.is_refused_request() {
            return error;
        }
        let filters = self.policies.refusals.iter();
        filters.fold(error, |error, filter| filter.refused(&self.call, self.context, error))
    }

    /// Gives back what the call held. A policy may still turn a good end into an error.
    pub(super) fn release(&mut self, mut outcome: Outcome) -> Outcome {
        for mut held in std::mem::take(&mut self.held) {
            if let Err(error) = held.ended(&outcome) {
                outcome = outcome.and(Err(error));
            }
        }
        outcome
    }

    /// Counts a call that a policy has refused.
    pub(super) fn count_refusal(&self, outcome: &Outcome) {
        if let Err(error) = outcome {
            // What one may not see is told of as what does not exist, but a policy has refused it.
            let refused_by = self
                .context
                .among_decisions(|all| all.iter().rfind(|it| !it.allowed).map(|it| it.policy));
            if error.kind.is_refusal() || (refused_by.is_some() && !self.is_begun) {
                self.policies.metrics.record_refusal(refused_by.unwrap_or("other"));
            }
        }
    }

    /// Records how the call ended, and gives its end when everyone knows of it who must.
    pub(super) async fn close(mut self, outcome: Outcome) -> Outcome {
        self.open = false;
        let end = self.count(&outcome);
        for observer in &self.policies.observers {
            if let Some(known) = observer.ended(&self.summary(), &end) {
                known.await?;
            }
        }
        outcome
    }

    fn count<'o>(&self, outcome: &'o Outcome) -> CallEnd<'o> {
        let took = self.started.elapsed();
        let outcome_class = OutcomeClass::of(outcome);
        self.policies.metrics.record(&self.call.method, outcome_class, took);
        tracing::debug!(?took, error_type = outcome_class.error_type(), "a call has ended");
        if let Some(tool) = &self.tool {
            tool.record(outcome_class, took);
            if let Some(hit) = self.context.standby() {
                tool.note_standby(hit);
            }
        }
        CallEnd { outcome, outcome_class, took }
    }

    fn summary(&self) -> CallSummary<'_> {
        CallSummary { call: &self.call, target: self.target.as_ref(), context: self.context }
    }
}

impl Drop for Record<'_> {
    fn drop(&mut self) {
        if self.open {
            let outcome = Err(CallError::new(ErrorKind::Cancelled, "the call was given up"));
            let end = self.count(&outcome);
            for observer in &self.policies.observers {
                // Nobody is there to wait for it; the witness has been told.
                drop(observer.ended(&self.summary(), &end));
            }
        }
    }
}
