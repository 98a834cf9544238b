//! One call in the form of the newest revision, with everything that it needs.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use gantry_protocol::{Level, Method, ParamsHead, RawJson, Trace};
use tokio::time::Instant;

use crate::caller::Caller;

/// A request on its way to a provider.
#[derive(Debug, Clone)]
pub struct Call {
    /// What is wanted.
    pub method: Method,
    /// The parameters as they came; an empty object when there were none.
    pub params: RawJson,
    /// Those of them that matter on the way.
    pub head: ParamsHead,
    /// Who wants it.
    pub caller: Arc<Caller>,
    /// Whether the client wants to hear of progress.
    pub wants_progress: bool,
    /// The least severe log message the client wants; none when it wants no messages.
    pub log_level: Option<Level>,
    /// Answers that came along, when this call continues an earlier one.
    pub input: Input,
    /// The trace that the call is part of, if the client sent one.
    pub trace: Option<Arc<Trace>>,
    /// Whether the client takes input requests with the reply and comes back with the responses.
    pub takes_input_requests: bool,
    /// How long the listener has waited for its target to be listed, which counts against the
    /// deadline; none if it has not looked.
    pub waited: Option<Duration>,
    /// When the session that the call belongs to first listed something: its first lists wait for
    /// servers that are being started, however late the client came.
    pub listing_since: Option<Instant>,
    /// Whether the client wants a task of a tool that does not run as one for it.
    pub wants_task: bool,
}

/// What a client sends back when it takes up a call that had asked for input.
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// The answers by key.
    pub responses: Option<RawJson>,
    /// The state that the earlier reply carried, for the provider that made it.
    pub state: Option<RawJson>,
}

impl Call {
    /// Replaces the arguments.
    pub(crate) fn set_arguments(&mut self, arguments: RawJson) {
        self.params = self.params.edit().set("arguments", arguments.clone()).apply();
        self.head.arguments = Some(arguments);
    }

    /// A call with no extras.
    pub fn new(method: Method, params: RawJson, caller: Arc<Caller>) -> Self {
        let head = ParamsHead::read(&params);
        Self::with_head(method, params, head, caller)
    }

    /// A call with no extras, whose head has been read already.
    pub fn with_head(
        method: Method,
        params: RawJson,
        head: ParamsHead,
        caller: Arc<Caller>,
    ) -> Self {
        Self {
            method,
            params,
            head,
            caller,
            wants_progress: false,
            log_level: None,
            input: Input::default(),
            trace: None,
            takes_input_requests: false,
            waited: None,
            listing_since: None,
            wants_task: false,
        }
    }
}

/// Chosen at the start of the program, so that numbers of two starts differ.
static START: LazyLock<String> = LazyLock::new(|| {
    let chosen = RandomState::new().hash_one(std::process::id()) as u32;
    format!("{chosen:08x}-")
});

static LAST: AtomicU64 = AtomicU64::new(0);

/// Which call it is: no two are alike, also after a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CallNumber(u64);

impl CallNumber {
    pub(crate) fn next() -> Self {
        Self(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

impl fmt::Display for CallNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&START)?;
        fmt::Display::fmt(&self.0, formatter)
    }
}
