//! The task log: where tasks are stored, so that a client finds them after a restart; and the one in
//! memory, which is used when there is no store.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use gantry_protocol::RawJson;

/// The record of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRecord {
    /// Its id, which cannot be guessed.
    pub id: String,
    /// The principal that owns it.
    pub principal: String,
    /// When it expires, in milliseconds since 1970.
    pub expires: u64,
    /// Its state, opaque to the log.
    pub text: RawJson,
}

/// The size limits of a log, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskLogLimits {
    /// Of all records. Beyond it the oldest of the principal with the most bytes are removed.
    pub total: usize,
    /// Of one principal. Beyond it the principal's oldest are removed.
    pub per_principal: usize,
}

/// A failure to write or read the log.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TaskLogError(pub String);

/// A store of task records. Each task is written twice: when it starts, before its client is sent its
/// id, and when it ends.
pub trait TaskLog: std::fmt::Debug + Send + Sync + 'static {
    /// Writes a record over the previous one of the same task, and removes others beyond the limits.
    /// The written one stays.
    fn save(
        &self,
        record: TaskRecord,
        limits: TaskLogLimits,
    ) -> BoxFuture<'_, Result<(), TaskLogError>>;

    /// Reads the record of a task.
    fn load<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<TaskRecord>, TaskLogError>>;

    /// Removes the records that expired before `now`, in milliseconds since 1970.
    fn remove_expired(&self, now: u64) -> BoxFuture<'_, Result<(), TaskLogError>>;
}

/// A task log in memory, which lasts until the process ends.
#[derive(Debug, Default)]
pub(super) struct MemoryLog(Mutex<Records>);

#[derive(Debug, Default)]
struct Records {
    by_id: HashMap<String, TaskRecord>,
    by_principal: HashMap<String, Usage>,
    bytes: usize,
}

/// The records of one principal.
#[derive(Debug, Default)]
struct Usage {
    /// Task ids, in the order in which they were first written.
    order: VecDeque<String>,
    bytes: usize,
}

impl Records {
    fn insert(&mut self, record: TaskRecord, limits: TaskLogLimits) {
        let (id, principal) = (record.id.clone(), record.principal.clone());
        let size = record.size();
        let usage = self.by_principal.entry(principal.clone()).or_default();
        usage.bytes += size;
        self.bytes += size;
        match self.by_id.insert(id.clone(), record) {
            Some(before) => {
                usage.bytes -= before.size();
                self.bytes -= before.size();
            }
            None => usage.order.push_back(id.clone()),
        }
        while self.bytes_of(&principal) > limits.per_principal
            && self.remove_oldest(&principal, &id)
        {}
        while self.bytes > limits.total {
            let usage = self.by_principal.iter().max_by_key(|(_, usage)| usage.bytes);
            let Some(most) = usage.map(|(principal, _)| principal.clone()) else { return };
            if !self.remove_oldest(&most, &id) {
                return;
            }
        }
    }

    fn bytes_of(&self, principal: &str) -> usize {
        self.by_principal.get(principal).map_or(0, |usage| usage.bytes)
    }

    /// Removes the oldest record of a principal, except this one. Returns whether there was one.
    fn remove_oldest(&mut self, principal: &str, except: &str) -> bool {
        let Some(usage) = self.by_principal.get_mut(principal) else { return false };
        let oldest = usage.order.iter().position(|id| id != except);
        let Some(id) = oldest.and_then(|oldest| usage.order.remove(oldest)) else { return false };
        if let Some(record) = self.by_id.remove(&id) {
            usage.bytes -= record.size();
            self.bytes -= record.size();
        }
        true
    }

    fn remove_expired(&mut self, now: u64) {
        let mut removed = false;
        for (_, record) in self.by_id.extract_if(|_, record| record.expires < now) {
            removed = true;
            self.bytes -= record.size();
            if let Some(usage) = self.by_principal.get_mut(&record.principal) {
                usage.bytes -= record.size();
            }
        }
        if !removed {
            return;
        }
        let known = &self.by_id;
        self.by_principal.retain(|_, usage| {
            usage.order.retain(|id| known.contains_key(id));
            !usage.order.is_empty()
        });
    }
}

impl MemoryLog {
    fn records(&self) -> MutexGuard<'_, Records> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskRecord {
    pub(crate) fn size(&self) -> usize {
        self.text.bytes().len() + 2 * self.id.len() + self.principal.len() + size_of::<Self>()
    }
}

impl TaskLog for MemoryLog {
    fn save(
        &self,
        record: TaskRecord,
        limits: TaskLogLimits,
    ) -> BoxFuture<'_, Result<(), TaskLogError>> {
        self.records().insert(record, limits);
        Box::pin(async { Ok(()) })
    }

    fn load<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<TaskRecord>, TaskLogError>> {
        let found = self.records().by_id.get(id).cloned();
        Box::pin(async { Ok(found) })
    }

    fn remove_expired(&self, now: u64) -> BoxFuture<'_, Result<(), TaskLogError>> {
        self.records().remove_expired(now);
        Box::pin(async { Ok(()) })
    }
}

#[cfg(test)]
mod tests;
