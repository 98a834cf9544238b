//! What outlives a restart, kept in a database.
//!
//! Calls never wait for it: they are counted in memory, and a [`Writer`] adds what is new to the
//! [`Store`] now and then. Only a call that becomes a task is written down first. This crate knows
//! none of the others; who uses it brings its numbers in the form that is kept.

pub mod audit_log;
mod documents;
mod error;
mod settings;
mod sqlite;
mod statistics;
mod store;
#[cfg(test)]
mod suite;
mod tasks;
mod writer;

pub use documents::Document;
pub use error::StoreError;
pub use settings::Settings;
pub use statistics::ToolStatistics;
pub use store::Store;
pub use tasks::{TaskLimits, TaskRow};
pub use writer::{Source, Writer};
