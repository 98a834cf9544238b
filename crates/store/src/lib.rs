//! What outlives a restart, kept in a database.
//!
//! Calls never wait for it: they are counted in memory, and a [`Writer`] adds what is new to the
//! [`Store`] now and then. Only a call that becomes a task is written down first. This crate knows
//! none of the others; who uses it brings its numbers in the form that is kept.

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
