//! Where tasks are written down, so that a client finds them again after a restart.

mod memory;

pub(crate) use memory::MemoryLog;

use futures_util::future::BoxFuture;
use gantry_protocol::RawJson;

/// A task as it is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRecord {
    /// Its name, which nobody can guess.
    pub id: String,
    /// Whose it is.
    pub principal: String,
    /// When it is no longer needed, in milliseconds since 1970.
    pub expires: u64,
    /// All that is known of it. What is inside is the doors' business.
    pub text: RawJson,
}

/// How many bytes of tasks a log keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskLogLimits {
    /// In all. Beyond that the oldest of the principal that has most are removed.
    pub total: usize,
    /// Of one principal. Beyond that its own oldest are removed.
    pub per_principal: usize,
}

/// Why a task could not be written down or read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TaskLogError(pub String);

/// Where tasks are written down. The doors write each task twice: when it begins, before its
/// client hears of it, and when it ends.
pub trait TaskLog: std::fmt::Debug + Send + Sync + 'static {
    /// Writes a task down, over what was written of it before, and removes others that are too
    /// many by these limits. The one that is written stays.
    fn save(
        &self,
        record: TaskRecord,
        limits: TaskLogLimits,
    ) -> BoxFuture<'_, Result<(), TaskLogError>>;

    /// What was written of a task.
    fn load<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<TaskRecord>, TaskLogError>>;

    /// Forgets tasks that expired before that moment, in milliseconds since 1970.
    fn remove_expired(&self, now: u64) -> BoxFuture<'_, Result<(), TaskLogError>>;
}

#[cfg(test)]
mod tests;
