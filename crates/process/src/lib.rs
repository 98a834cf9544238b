//! Child processes, for tools that are programs and for servers over stdio.
//!
//! A [`Child`] serves one call and ends. A [`Session`] exchanges lines over stdin and stdout for as
//! long as it is wanted. Each child leads a session and a process group of its own, has the
//! parent-death signal, a clean environment, its pipes and no other descriptor; its whole group is
//! killed with it and the leader is reaped. An orphan reaper, a second small process, does the same
//! if this process dies first. No other crate starts processes or has unsafe code.

mod child;
mod command;
mod group;
pub mod memory;
mod orphan_reaper;
mod output;
mod spawn;
mod stdio_session;

#[cfg(test)]
mod tests;

pub use child::{Child, ChildLimits, End, Finished};
pub use command::{NOTICES_VARIABLE, Program, StartError};
pub use orphan_reaper::{enable_orphan_reaper, run_orphan_reaper};
pub use stdio_session::{FlushGuard, LineSender, SKIPPED, Session, SessionLimits, SessionLines};
