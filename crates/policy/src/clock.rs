//! The time of day, which may jump; what lasts while the program runs is measured with instants.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time of day. Tests have their own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    /// The clock of the machine.
    pub fn system() -> Self {
        Self::new(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs()))
    }

    /// A clock that tells seconds since 1970.
    pub fn new(seconds: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(seconds))
    }

    /// Seconds since 1970.
    pub fn seconds(&self) -> u64 {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Clock").field(&self.seconds()).finish()
    }
}
