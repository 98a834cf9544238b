//! What is noted of a call at its end: only handles, so that the call does not wait for text to be
//! written.

use std::sync::Arc;
use std::time::SystemTime;

use gantry_gateway::filter::{CallEnd, CallSummary, PolicyDecision};
use gantry_gateway::{CallNumber, Caller, Span, Target, Trace};
use gantry_protocol::{Method, RawJson};

/// Something to send.
#[derive(Debug)]
pub(super) enum Item {
    Call(Box<ObservedCall>),
    Record(ObservedRecord),
}

/// A call that has ended.
#[derive(Debug)]
pub(super) struct ObservedCall {
    pub(super) number: CallNumber,
    pub(super) method: Method,
    /// What the client calls the target.
    pub(super) named: Option<RawJson>,
    /// The target, if there is one of that name.
    pub(super) target: Option<Target>,
    pub(super) caller: Arc<Caller>,
    pub(super) decision: Option<PolicyDecision>,
    pub(super) failure: Option<&'static str>,
    pub(super) trace: u128,
    pub(super) parent: Option<u64>,
    pub(super) state: Option<String>,
    /// The call as a whole.
    pub(super) whole: Part,
    /// The part of its provider, if it was reached.
    pub(super) work: Option<Part>,
}

/// A span's id and time.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) id: u64,
    pub(super) start: SystemTime,
    pub(super) end: SystemTime,
}

/// A record of a call.
#[derive(Debug)]
pub(super) struct ObservedRecord {
    pub(super) at: SystemTime,
    pub(super) record: RawJson,
    pub(super) trace: Option<Trace>,
}

impl Item {
    /// How many spans or records it becomes.
    pub(super) fn weight(&self) -> u64 {
        match self {
            Self::Call(call) => 1 + u64::from(call.work.is_some()),
            Self::Record(_) => 1,
        }
    }
}

impl ObservedCall {
    pub(super) fn new(summary: &CallSummary<'_>, span: &Span, ended: &CallEnd<'_>) -> Self {
        let CallSummary { call, target, context } = summary;
        let end = SystemTime::now();
        let part = |id, took| Part { id, start: end.checked_sub(took).unwrap_or(end), end };
        Self {
            number: context.number(),
            method: call.method.clone(),
            named: call.head.name.clone().or_else(|| call.head.uri.clone()),
            target: target.cloned(),
            caller: call.caller.clone(),
            decision: context.among_decisions(|all| all.last().cloned()),
            failure: ended.outcome_class.error_type(),
            trace: span.trace,
            parent: span.parent,
            state: span.state.clone(),
            whole: part(span.call, ended.took),
            work: span.worked().map(|took| part(span.work, took)),
        }
    }
}
