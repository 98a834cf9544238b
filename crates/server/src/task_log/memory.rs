//! Tasks in memory, which last until the program ends.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;

use super::{TaskLog, TaskLogError, TaskLogLimits, TaskRecord};

/// Tasks in memory.
#[derive(Debug, Default)]
pub(crate) struct MemoryLog(Mutex<Records>);

#[derive(Debug, Default)]
struct Records {
    by_id: HashMap<String, TaskRecord>,
    by_principal: HashMap<String, Usage>,
    bytes: usize,
}

/// What one principal has here.
#[derive(Debug, Default)]
struct Usage {
    /// Its tasks, in the order in which they were first written.
    order: VecDeque<String>,
    bytes: usize,
}

impl Records {
    fn put(&mut self, record: TaskRecord, limits: TaskLogLimits) {
        let (id, principal) = (record.id.clone(), record.principal.clone());
        let weight = record.weight();
        let usage = self.by_principal.entry(principal.clone()).or_default();
        usage.bytes += weight;
        self.bytes += weight;
        match self.by_id.insert(id.clone(), record) {
            Some(before) => {
                usage.bytes -= before.weight();
                self.bytes -= before.weight();
            }
            None => usage.order.push_back(id.clone()),
        }
        while self.of(&principal) > limits.per_principal && self.remove_oldest(&principal, &id) {}
        while self.bytes > limits.total {
            let usage = self.by_principal.iter().max_by_key(|(_, usage)| usage.bytes);
            let Some(most) = usage.map(|(principal, _)| principal.clone()) else { return };
            if !self.remove_oldest(&most, &id) {
                return;
            }
        }
    }

    fn of(&self, principal: &str) -> usize {
        self.by_principal.get(principal).map_or(0, |usage| usage.bytes)
    }

    /// Removes the oldest task of a principal but this one. Returns whether there was one.
    fn remove_oldest(&mut self, principal: &str, but: &str) -> bool {
        let Some(usage) = self.by_principal.get_mut(principal) else { return false };
        let oldest = usage.order.iter().position(|id| id != but);
        let Some(id) = oldest.and_then(|oldest| usage.order.remove(oldest)) else { return false };
        if let Some(record) = self.by_id.remove(&id) {
            usage.bytes -= record.weight();
            self.bytes -= record.weight();
        }
        true
    }

    fn remove_expired(&mut self, now: u64) {
        let mut removed = false;
        for (_, record) in self.by_id.extract_if(|_, record| record.expires < now) {
            removed = true;
            self.bytes -= record.weight();
            if let Some(usage) = self.by_principal.get_mut(&record.principal) {
                usage.bytes -= record.weight();
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
    pub(super) fn weight(&self) -> usize {
        self.text.bytes().len() + 2 * self.id.len() + self.principal.len() + size_of::<Self>()
    }
}

impl TaskLog for MemoryLog {
    fn save(
        &self,
        record: TaskRecord,
        limits: TaskLogLimits,
    ) -> BoxFuture<'_, Result<(), TaskLogError>> {
        self.records().put(record, limits);
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
