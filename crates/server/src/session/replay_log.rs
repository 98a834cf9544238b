//! Resumable event streams: events are numbered and kept for a while, so that a client can resume
//! with `Last-Event-ID`.
//!
//! What is kept is bounded, but a reader that is connected loses nothing: the writer waits for it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use gantry_transport::sse;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::quota::{Account, Resource};
use crate::settings::Settings;

/// The kept events of one stream.
#[derive(Debug)]
pub(crate) struct ReplayLog {
    /// Distinguishes this stream from the others of its session.
    pub(crate) number: u64,
    state: Mutex<State>,
    /// Notified when there is something for readers.
    changed: Notify,
    /// Notified when an event was read, or a reader left.
    space: Notify,
    max_events: usize,
    max_bytes: usize,
    account: Arc<Account>,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<(u64, Bytes)>,
    bytes: usize,
    last: u64,
    /// The number of the last event that was read.
    read: u64,
    finished: Option<Instant>,
    /// How often readers were disconnected, and when they should reconnect.
    disconnects: u64,
    retry: Option<Duration>,
    readers: usize,
    /// When the last reader left.
    abandoned: Option<Instant>,
}

impl ReplayLog {
    /// An empty stream. What it keeps counts against the quota of that account.
    pub(crate) fn new(number: u64, settings: &Settings, account: &Arc<Account>) -> Arc<Self> {
        Arc::new(Self {
            number,
            state: Mutex::default(),
            changed: Notify::new(),
            space: Notify::new(),
            max_events: settings.replay_events,
            max_bytes: settings.replay_bytes,
            account: account.clone(),
        })
    }

    /// Adds a message unless the stream has ended. The oldest events are dropped when there are too
    /// many and no reader is connected. A connected reader is waited for until it has read them; one
    /// that does not read is disconnected by its write timeout.
    pub(crate) async fn push(&self, message: Bytes) -> bool {
        loop {
            // Created before looking, so that no notification in between is missed.
            let space = self.space.notified();
            if let Some(pushed) = self.try_push(&message) {
                return pushed;
            }
            space.await;
        }
    }

    /// Whether a connected reader has not read the oldest event, and that would have to go.
    fn would_lose(&self, state: &State, more: usize) -> bool {
        let unread = state.events.front().is_some_and(|(number, _)| *number > state.read);
        let full = state.events.len() >= self.max_events
            || state.bytes + more > self.max_bytes
            || self.account.exceeds(Resource::Replay, more);
        state.readers > 0 && unread && full
    }

    /// Whether a message was added; none while there is no space for it.
    fn try_push(&self, message: &Bytes) -> Option<bool> {
        let mut state = self.state();
        if state.finished.is_some() {
            return Some(false);
        }
        if self.would_lose(&state, message.len()) {
            return None;
        }
        state.last += 1;
        state.bytes += message.len();
        self.account.charge(Resource::Replay, message.len());
        let last = state.last;
        state.events.push_back((last, message.clone()));
        while self.exceeds_limits(&state) {
            if let Some((_, oldest)) = state.events.pop_front() {
                state.bytes -= oldest.len();
                self.account.refund(Resource::Replay, oldest.len());
            }
        }
        drop(state);
        self.changed.notify_waiters();
        Some(true)
    }

    /// Whether the oldest event has to go. The last one goes only if there is no reader and the
    /// quota is used up.
    fn exceeds_limits(&self, state: &State) -> bool {
        let is_spent = || self.account.exceeds(Resource::Replay, 0);
        match state.events.len() {
            0 => false,
            1 => state.readers == 0 && is_spent(),
            events => events > self.max_events || state.bytes > self.max_bytes || is_spent(),
        }
    }

    /// Ends the stream.
    pub(crate) fn finish(&self) {
        self.state().finished = Some(Instant::now());
        self.changed.notify_waiters();
        self.space.notify_waiters();
    }

    /// Disconnects the readers, who resume after `retry`; the stream goes on.
    pub(crate) fn disconnect(&self, retry: Duration) {
        let mut state = self.state();
        state.disconnects += 1;
        state.retry = Some(retry);
        drop(state);
        self.changed.notify_waiters();
    }

    /// Replaces the readers by a new one, which reads from here on: a client that reconnects before
    /// its old connection is known to be dead must not be locked out.
    pub(crate) fn replace_readers(self: &Arc<Self>, priming: Option<Duration>) -> ReplayReader {
        let mut state = self.state();
        state.disconnects += 1;
        state.retry = None;
        let last = state.last;
        drop(state);
        self.changed.notify_waiters();
        self.read_from(last, priming)
    }

    /// Whether the stream ended longer ago than `kept`.
    pub(crate) fn is_stale(&self, kept: Duration) -> bool {
        self.state().finished.is_some_and(|finished| finished.elapsed() > kept)
    }

    pub(crate) fn has_readers(&self) -> bool {
        self.state().readers > 0
    }

    /// Waits until the stream has ended.
    pub(crate) async fn finished(&self) {
        loop {
            let changed = self.changed.notified();
            if self.state().finished.is_some() {
                return;
            }
            changed.await;
        }
    }

    /// Whether the last reader left longer ago than `kept`.
    pub(crate) fn is_abandoned(&self, kept: Duration) -> bool {
        let state = self.state();
        state.readers == 0 && state.abandoned.is_some_and(|left| left.elapsed() > kept)
    }

    /// Reads the stream from after the event of that number. With `priming`, the first event has no
    /// data, only an id to resume from and the retry time.
    pub(crate) fn read_from(
        self: &Arc<Self>,
        after: u64,
        priming: Option<Duration>,
    ) -> ReplayReader {
        let mut state = self.state();
        state.readers += 1;
        state.read = state.read.min(after);
        let disconnects = state.disconnects;
        drop(state);
        ReplayReader { log: self.clone(), after, disconnects, priming, sent_retry: false }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ReplayLog {
    fn drop(&mut self) {
        let kept = self.state().bytes;
        self.account.refund(Resource::Replay, kept);
    }
}

/// One reader of a stream.
#[derive(Debug)]
pub(crate) struct ReplayReader {
    log: Arc<ReplayLog>,
    after: u64,
    /// The number of disconnects when this reader began.
    disconnects: u64,
    priming: Option<Duration>,
    sent_retry: bool,
}

impl ReplayReader {
    /// The next event, encoded; none at the end for this reader.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        if let Some(retry) = self.priming.take() {
            return Some(self.event(self.after, Bytes::new(), Some(retry)));
        }
        loop {
            let log = self.log.clone();
            let changed = log.changed.notified();
            tokio::pin!(changed);
            // Enabled before looking, so that no notification in between is missed.
            changed.as_mut().enable();
            if let Some(ready) = self.ready() {
                return ready;
            }
            changed.await;
        }
    }

    fn ready(&mut self) -> Option<Option<Bytes>> {
        let mut state = self.log.state();
        let next = state.events.iter().find(|(number, _)| *number > self.after).cloned();
        let (disconnects, retry) = (state.disconnects, state.retry);
        let finished = state.finished.is_some();
        if let Some((number, _)) = &next {
            state.read = state.read.max(*number);
        }
        drop(state);
        if let Some((number, message)) = next {
            self.log.space.notify_waiters();
            self.after = number;
            return Some(Some(self.event(number, message, None)));
        }
        if disconnects > self.disconnects {
            let send_retry = !std::mem::replace(&mut self.sent_retry, true) && retry.is_some();
            let event = send_retry.then(|| sse::Event {
                retry: retry.map(|retry| u64::try_from(retry.as_millis()).unwrap_or(u64::MAX)),
                id: Some(self.event_id(self.after)),
                ..sse::Event::default()
            });
            return Some(event.map(|event| event.encode()));
        }
        finished.then_some(None)
    }

    fn event(&self, number: u64, data: Bytes, retry: Option<Duration>) -> Bytes {
        let retry = retry.map(|retry| u64::try_from(retry.as_millis()).unwrap_or(u64::MAX));
        sse::Event { name: None, id: Some(self.event_id(number)), retry, data }.encode()
    }

    fn event_id(&self, number: u64) -> String {
        format!("{}-{number}", self.log.number)
    }
}

impl Drop for ReplayReader {
    fn drop(&mut self) {
        let mut state = self.log.state();
        state.readers -= 1;
        state.abandoned = Some(Instant::now());
        drop(state);
        self.log.space.notify_waiters();
    }
}

/// The numbers of stream and event in an event id.
pub(crate) fn parse_event_id(event_id: &str) -> Option<(u64, u64)> {
    let (stream, number) = event_id.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}

#[cfg(test)]
mod tests;
