//! Questions of the calls of a batch, on their way to its client.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::context::CallContext;
use crate::input_request::PendingInputRequest;

/// Questions on their way to the client.
///
/// For a client that is asked by way of the reply the whole batch stands still until the answers
/// come. So its questions are gathered until every call under way has asked: none is caught in
/// the middle of its work, and there are as few rounds as can be.
#[derive(Debug)]
pub(super) struct InputRequests {
    context: CallContext,
    gathers: bool,
    gathered: Mutex<Gathered>,
}

#[derive(Debug, Default)]
struct Gathered {
    input_requests: Vec<PendingInputRequest>,
    /// The calls that have asked.
    calls: BTreeSet<usize>,
}

impl InputRequests {
    /// Questions for the client on this line.
    pub(super) fn new(context: CallContext, gathers: bool) -> Self {
        Self { context, gathers, gathered: Mutex::default() }
    }

    /// A call asks. Its id tells its questions from those of others.
    pub(super) fn ask(&self, call: usize, id: &str, input_requests: Vec<PendingInputRequest>) {
        let named = input_requests.into_iter().map(|input_request| {
            let key = format!("{id}.{}", input_request.key);
            PendingInputRequest { key, ..input_request }
        });
        if self.gathers {
            let mut gathered = self.gathered();
            gathered.input_requests.extend(named);
            gathered.calls.insert(call);
        } else {
            named.for_each(|input_request| self.context.event_queue().ask(input_request));
        }
    }

    /// A call is over.
    pub(super) fn forget(&self, call: usize) {
        self.gathered().calls.remove(&call);
    }

    /// Sends off what was gathered once all of the calls under way have asked.
    pub(super) fn release(&self, under_way: usize) {
        let mut gathered = self.gathered();
        if gathered.calls.len() < under_way {
            return;
        }
        gathered.calls.clear();
        let input_requests = std::mem::take(&mut gathered.input_requests);
        drop(gathered);
        // Some may have been given up meanwhile.
        let waited_for =
            input_requests.into_iter().filter(|input_request| !input_request.answer.is_closed());
        waited_for.for_each(|input_request| self.context.event_queue().ask(input_request));
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
