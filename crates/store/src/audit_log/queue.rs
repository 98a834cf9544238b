//! The bounded queue between the calls and the writer thread. Lines are gathered, so that a call
//! usually wakes no thread.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::AuditError;

/// Told when a line is durable, or why not.
pub(super) type Waiter = oneshot::Sender<Result<(), AuditError>>;

/// The lines that wait.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    wake: Condvar,
    /// Bytes that may wait.
    limit: usize,
    /// Bytes that are worth writing at once.
    batch: usize,
}

/// What was gathered.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Lines, each with a line's end.
    pub(super) text: Vec<u8>,
    /// Who waits for them.
    pub(super) waiters: Vec<Waiter>,
    /// Lines for which there was no room.
    pub(super) dropped: u64,
}

#[derive(Debug, Default)]
struct State {
    batch: Batch,
    /// Whether the thread waits for the first line.
    idle: bool,
    closed: bool,
}

impl Queue {
    pub(super) fn new(limit: usize, batch: usize) -> Self {
        Self { state: Mutex::default(), wake: Condvar::new(), limit, batch }
    }

    /// Takes a line that nobody waits for. One for which there is no room is counted.
    pub(super) fn push(&self, line: &[u8]) {
        let mut state = self.lock();
        if state.closed || state.batch.text.len() + line.len() >= self.limit {
            state.batch.dropped += 1;
            return;
        }
        let before = state.batch.text.len();
        state.batch.text.extend_from_slice(line);
        state.batch.text.push(b'\n');
        let is_full = before < self.batch && state.batch.text.len() >= self.batch;
        // Who wakes the thread takes it out of its idleness, so that the next need not.
        if std::mem::take(&mut state.idle) || is_full {
            drop(state);
            self.wake.notify_one();
        }
    }

    /// Takes a line that someone waits for.
    pub(super) fn push_waiting(&self, line: &[u8]) -> oneshot::Receiver<Result<(), AuditError>> {
        let (waiter, told) = oneshot::channel();
        let mut state = self.lock();
        let is_crowded = state.batch.text.len() + line.len() >= self.limit;
        if state.closed || is_crowded {
            let crowded = AuditError::Crowded(state.batch.text.len());
            state.batch.dropped += 1;
            // The other half is in our hands.
            let _ = waiter.send(Err(if is_crowded { crowded } else { AuditError::Closed }));
            return told;
        }
        state.batch.text.extend_from_slice(line);
        state.batch.text.push(b'\n');
        state.batch.waiters.push(waiter);
        state.idle = false;
        drop(state);
        self.wake.notify_one();
        told
    }

    /// Takes no more lines, and lets the thread end when it has taken the last.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        state.idle = false;
        drop(state);
        self.wake.notify_one();
    }

    /// Waits for a first line, for no longer than that, and then a while for more. Gives what there
    /// is, and whether it is the last.
    pub(super) fn take(&self, patience: Option<Duration>, gather: Duration) -> (Batch, bool) {
        let mut state = self.lock();
        state.idle = true;
        let until = patience.map(|patience| Instant::now() + patience);
        while state.batch.text.is_empty() && !state.closed {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                break;
            }
            state = self.wait(state, left);
        }
        state.idle = false;
        let until = Instant::now() + gather;
        while !self.is_due(&state) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.wait(state, Some(left));
        }
        // As much will come again.
        let text = Vec::with_capacity(state.batch.text.len().min(2 * self.batch));
        let next = Batch { text, ..Batch::default() };
        (std::mem::replace(&mut state.batch, next), state.closed)
    }

    fn is_due(&self, state: &State) -> bool {
        let batch = &state.batch;
        state.closed
            || !batch.waiters.is_empty()
            || batch.text.is_empty()
            || batch.text.len() >= self.batch
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        time: Option<Duration>,
    ) -> MutexGuard<'a, State> {
        match time {
            None => self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(time) => {
                self.wake.wait_timeout(state, time).unwrap_or_else(PoisonError::into_inner).0
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_no_room_is_counted() {
        let queue = Queue::new(10, 5);
        for line in ["1234", "5678", "9"] {
            queue.push(line.as_bytes());
        }
        let told = queue.push_waiting(b"waiting").blocking_recv().expect("an answer");
        assert!(matches!(told, Err(AuditError::Crowded(10))), "{told:?}");
        let (batch, last) = queue.take(None, Duration::ZERO);
        assert_eq!((batch.text.as_slice(), batch.dropped, last), (&b"1234\n5678\n"[..], 2, false));
        queue.close();
        queue.push(b"late");
        let told = queue.push_waiting(b"late").blocking_recv().expect("an answer");
        assert!(matches!(told, Err(AuditError::Closed)), "{told:?}");
        let (batch, last) = queue.take(None, Duration::ZERO);
        assert_eq!((batch.text.len(), batch.dropped, last), (0, 2, true));
    }
}
