//! The record of calls: lines of JSON in volumes, chained so that no line can be changed, removed
//! or moved unseen by who has not the key.
//!
//! Lines are taken by a [`Journal`], whose own thread chains and writes them. What a line says is
//! left to who writes it; here it is the members of an object.

mod anchor;
mod chain;
mod contents;
mod error;
mod finding;
mod index;
mod inspect;
mod journal;
mod pen;
mod queue;
mod read;
mod removal;
mod retention;
mod settings;
mod verify;
mod volume;

pub use anchor::{Anchor, Position};
pub use error::AuditError;
pub use finding::{Finding, Span};
pub use journal::{Journal, Kept};
pub use read::{Follower, VolumeFile, volumes};
pub use removal::Removal;
pub use settings::AuditSettings;
pub use verify::{Condition, Report, VolumeReport, verify};

#[cfg(test)]
mod tests;
