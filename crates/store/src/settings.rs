//! The limits of the store.

use std::time::Duration;

/// Every limit of the store, with its default.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a write waits for another program that is writing.
    pub busy: Duration,
    /// How large the database may become, in bytes.
    pub size: u64,
    /// What is kept of it in memory, in bytes.
    pub cache: u64,
    /// How large the journal may stay once its content has been moved, in bytes.
    pub journal: u64,
    /// How often what is new is written.
    pub every: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            busy: Duration::from_secs(2),
            size: 1 << 30,
            cache: 256 << 10,
            journal: 1 << 20,
            every: Duration::from_secs(5),
        }
    }
}
