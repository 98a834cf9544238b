//! Who may do what: the policies that stand in the gateway's pipeline.
//!
//! Each is a gate, a ward, a sight or a witness of [`gantry_gateway::policy`]. None of them knows
//! HTTP, files or a database: what must outlive the program they keep in a [`Cabinet`].

pub mod approvals;
mod archive;
mod cabinet;
mod clock;
#[cfg(test)]
mod house;
mod mask;
mod signature;
pub mod trust;

pub use approvals::Approvals;
pub use cabinet::{Cabinet, CabinetError, MemoryCabinet};
pub use clock::Clock;
pub use mask::masked;
pub use signature::Signer;
pub use trust::Trust;
