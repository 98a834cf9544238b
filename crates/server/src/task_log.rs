//! Where tasks are written down, so that a client finds them again after a restart.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use gantry_protocol::RawJson;

/// A task as it is written down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRecord {
    /// Its name, which nobody can guess.
    pub id: String,
    /// When it is no longer needed, in milliseconds since 1970.
    pub expires: u64,
    /// All that is known of it. What is inside is the doors' business.
    pub text: RawJson,
}

/// Why a task could not be written down or read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TaskLogError(pub String);

/// Where tasks are written down. The doors write each task twice: when it begins, before its
/// client hears of it, and when it ends.
pub trait TaskLog: std::fmt::Debug + Send + Sync + 'static {
    /// Writes a task down, over what was written of it before.
    fn save(&self, record: TaskRecord) -> BoxFuture<'_, Result<(), TaskLogError>>;

    /// What was written of a task.
    fn load<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<TaskRecord>, TaskLogError>>;

    /// Forgets tasks that expired before that moment, in milliseconds since 1970.
    fn remove_expired(&self, now: u64) -> BoxFuture<'_, Result<(), TaskLogError>>;
}

/// Tasks in memory, which last until the program ends. Beyond the limit the oldest are forgotten.
#[derive(Debug)]
pub(crate) struct MemoryLog {
    limit: usize,
    shelf: Mutex<Shelf>,
}

#[derive(Debug, Default)]
struct Shelf {
    records: HashMap<String, TaskRecord>,
    /// In the order in which they were first written.
    order: VecDeque<String>,
    bytes: usize,
}

impl MemoryLog {
    /// Keeps about so many bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, shelf: Mutex::default() }
    }

    fn shelf(&self) -> std::sync::MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    fn put(&mut self, record: TaskRecord, limit: usize) {
        self.bytes += record.weight();
        match self.records.insert(record.id.clone(), record.clone()) {
            Some(before) => self.bytes -= before.weight(),
            None => self.order.push_back(record.id),
        }
        while self.bytes > limit {
            let Some(oldest) = self.order.pop_front() else { return };
            self.drop_record(&oldest);
        }
    }

    fn drop_record(&mut self, id: &str) {
        if let Some(record) = self.records.remove(id) {
            self.bytes -= record.weight();
        }
    }

    fn remove_expired(&mut self, now: u64) {
        let expired = self.records.values().filter(|record| record.expires < now);
        let expired: Vec<_> = expired.map(|record| record.id.clone()).collect();
        if !expired.is_empty() {
            expired.iter().for_each(|id| self.drop_record(id));
            let records = &self.records;
            self.order.retain(|id| records.contains_key(id));
        }
    }
}

impl TaskRecord {
    fn weight(&self) -> usize {
        self.text.bytes().len() + 2 * self.id.len() + size_of::<Self>()
    }
}

impl TaskLog for MemoryLog {
    fn save(&self, record: TaskRecord) -> BoxFuture<'_, Result<(), TaskLogError>> {
        self.shelf().put(record, self.limit);
        Box::pin(async { Ok(()) })
    }

    fn load<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<TaskRecord>, TaskLogError>> {
        let found = self.shelf().records.get(id).cloned();
        Box::pin(async { Ok(found) })
    }

    fn remove_expired(&self, now: u64) -> BoxFuture<'_, Result<(), TaskLogError>> {
        self.shelf().remove_expired(now);
        Box::pin(async { Ok(()) })
    }
}

#[cfg(test)]
mod tests;
