//! Who may do what: the policies that stand in the gateway's pipeline.
//!
//! Each is a gate, a ward, a sight or a witness of [`gantry_gateway::policy`]. None of them knows
//! HTTP, files or a database: what must outlive the program they keep in a [`Cabinet`].

mod audit;
mod cabinet;
mod signature;

pub use audit::{
    Audit, AuditLog, AuditLogError, AuditMode, AuditSettings, AuditedArguments, Redaction,
};
pub use cabinet::{Cabinet, CabinetError, MemoryCabinet};
pub use signature::Signer;
