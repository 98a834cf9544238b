//! The outermost stage: every call is counted and recorded once, however it ends.

use std::sync::Arc;

use tokio::time::Instant;

use super::{Pipeline, Policies};
use crate::call::Call;
use crate::error::{CallError, ErrorKind};
use crate::exchange::Exchange;
use crate::policy::{CallEnd, CallSummary, Ending, Held, Pass, ToolMeter};
use crate::provider::{Resolved, Target};
use crate::reply::Outcome;

/// A call whose end is still to be recorded.
///
/// A client that leaves ends its call by dropping it, so that this is the one thing that is
/// recorded on drop: a tool may have done its work, and that must not go unseen.
pub(super) struct Record<'a> {
    policies: &'a Policies,
    call: Arc<Call>,
    target: Option<Target>,
    exchange: &'a Exchange,
    tool: Option<Arc<ToolMeter>>,
    /// What policies gave the call to hold until its end.
    held: Vec<Box<dyn Held>>,
    started: Instant,
    /// Whether its provider was next.
    is_begun: bool,
    open: bool,
}

impl<'a> Record<'a> {
    pub(super) fn open(pipeline: &'a Pipeline, call: &Arc<Call>, exchange: &'a Exchange) -> Self {
        for witness in &pipeline.policies.witnesses {
            witness.arrived(call, exchange);
        }
        Self {
            policies: &pipeline.policies,
            call: call.clone(),
            target: None,
            exchange,
            tool: None,
            held: Vec::new(),
            started: Instant::now(),
            is_begun: false,
            open: true,
        }
    }

    /// Keeps what a policy gave, until the end.
    pub(super) fn hold(&mut self, pass: Pass) {
        self.held.extend(pass.held());
    }

    /// Notes what the call is for, once that is known to be in the catalog.
    pub(super) fn found(&mut self, target: &Target) {
        self.target = Some(target.clone());
        if let Target::Tool(tool) = target {
            self.tool = Some(self.policies.meter.tool(tool.canonical_name()));
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
        for witness in &self.policies.witnesses {
            if let Some(known) = witness.begun(&self.summary()) {
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
        filters.fold(error, |error, filter| filter.refused(&self.call, self.exchange, error))
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
                .exchange
                .among_decisions(|all| all.iter().rfind(|it| !it.allowed).map(|it| it.policy));
            if error.kind.is_refusal() || (refused_by.is_some() && !self.is_begun) {
                self.policies.meter.record_refusal(refused_by.unwrap_or("other"));
            }
        }
    }

    /// Records how the call ended, and gives its end when everyone knows of it who must.
    pub(super) async fn close(mut self, outcome: Outcome) -> Outcome {
        self.open = false;
        let end = self.count(&outcome);
        for witness in &self.policies.witnesses {
            if let Some(known) = witness.ended(&self.summary(), &end) {
                known.await?;
            }
        }
        outcome
    }

    fn count<'o>(&self, outcome: &'o Outcome) -> CallEnd<'o> {
        let took = self.started.elapsed();
        let ending = Ending::of(outcome);
        self.policies.meter.record(&self.call.method, ending, took);
        tracing::debug!(?took, error_type = ending.error_type(), "a call has ended");
        if let Some(tool) = &self.tool {
            tool.record(ending, took);
            if let Some(hit) = self.exchange.standby() {
                tool.note_standby(hit);
            }
        }
        CallEnd { outcome, ending, took }
    }

    fn summary(&self) -> CallSummary<'_> {
        CallSummary { call: &self.call, target: self.target.as_ref(), exchange: self.exchange }
    }
}

impl Drop for Record<'_> {
    fn drop(&mut self) {
        if self.open {
            let outcome = Err(CallError::new(ErrorKind::Cancelled, "the call was given up"));
            let end = self.count(&outcome);
            for witness in &self.policies.witnesses {
                // Nobody is there to wait for it; the witness has been told.
                drop(witness.ended(&self.summary(), &end));
            }
        }
    }
}
