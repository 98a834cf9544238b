//! The time of day, which never goes back here: what is over stays over, whatever the clock of the
//! machine is set to.

mod flusher;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

pub use flusher::ClockFlusher;

/// Tells the time of day. Clones are the same clock. Tests have their own.
#[derive(Clone)]
pub struct Clock(Arc<Inner>);

struct Inner {
    wall: Box<dyn Fn() -> u64 + Send + Sync>,
    /// From here on time is measured by instants too.
    started: Instant,
    /// The time that it must have been then, for every time that was seen since to be right.
    origin: AtomicU64,
}

impl Clock {
    /// The clock of the machine.
    pub fn system() -> Self {
        Self::over(|| {
            milliseconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
        })
    }

    /// A clock over one that tells seconds since 1970.
    pub fn new(seconds: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self::over(move || seconds().saturating_mul(1000))
    }

    fn over(wall: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        let (wall, origin) = (Box::new(wall), AtomicU64::new(0));
        Self(Arc::new(Inner { wall, started: Instant::now(), origin }))
    }

    /// Seconds since 1970: never less than before, and never less than the time that has passed.
    pub fn seconds(&self) -> u64 {
        self.reach((self.0.wall)()) / 1000
    }

    /// The same as a time.
    pub fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.seconds())
    }

    /// What the clock on the wall says, which may be anything.
    pub(crate) fn wall_seconds(&self) -> u64 {
        (self.0.wall)() / 1000
    }

    /// It is this late, if it is not later. Gives the time in milliseconds. Written only when that
    /// is news, since all calls share it.
    fn reach(&self, time: u64) -> u64 {
        let passed = milliseconds(self.0.started.elapsed());
        let (said, known) = (time.saturating_sub(passed), self.0.origin.load(Ordering::Relaxed));
        if said > known {
            self.0.origin.fetch_max(said, Ordering::Relaxed);
        }
        said.max(known).saturating_add(passed)
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Clock").field(&self.seconds()).finish()
    }
}

#[cfg(test)]
mod tests;
