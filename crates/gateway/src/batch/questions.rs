//! Questions of the calls of a batch, on their way to its client.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ask::Question;
use crate::exchange::Exchange;

/// Questions on their way to the client.
///
/// For a client that is asked by way of the reply the whole batch stands still until the answers
/// come. So its questions are gathered until every call under way has asked: none is caught in
/// the middle of its work, and there are as few rounds as can be.
#[derive(Debug)]
pub(super) struct Questions {
    exchange: Exchange,
    gathers: bool,
    gathered: Mutex<Gathered>,
}

#[derive(Debug, Default)]
struct Gathered {
    questions: Vec<Question>,
    /// The calls that have asked.
    calls: BTreeSet<usize>,
}

impl Questions {
    /// Questions for the client on this line.
    pub(super) fn new(exchange: Exchange, gathers: bool) -> Self {
        Self { exchange, gathers, gathered: Mutex::default() }
    }

    /// A call asks. Its id tells its questions from those of others.
    pub(super) fn ask(&self, call: usize, id: &str, questions: Vec<Question>) {
        let named = questions.into_iter().map(|question| {
            let key = format!("{id}.{}", question.key);
            Question { key, ..question }
        });
        if self.gathers {
            let mut gathered = self.gathered();
            gathered.questions.extend(named);
            gathered.calls.insert(call);
        } else {
            named.for_each(|question| self.exchange.outbox().ask(question));
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
        let questions = std::mem::take(&mut gathered.questions);
        drop(gathered);
        // Some may have been given up meanwhile.
        let waited_for = questions.into_iter().filter(|question| !question.answer.is_closed());
        waited_for.for_each(|question| self.exchange.outbox().ask(question));
    }

    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
