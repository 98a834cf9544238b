//! Streams that a client may leave and take up again: events are kept, numbered, for a while.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use gantry_transport::sse;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::quota::{Account, Resource};
use crate::settings::Settings;

/// The events of one stream.
#[derive(Debug)]
pub(crate) struct StreamLog {
    /// Tells this stream from the others of its session.
    pub(super) number: u64,
    state: Mutex<State>,
    news: Notify,
    /// That something was read, or a reader left.
    room: Notify,
    most_events: usize,
    most_bytes: usize,
    account: Arc<Account>,
}

#[derive(Debug, Default)]
struct State {
    events: VecDeque<(u64, Bytes)>,
    bytes: usize,
    last: u64,
    /// The last one that somebody has read.
    read: u64,
    finished: Option<Instant>,
    /// How often followers were sent away, and when they should come back.
    departures: u64,
    retry: Option<Duration>,
    followers: usize,
    /// When the last follower left.
    deserted: Option<Instant>,
}

impl StreamLog {
    /// An empty stream. What it keeps counts for that principal.
    pub(crate) fn new(number: u64, settings: &Settings, account: &Arc<Account>) -> Arc<Self> {
        Arc::new(Self {
            number,
            state: Mutex::default(),
            news: Notify::new(),
            room: Notify::new(),
            most_events: settings.replay_events,
            most_bytes: settings.replay_bytes,
            account: account.clone(),
        })
    }

    /// Adds a message unless the stream has ended. The oldest go when there are too many: nobody
    /// came back for them. Whoever is there is waited for until it has read them; one that does not
    /// read is sent away by its connection.
    pub(crate) async fn push(&self, message: Bytes) -> bool {
        loop {
            // Made before looking, so that nothing that comes in between is missed.
            let room = self.room.notified();
            if let Some(taken) = self.try_push(&message) {
                return taken;
            }
            room.await;
        }
    }

    /// Whether somebody is there for the oldest message, and has not read it, and it would have to
    /// go for another one.
    fn would_lose(&self, state: &State, more: usize) -> bool {
        let unread = state.events.front().is_some_and(|(number, _)| *number > state.read);
        let full = state.events.len() >= self.most_events
            || state.bytes + more > self.most_bytes
            || self.account.exceeds(Resource::Replay, more);
        state.followers > 0 && unread && full
    }

    /// Whether a message was taken; none while there is no room for it.
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
        while self.keeps_too_much(&state) {
            if let Some((_, oldest)) = state.events.pop_front() {
                state.bytes -= oldest.len();
                self.account.refund(Resource::Replay, oldest.len());
            }
        }
        drop(state);
        self.news.notify_waiters();
        Some(true)
    }

    /// Whether the oldest event has to go. The last one goes only if nobody is there to read it and
    /// the quota is used up.
    fn keeps_too_much(&self, state: &State) -> bool {
        let is_spent = || self.account.exceeds(Resource::Replay, 0);
        match state.events.len() {
            0 => false,
            1 => state.followers == 0 && is_spent(),
            events => events > self.most_events || state.bytes > self.most_bytes || is_spent(),
        }
    }

    /// Nothing more will come.
    pub(crate) fn finish(&self) {
        self.state().finished = Some(Instant::now());
        self.news.notify_waiters();
        self.room.notify_waiters();
    }

    /// Sends those who follow now away; the stream goes on without them.
    pub(crate) fn hang_up(&self, retry: Duration) {
        let mut state = self.state();
        state.departures += 1;
        state.retry = Some(retry);
        drop(state);
        self.news.notify_waiters();
    }

    /// Ends the streams of those who follow now, because another takes their place, and follows
    /// from here on.
    pub(crate) fn take_over(self: &Arc<Self>, prime: Option<Duration>) -> Follower {
        let mut state = self.state();
        state.departures += 1;
        state.retry = None;
        let last = state.last;
        drop(state);
        self.news.notify_waiters();
        self.follow(last, prime)
    }

    /// Whether the stream ended longer ago than `kept`.
    pub(super) fn is_stale(&self, kept: Duration) -> bool {
        self.state().finished.is_some_and(|finished| finished.elapsed() > kept)
    }

    /// Whether somebody reads it.
    pub(super) fn is_followed(&self) -> bool {
        self.state().followers > 0
    }

    /// Waits until nothing more will come.
    pub(crate) async fn finished(&self) {
        loop {
            let news = self.news.notified();
            if self.state().finished.is_some() {
                return;
            }
            news.await;
        }
    }

    /// Whether the last follower left longer ago than `kept`.
    pub(super) fn is_deserted(&self, kept: Duration) -> bool {
        let state = self.state();
        state.followers == 0 && state.deserted.is_some_and(|left| left.elapsed() > kept)
    }

    /// Follows the stream from after the event of that number. `prime` opens with an event that
    /// carries only a place to come back to.
    pub(crate) fn follow(self: &Arc<Self>, after: u64, prime: Option<Duration>) -> Follower {
        let mut state = self.state();
        state.followers += 1;
        state.read = state.read.min(after);
        let arrived = state.departures;
        drop(state);
        Follower { log: self.clone(), after, arrived, prime, farewell: false }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for StreamLog {
    fn drop(&mut self) {
        let kept = self.state().bytes;
        self.account.refund(Resource::Replay, kept);
    }
}

/// One reader of a stream.
#[derive(Debug)]
pub(crate) struct Follower {
    log: Arc<StreamLog>,
    after: u64,
    /// How many departures there had been when this reader came.
    arrived: u64,
    prime: Option<Duration>,
    farewell: bool,
}

impl Follower {
    /// The next event as it goes over the wire; none when there is nothing more for this reader.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        if let Some(retry) = self.prime.take() {
            return Some(self.event(self.after, Bytes::new(), Some(retry)));
        }
        loop {
            let log = self.log.clone();
            let news = log.news.notified();
            tokio::pin!(news);
            // Registers before looking, so that nothing that comes in between is missed.
            news.as_mut().enable();
            if let Some(ready) = self.ready() {
                return ready;
            }
            news.await;
        }
    }

    fn ready(&mut self) -> Option<Option<Bytes>> {
        let mut state = self.log.state();
        let next = state.events.iter().find(|(number, _)| *number > self.after).cloned();
        let (departures, retry) = (state.departures, state.retry);
        let finished = state.finished.is_some();
        if let Some((number, _)) = &next {
            state.read = state.read.max(*number);
        }
        drop(state);
        if let Some((number, message)) = next {
            self.log.room.notify_waiters();
            self.after = number;
            return Some(Some(self.event(number, message, None)));
        }
        if departures > self.arrived {
            let farewell = !std::mem::replace(&mut self.farewell, true) && retry.is_some();
            let wait = farewell.then(|| sse::Event {
                retry: retry.map(|retry| u64::try_from(retry.as_millis()).unwrap_or(u64::MAX)),
                id: Some(self.place(self.after)),
                ..sse::Event::default()
            });
            return Some(wait.map(|event| event.encode()));
        }
        finished.then_some(None)
    }

    fn event(&self, number: u64, data: Bytes, retry: Option<Duration>) -> Bytes {
        let retry = retry.map(|retry| u64::try_from(retry.as_millis()).unwrap_or(u64::MAX));
        sse::Event { name: None, id: Some(self.place(number)), retry, data }.encode()
    }

    fn place(&self, number: u64) -> String {
        format!("{}-{number}", self.log.number)
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut state = self.log.state();
        state.followers -= 1;
        state.deserted = Some(Instant::now());
        drop(state);
        self.log.room.notify_waiters();
    }
}

/// The stream and the event that a client names as the last it saw.
pub(super) fn parse_place(place: &str) -> Option<(u64, u64)> {
    let (stream, number) = place.split_once('-')?;
    Some((stream.parse().ok()?, number.parse().ok()?))
}

#[cfg(test)]
mod tests;
