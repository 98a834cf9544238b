//! The outermost stage: every call is counted and recorded once, however it ends.

use std::sync::Arc;

use gantry_protocol::Method;
use tokio::time::Instant;

use super::Pipeline;
use crate::call::Call;
use crate::caller::Caller;
use crate::error::{CallError, ErrorKind};
use crate::policy::CallSummary;
use crate::reply::Outcome;

/// A call whose end is still to be recorded.
///
/// A client that leaves ends its call by dropping it, so that this is the one thing that is
/// recorded on drop: a tool may have done its work, and that must not go unseen.
pub(super) struct Record<'a> {
    pipeline: &'a Pipeline,
    method: Method,
    caller: Arc<Caller>,
    started: Instant,
    open: bool,
}

impl<'a> Record<'a> {
    pub(super) fn open(pipeline: &'a Pipeline, call: &Call) -> Self {
        let (method, caller) = (call.method.clone(), call.caller.clone());
        Self { pipeline, method, caller, started: Instant::now(), open: true }
    }

    /// Records how the call ended.
    pub(super) fn close(mut self, outcome: &Outcome) {
        self.open = false;
        self.write(outcome);
    }

    fn write(&self, outcome: &Outcome) {
        let took = self.started.elapsed();
        self.pipeline.meter.record(&self.method, outcome, took);
        for witness in &self.pipeline.witnesses {
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
