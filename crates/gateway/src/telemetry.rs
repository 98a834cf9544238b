//! What traces and logs know of a call: its trace spans, and the call that a thread works on, so that
//! every log line can name it. The call is only referenced; nothing is formatted until there is a line.

use std::sync::OnceLock;
use std::time::Duration;

use gantry_protocol::{Trace, TraceParent};
use tokio::time::Instant;

use crate::context::CallContext;

tokio::task_local! {
    static CURRENT: CallContext;
}

/// Does the work of a call. Whatever is polled or dropped in it has this call as the current one.
pub(crate) fn scope<T>(
    context: CallContext,
    work: impl Future<Output = T>,
) -> impl Future<Output = T> {
    CURRENT.scope(context, work)
}

/// Looks at the call that is being worked on here; none outside of any.
pub fn with_current<T>(look: impl FnOnce(&CallContext) -> T) -> Option<T> {
    CURRENT.try_with(look).ok()
}

/// The trace spans of a call: one for the call as a whole, one for the provider's part. An observer chooses them.
#[derive(Debug)]
pub struct Span {
    /// The trace.
    pub trace: u128,
    /// The span of the caller, if it has one.
    pub parent: Option<u64>,
    /// The span of the call as a whole.
    pub call: u64,
    /// The span of the provider's part, which whatever stands behind has as its parent.
    pub work: u64,
    /// Whether they are recorded.
    pub sampled: bool,
    /// `tracestate`, as it came.
    pub state: Option<String>,
    /// When the provider's part began, once it has.
    pub begun: OnceLock<Instant>,
}

impl Span {
    /// The trace as it is passed on to what stands behind the gateway.
    pub fn onward(&self) -> Trace {
        self.at(self.work)
    }

    /// The trace at the call as a whole, for what is said of it elsewhere.
    pub fn whole(&self) -> Trace {
        self.at(self.call)
    }

    fn at(&self, span: u64) -> Trace {
        let parent = TraceParent { trace: self.trace, span, sampled: self.sampled };
        Trace { parent: parent.to_string(), state: self.state.clone() }
    }

    /// How long the provider has worked so far; none if it was not reached.
    pub fn worked(&self) -> Option<Duration> {
        self.begun.get().map(Instant::elapsed)
    }
}
