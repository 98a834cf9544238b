//! The store, its settings, and what it keeps: documents, tasks, and statistics of tools.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::error::StoreError;
use crate::sqlite::Sqlite;

/// An open store.
#[derive(Debug)]
pub struct Store(Backend);

/// Where a store is kept. Another backend is another variant, and passes the same suite.
#[derive(Debug)]
enum Backend {
    Sqlite(Sqlite),
}

impl Store {
    /// Opens the store at an address such as `sqlite:///var/lib/gantry/gantry.db`, and makes it
    /// when it is not there.
    pub async fn open(address: &str, settings: &Settings) -> Result<Self, StoreError> {
        match address.split_once("://") {
            Some(("sqlite", path)) if !path.is_empty() => {
                Ok(Self(Backend::Sqlite(Sqlite::open(path.as_ref(), settings).await?)))
            }
            _ => Err(StoreError::Address(address.to_owned())),
        }
    }

    /// Adds to what is known of tools: all of it or, when it fails, nothing.
    pub async fn add_statistics(&self, added: &[ToolStatistics]) -> Result<(), StoreError> {
        match &self.0 {
            Backend::Sqlite(sqlite) => sqlite.add_statistics(added).await,
        }
    }

    /// What is known of every tool, by name.
    pub async fn statistics(&self) -> Result<Vec<ToolStatistics>, StoreError> {
        match &self.0 {
            Backend::Sqlite(sqlite) => sqlite.statistics().await,
        }
    }

    /// Writes a task down, over what was written of it before, and removes others that are too
    /// many by these limits.
    pub async fn save_task(&self, task: &TaskRow, limits: TaskLimits) -> Result<(), StoreError> {
        match &self.0 {
            Backend::Sqlite(sqlite) => sqlite.save_task(task, limits).await,
        }
    }

    /// What was written of a task.
    pub async fn task(&self, id: &str) -> Result<Option<TaskRow>, StoreError> {
        match &self.0 {
            Backend::Sqlite(sqlite) => sqlite.task(id).await,
        }
    }

    /// Forgets the tasks that expired before this moment, in milliseconds since 1970.
    pub async fn remove_expired_tasks(&self, now: u64) -> Result<(), StoreError> {
        match &self.0 {
            Backend::Sqlite(sqlite) => sqlite.remove_expired_tasks(now).await,
        }
    }

    /// Writes a document down, over what was written under its key before.
    pub async fn save_document(&self, kind: &str, document: &Document) -> Result<(), StoreError> {
        match &self.0 {
            Backend::Sqlite(sqlite) => sqlite.save_document(kind, document).await,
        }
    }

    /// All documents of a kind, by key.
    pub async fn documents(&self, kind: &str) -> Result<Vec<Document>, StoreError> {
        match &self.0 {
            Backend::Sqlite(sqlite) => sqlite.documents(kind).await,
        }
    }

    /// Removes a document. Returns whether there was one.
    pub async fn remove_document(&self, kind: &str, key: &str) -> Result<bool, StoreError> {
        match &self.0 {
            Backend::Sqlite(sqlite) => sqlite.remove_document(kind, key).await,
        }
    }

    /// Closes the store and waits until it is closed.
    pub async fn close(self) {
        match self.0 {
            Backend::Sqlite(sqlite) => sqlite.close().await,
        }
    }
}

/// One document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Which one of its kind.
    pub key: String,
    /// What it says, as JSON.
    pub content: String,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Its name.
    pub id: String,
    /// Whose it is.
    pub principal: String,
    /// After this moment nobody needs it, in milliseconds since 1970.
    pub expires: u64,
    /// All that is known of it, as JSON.
    pub record: String,
}

/// How many bytes of tasks are kept. Each counts for at least 4 KiB, a page of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskLimits {
    /// In all. Beyond that the oldest of the principal that has most are removed.
    pub total: u64,
    /// Of one principal. Beyond that its own oldest are removed.
    pub per_principal: u64,
}

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

/// What is known of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolStatistics {
    /// The tool.
    pub tool: String,
    /// Calls that have ended.
    pub calls: u64,
    /// How long they took together, in microseconds.
    pub micros: u64,
    /// Those that failed, by type of error.
    pub errors: BTreeMap<String, u64>,
    /// How many took at least so many microseconds, and less than the next.
    pub latency: BTreeMap<u64, u64>,
    /// Calls that found a process waiting.
    pub standby_hits: u64,
    /// Calls that found none.
    pub standby_misses: u64,
    /// When the last call ended, in milliseconds since 1970; 0 when there was none.
    pub last_call: u64,
}

impl ToolStatistics {
    /// What has been added since an earlier state of the same counters; none when nothing was.
    pub fn since(&self, earlier: &Self) -> Option<Self> {
        let added = Self {
            tool: self.tool.clone(),
            calls: self.calls.saturating_sub(earlier.calls),
            micros: self.micros.saturating_sub(earlier.micros),
            errors: grown(&self.errors, &earlier.errors),
            latency: grown(&self.latency, &earlier.latency),
            standby_hits: self.standby_hits.saturating_sub(earlier.standby_hits),
            standby_misses: self.standby_misses.saturating_sub(earlier.standby_misses),
            last_call: self.last_call,
        };
        let counted = added.calls + added.standby_hits + added.standby_misses;
        // Counters are read one by one while calls go on, so that the parts of a call may be seen
        // before its sum.
        let is_new = counted > 0 || !added.errors.is_empty() || !added.latency.is_empty();
        is_new.then_some(added)
    }
}

fn grown<K: Ord + Clone>(now: &BTreeMap<K, u64>, before: &BTreeMap<K, u64>) -> BTreeMap<K, u64> {
    let added = now.iter().map(|(key, count)| {
        (key.clone(), count.saturating_sub(before.get(key).copied().unwrap_or(0)))
    });
    added.filter(|(_, count)| *count > 0).collect()
}
