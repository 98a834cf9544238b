//! A call in flight as a stream of events: notifications, input requests, and the result. The listener
//! polls it; nothing runs otherwise, and dropping it cancels the call.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use gantry_protocol::{Level, RawJson};
use tokio::sync::Notify;

use crate::context::CallContext;
use crate::input_request::PendingInputRequest;
use crate::provider::Outcome;

/// A call in flight. It makes progress only while it is polled, so that a call may be set
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
            Poll::Ready(QueuedEvent::Notification(notification)) => {
                return Poll::Ready(CallEvent::Notification(notification));
            }
            Poll::Ready(QueuedEvent::InputRequests(input_requests)) => {
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

/// Something a call tells its client while it runs.
#[derive(Debug, Clone)]
pub enum CallNotification {
    /// Params of a progress notification, without the token, which the listener adds.
    Progress(RawJson),
    /// Params of a log message.
    Log(Level, RawJson),
    /// The provider expects to be long: a client that can come back later may hang up now.
    HangUp {
        /// When the client should come back.
        retry: Duration,
    },
    /// From here on the call runs long: a client that can come back for the result may leave, and
    /// the call becomes a task.
    Task {
        /// What it is doing, for people.
        message: Option<String>,
        /// How often it is worth asking how far it is.
        poll_interval: Option<Duration>,
        /// How long it should be known, from now on.
        ttl: Option<Duration>,
    },
}

/// What waits in the queue.
#[derive(Debug)]
pub(crate) enum QueuedEvent {
    Notification(CallNotification),
    InputRequests(Vec<PendingInputRequest>),
}

/// A bounded queue with one reader. Nothing is allocated until something is said.
#[derive(Debug)]
pub(crate) struct EventQueue {
    queue: Mutex<Queue>,
    space: Notify,
    limit: usize,
}

#[derive(Debug, Default)]
struct Queue {
    notifications: VecDeque<CallNotification>,
    input_requests: Vec<PendingInputRequest>,
    reader: Option<Waker>,
}

impl EventQueue {
    pub(crate) fn new(limit: usize) -> Self {
        Self { queue: Mutex::default(), space: Notify::new(), limit: limit.max(1) }
    }

    /// Queues a notification unless the queue is full. Returns whether it was queued.
    pub(crate) fn try_push(&self, notification: CallNotification) -> bool {
        let mut queue = self.lock();
        if queue.notifications.len() >= self.limit {
            return false;
        }
        queue.notifications.push_back(notification);
        wake(queue);
        true
    }

    /// Queues a notification that must not be lost, beyond the limit. The caller ensures that there are few.
    pub(crate) fn push_beyond_limit(&self, notification: CallNotification) {
        let mut queue = self.lock();
        queue.notifications.push_back(notification);
        wake(queue);
    }

    /// Queues a notification, waiting while the queue is full: a client that does not read slows down its own call.
    pub(crate) async fn push(&self, notification: CallNotification) {
        loop {
            let space = self.space.notified();
            if self.try_push(notification.clone()) {
                return;
            }
            space.await;
        }
    }

    pub(crate) fn push_input_request(&self, input_request: PendingInputRequest) {
        let mut queue = self.lock();
        queue.input_requests.push(input_request);
        wake(queue);
    }

    /// The next notification; then, if `with_input_requests`, all input requests at once. Registers the
    /// waker when there is nothing.
    pub(crate) fn poll(&self, waker: &Waker, with_input_requests: bool) -> Poll<QueuedEvent> {
        let mut queue = self.lock();
        if let Some(notification) = queue.notifications.pop_front() {
            drop(queue);
            self.space.notify_one();
            return Poll::Ready(QueuedEvent::Notification(notification));
        }
        if with_input_requests && !queue.input_requests.is_empty() {
            return Poll::Ready(QueuedEvent::InputRequests(std::mem::take(
                &mut queue.input_requests,
            )));
        }
        match &mut queue.reader {
            Some(reader) => reader.clone_from(waker),
            empty => *empty = Some(waker.clone()),
        }
        Poll::Pending
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wake(mut queue: MutexGuard<'_, Queue>) {
    let reader = queue.reader.take();
    drop(queue);
    if let Some(reader) = reader {
        reader.wake();
    }
}

#[cfg(test)]
mod tests;
