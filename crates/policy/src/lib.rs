//! Who may do what: the policies that stand in the gateway's pipeline.
//!
//! Each is a gate, a ward, a sight or a witness of [`gantry_gateway::policy`]. None of them knows
//! HTTP, files or a database: what must outlive the program they keep in a [`Cabinet`].

mod cabinet;
mod signature;
mod token;
mod tokens;

pub use cabinet::{Cabinet, CabinetError, MemoryCabinet};
pub use signature::Signer;
pub use token::{Token, TokenRecord};
pub use tokens::{Principal, TokenError, TokenRefusal, Tokens};
