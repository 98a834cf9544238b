//! A call under way, stepped by its door.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::context::CallContext;
use crate::event_queue::{CallNotification, Item};
use crate::input_request::PendingInputRequest;
use crate::reply::Outcome;

/// A call under way. It makes progress only while it is stepped, so that a call may be set
/// aside and taken up by another connection; dropping it cancels it.
pub struct CallStream {
    /// Gone once it is over, so that nobody polls it again.
    call: Option<Pin<Box<dyn Future<Output = Outcome> + Send>>>,
    call_context: CallContext,
    outcome: Option<Outcome>,
}

/// What happened next.
#[derive(Debug)]
pub enum CallEvent {
    /// Tell the client.
    Notification(CallNotification),
    /// Ask the client; everything the call wants to know now.
    InputRequests(Vec<PendingInputRequest>),
    /// It is over.
    Done(Outcome),
}

impl CallStream {
    pub(crate) fn new(
        call: impl Future<Output = Outcome> + Send + 'static,
        call_context: CallContext,
    ) -> Self {
        Self { call: Some(Box::pin(call)), call_context, outcome: None }
    }

    /// Lets the call take the time of a task: no client waits for it any more.
    pub fn run_by_itself(&self) {
        self.call_context.run_by_itself();
    }

    /// Waits for the next thing to happen. Safe to drop and call again.
    pub async fn next_event(&mut self) -> CallEvent {
        poll_fn(|context| self.poll_next_event(context)).await
    }

    /// As [`CallStream::next_event`], for those who poll by hand.
    pub fn poll_next_event(&mut self, context: &mut Context<'_>) -> Poll<CallEvent> {
        if let Some(call) = &mut self.call
            && let Poll::Ready(outcome) = call.as_mut().poll(context)
        {
            self.outcome = Some(outcome);
            self.call = None;
        }
        // What was said before the end is heard before the end.
        let open = self.call.is_some();
        match self.call_context.event_queue().poll(context.waker(), open) {
            Poll::Ready(Item::Notification(notification)) => {
                return Poll::Ready(CallEvent::Notification(notification));
            }
            Poll::Ready(Item::InputRequests(input_requests)) => {
                return Poll::Ready(CallEvent::InputRequests(input_requests));
            }
            Poll::Pending => {}
        }
        match self.outcome.take() {
            Some(outcome) => Poll::Ready(CallEvent::Done(outcome)),
            None => Poll::Pending,
        }
    }
}

impl Drop for CallStream {
    fn drop(&mut self) {
        self.call_context.end();
    }
}

impl std::fmt::Debug for CallStream {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Running").finish_non_exhaustive()
    }
}
