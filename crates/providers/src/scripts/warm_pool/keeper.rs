//! Looks now and then at the processes that wait: whether they live, how large they are, and
//! whether there are too many or too few.

use std::iter::repeat_n;
use std::sync::{Arc, Weak};
use std::time::Duration;

use super::Standby;
use super::queue::Queue;

/// The longest time between two looks at those that wait.
const LONGEST: Duration = Duration::from_millis(500);
const SHORTEST: Duration = Duration::from_millis(10);

/// Looks after those that wait, until there are none.
pub(super) async fn keep(standby: Weak<Standby>) {
    loop {
        let Some(idle) = standby.upgrade().map(|it| it.settings.standby_idle) else { return };
        tokio::time::sleep((idle / 8).clamp(SHORTEST, LONGEST)).await;
        let Some(standby) = standby.upgrade() else { return };
        // To look at processes takes some system calls each, which is too little to leave for.
        if !standby.tend() {
            return;
        }
    }
}

impl Standby {
    /// Replaces those that died or were taken by calls that still run, and ends those that are not
    /// needed. Says whether there is more to look after.
    fn tend(self: &Arc<Self>) -> bool {
        let mut old = Vec::new();
        let mut state = self.state();
        let mut short = Vec::new();
        for queue in state.queues.values_mut() {
            queue.bury();
            old.extend(queue.shrink(self.settings.standby_idle));
            queue.measure();
            let missing = queue.missing(self.settings.standby_per_tool);
            short.extend(repeat_n(queue.manifest.clone(), missing));
        }
        while state.queues.values().map(Queue::memory).sum::<u64>() > self.settings.standby_memory {
            old.extend(state.evict(None));
        }
        for manifest in short {
            if self.has_room(&state, &manifest) {
                self.start(&mut state, &manifest);
            }
        }
        let most = self.settings.standby_per_tool;
        let any = state.queues.values().any(|queue| queue.len() > 0 || queue.missing(most) > 0);
        if !any {
            state.keeper = None;
        }
        drop(state);
        drop(old);
        any
    }
}
