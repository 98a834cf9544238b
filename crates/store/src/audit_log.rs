//! The record of calls: lines of JSON in volumes, chained so that no line can be changed, removed
//! or moved unseen by who has not the key.
//!
//! Lines are taken by a [`AuditLog`], whose own thread chains and writes them. What a line says is
//! left to who writes it; here it is the members of an object.

mod anchor;
mod audit_log;
mod chain;
mod contents;
mod error;
mod finding;
mod index;
mod inspect;
mod queue;
mod read;
mod removal;
mod retention;
mod segment;
mod settings;
mod verify;
mod writer;

pub use anchor::{Anchor, Position};
pub use audit_log::{AuditLog, Kept};
pub use error::AuditError;
pub use finding::{Finding, Span};
pub use read::{Follower, SegmentFile, segments};
pub use removal::Removal;
pub use settings::AuditSettings;
pub use verify::{Condition, Report, SegmentReport, verify};

#[cfg(test)]
mod tests;
