//! Calls that wait until a test lets them go, and counters that tests can wait for.

use std::sync::Arc;

use tokio::sync::watch;

/// Calls that wait. Clones share the gate.
#[derive(Debug, Clone, Default)]
pub struct Latch(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    started: watch::Sender<usize>,
    finished: watch::Sender<usize>,
    cancelled: watch::Sender<usize>,
    open: watch::Sender<bool>,
}

impl Latch {
    /// Waits until the gate is opened. A caller that is dropped before counts as cancelled.
    pub async fn pass(&self) {
        let mut passing = Passing(self, false);
        self.0.started.send_modify(|count| *count += 1);
        let mut open = self.0.open.subscribe();
        let opened = open.wait_for(|open| *open).await;
        opened.expect("the gate outlives who waits at it");
        passing.1 = true;
    }

    /// Lets everyone through.
    pub fn open(&self) {
        self.0.open.send_replace(true);
    }

    /// Ends when that many calls have started.
    pub async fn started(&self, count: usize) {
        reach(&self.0.started, count).await;
    }

    /// Ends when that many calls have finished.
    pub async fn finished(&self, count: usize) {
        reach(&self.0.finished, count).await;
    }

    /// Ends when that many calls have been cancelled.
    pub async fn cancelled(&self, count: usize) {
        reach(&self.0.cancelled, count).await;
    }

    /// How many calls have started so far.
    pub fn starts(&self) -> usize {
        *self.0.started.borrow()
    }

    /// How many calls have been cancelled so far.
    pub fn cancels(&self) -> usize {
        *self.0.cancelled.borrow()
    }
}

async fn reach(counter: &watch::Sender<usize>, count: usize) {
    let mut seen = counter.subscribe();
    let reached = seen.wait_for(|seen| *seen >= count);
    crate::test_server::soon("a counter of the gate", reached).await.expect("the counter is alive");
}

/// Someone on the way through the gate, and whether it got there.
struct Passing<'a>(&'a Latch, bool);

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        let Latch(counters) = self.0;
        let counter = match self.1 {
            true => &counters.finished,
            false => &counters.cancelled,
        };
        counter.send_modify(|count| *count += 1);
    }
}
