//! The outermost stage: every call is counted in the metrics and reported to the observers once, however it ends.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Pipeline, Policies};
use crate::call::Call;
use crate::context::CallContext;
use crate::error::{CallError, ErrorKind};
use crate::filter::{CallEnd, CallSummary, OnEnd, Permit};
use crate::metrics::{OutcomeClass, ToolMetrics};
use crate::provider::{Outcome, Resolved, Target};

/// The accounting of one call, until its end is recorded.
///
/// A client that leaves ends its call by dropping it, so that this is the one thing that is
/// recorded on drop: a tool may have done its work, and that must not go unseen.
pub(super) struct CallRecord<'a> {
    policies: &'a Policies,
    call: Arc<Call>,
    target: Option<Target>,
    context: &'a CallContext,
    tool: Option<Arc<ToolMetrics>>,
    /// The permits that filters gave.
    permits: Vec<Box<dyn OnEnd>>,
    started: Instant,
    /// Whether the provider was reached.
    is_begun: bool,
    open: bool,
}

impl<'a> CallRecord<'a> {
    pub(super) fn start(
        pipeline: &'a Pipeline,
        call: &Arc<Call>,
        context: &'a CallContext,
    ) -> Self {
        for observer in &pipeline.policies.observers {
            observer.arrived(call, context);
        }
        Self {
            policies: &pipeline.policies,
            call: call.clone(),
            target: None,
            context,
            tool: None,
            permits: Vec::new(),
            started: Instant::now(),
            is_begun: false,
            open: true,
        }
    }

    /// Keeps the permit of a filter until the call ends.
    pub(super) fn keep_permit(&mut self, permit: Permit) {
        self.permits.extend(permit.into_inner());
    }

    /// Notes the target, once it is known to be in the catalog.
    pub(super) fn set_target(&mut self, target: &Target) {
        self.target = Some(target.clone());
        if let Target::Tool(tool) = target {
            self.tool = Some(self.policies.metrics.tool(tool.canonical_name()));
        }
    }

    /// Resolves the target of a refused call, if it was refused before that.
    pub(super) fn set_target_if_unknown(&mut self, find: impl FnOnce(&Call) -> Option<Target>) {
        if self.target.is_none() {
            self.target = find(&self.call);
        }
    }

    /// The provider is called next: tells the observers, and waits for those that must record it first.
    pub(super) async fn before_provider(&mut self, resolved: &Resolved) -> Result<(), CallError> {
        self.call = resolved.call.clone();
        for observer in &self.policies.observers {
            if let Some(recorded) = observer.begun(&self.summary()) {
                recorded.await?;
            }
        }
        self.is_begun = true;
        Ok(())
    }

    /// Runs the refusal filters on an error.
    pub(super) fn apply_refusal_filters(&self, error: CallError) -> CallError {
        if self.is_begun || !error.kind.is_refused_request() {
            return error;
        }
        let filters = self.policies.refusals.iter();
        filters.fold(error, |error, filter| filter.refused(&self.call, self.context, error))
    }

    /// Releases the permits. A filter may still turn a success into an error.
    pub(super) fn release_permits(&mut self, mut outcome: Outcome) -> Outcome {
        for mut permit in std::mem::take(&mut self.permits) {
            if let Err(error) = permit.ended(&outcome) {
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

    /// Records how the call ended, and returns the outcome when all observers that must have recorded it have.
    pub(super) async fn finish(mut self, outcome: Outcome) -> Outcome {
        self.open = false;
        let end = self.record_metrics(&outcome);
        for observer in &self.policies.observers {
            if let Some(recorded) = observer.ended(&self.summary(), &end) {
                recorded.await?;
            }
        }
        outcome
    }

    fn record_metrics<'o>(&self, outcome: &'o Outcome) -> CallEnd<'o> {
        let took = self.started.elapsed();
        let outcome_class = OutcomeClass::of(outcome);
        self.policies.metrics.record(&self.call.method, outcome_class, took);
        tracing::debug!(?took, error_type = outcome_class.error_type(), "call ended");
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

impl Drop for CallRecord<'_> {
    fn drop(&mut self) {
        if self.open {
            let outcome = Err(CallError::new(ErrorKind::Cancelled, "the call was given up"));
            let end = self.record_metrics(&outcome);
            for observer in &self.policies.observers {
                // Nobody is left to wait for it; the observer has been told.
                drop(observer.ended(&self.summary(), &end));
            }
        }
    }
}
