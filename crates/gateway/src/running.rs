//! A call under way, stepped by its door.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::ask::Question;
use crate::exchange::Exchange;
use crate::outbox::{Item, Notice};
use crate::reply::Outcome;

/// A call under way. It makes progress only while it is stepped, so that a call may be set
/// aside and taken up by another connection; dropping it cancels it.
pub struct Running {
    /// Gone once it is over, so that nobody polls it again.
    call: Option<Pin<Box<dyn Future<Output = Outcome> + Send>>>,
    exchange: Exchange,
    outcome: Option<Outcome>,
}

/// What happened next.
#[derive(Debug)]
pub enum Step {
    /// Tell the client.
    Notice(Notice),
    /// Ask the client; everything the call wants to know now.
    Questions(Vec<Question>),
    /// It is over.
    Done(Outcome),
}

impl Running {
    pub(crate) fn new(
        call: impl Future<Output = Outcome> + Send + 'static,
        exchange: Exchange,
    ) -> Self {
        Self { call: Some(Box::pin(call)), exchange, outcome: None }
    }

    /// Lets the call take the time of a task: no client waits for it any more.
    pub fn run_by_itself(&self) {
        self.exchange.run_by_itself();
    }

    /// Waits for the next thing to happen. Safe to drop and call again.
    pub async fn step(&mut self) -> Step {
        poll_fn(|context| self.poll_step(context)).await
    }

    /// As [`Running::step`], for those who poll by hand.
    pub fn poll_step(&mut self, context: &mut Context<'_>) -> Poll<Step> {
        if let Some(call) = &mut self.call
            && let Poll::Ready(outcome) = call.as_mut().poll(context)
        {
            self.outcome = Some(outcome);
            self.call = None;
        }
        // What was said before the end is heard before the end.
        let open = self.call.is_some();
        match self.exchange.outbox().poll(context.waker(), open) {
            Poll::Ready(Item::Notice(notice)) => return Poll::Ready(Step::Notice(notice)),
            Poll::Ready(Item::Questions(questions)) => {
                return Poll::Ready(Step::Questions(questions));
            }
            Poll::Pending => {}
        }
        match self.outcome.take() {
            Some(outcome) => Poll::Ready(Step::Done(outcome)),
            None => Poll::Pending,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.exchange.end();
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Running").finish_non_exhaustive()
    }
}
