//! The store, wherever it is kept.

use crate::documents::Document;
use crate::error::StoreError;
use crate::settings::Settings;
use crate::sqlite::Sqlite;
use crate::statistics::ToolStatistics;
use crate::tasks::{TaskLimits, TaskRow};

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
