//! The outermost stage: every call is counted and recorded once, however it ends.

use std::sync::Arc;

use gantry_protocol::Method;
use tokio::time::Instant;

use super::{Pipeline, Policies};
use crate::call::Call;
use crate::caller::Caller;
use crate::error::{CallError, ErrorKind};
use crate::exchange::Exchange;
use crate::policy::{CallSummary, Ending, ToolMeter};
use crate::provider::Target;
use crate::reply::Outcome;

/// A call whose end is still to be recorded.
///
/// A client that leaves ends its call by dropping it, so that this is the one thing that is
/// recorded on drop: a tool may have done its work, and that must not go unseen.
pub(super) struct Record<'a> {
    policies: &'a Policies,
    method: Method,
    caller: Arc<Caller>,
    exchange: &'a Exchange,
    tool: Option<Arc<ToolMeter>>,
    started: Instant,
    open: bool,
}

impl<'a> Record<'a> {
    pub(super) fn open(pipeline: &'a Pipeline, call: &Call, exchange: &'a Exchange) -> Self {
        let (method, caller) = (call.method.clone(), call.caller.clone());
        let (policies, started) = (&*pipeline.policies, Instant::now());
        Self { policies, method, caller, exchange, tool: None, started, open: true }
    }

    /// Notes what the call is for, once that is known to be in the catalog.
    pub(super) fn found(&mut self, target: &Target) {
        if let Target::Tool(tool) = target {
            self.tool = Some(self.policies.meter.tool(&tool.name));
        }
    }

    /// Records how the call ended.
    pub(super) fn close(mut self, outcome: &Outcome) {
        self.open = false;
        self.write(outcome);
    }

    fn write(&self, outcome: &Outcome) {
        let took = self.started.elapsed();
        let ending = Ending::of(outcome);
        self.policies.meter.record(&self.method, ending, took);
        if let Some(tool) = &self.tool {
            tool.record(ending, took);
            if let Some(hit) = self.exchange.standby() {
                tool.note_standby(hit);
            }
        }
        for witness in &self.policies.witnesses {
            let principal = &self.caller.principal;
            witness.ended(&CallSummary { method: &self.method, principal, outcome, took });
        }
    }
}

impl Drop for Record<'_> {
    fn drop(&mut self) {
        if self.open {
            self.write(&Err(CallError::new(ErrorKind::Cancelled, "the call was given up")));
        }
    }
}
