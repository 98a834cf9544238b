//! Persistence: a database for statistics, tasks and documents, and the audit log.
//!
//! Calls do not wait for the database: they are counted in memory, and a [`Writer`] flushes what
//! is new to the [`Store`] periodically. Only a call that becomes a task is persisted first. This
//! crate uses none of the others; callers convert their values.

pub mod audit_log;
mod error;
mod sqlite;
mod store;
#[cfg(test)]
mod suite;
mod writer;

pub use error::StoreError;
pub use store::{Document, Settings, Store, TaskLimits, TaskRow, ToolStatistics};
pub use writer::{Source, Writer};
