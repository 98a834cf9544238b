//! The only place in the doors that knows revisions: what comes in is lifted to the newest form,
//! what goes out is lowered to the client's, and questions reach clients of either kind.

mod checks;
mod discover;
mod errors;
mod handshake;
mod listen;
mod parking;
mod parsed;
mod replay;
mod request_context;
mod session;
mod sessions;
mod stateful;
mod stateless;
mod task;
mod task_table;

pub(crate) use checks::unsupported;
pub(crate) use errors::Status;
pub(crate) use handshake::Handshake;
pub(crate) use listen::Listening;
pub(crate) use parking::Parking;
pub(crate) use parsed::{ParsedRequest, Received, named_trace, receive};
pub(crate) use replay::{Follower, StreamLog};
pub(crate) use request_context::RequestContext;
pub(crate) use session::{Handled, Session, listen_for};
pub(crate) use sessions::{HttpSession, SessionLookup, Sessions, mint};
pub(crate) use stateful::{Wire, drive, finish};
pub(crate) use stateless::{Outbound, Prepared, StatelessCall, prepare};
pub(crate) use task_table::TaskTable;

use gantry_protocol::Revision;

use crate::settings::Eras;

/// The revisions served, newest first: what discovery and refusals name.
pub(crate) fn supported(eras: Eras) -> Vec<&'static str> {
    let serves = |revision: &Revision| match eras {
        Eras::Both => true,
        Eras::Legacy => !revision.is_stateless(),
        Eras::Modern => revision.is_stateless(),
    };
    Revision::ALL.into_iter().rev().filter(serves).map(Revision::as_str).collect()
}

/// Whether a header names a revision of the era without handshake.
pub(crate) fn names_stateless(version: &str) -> bool {
    Revision::parse(version).is_some_and(Revision::is_stateless)
}

/// Whether a header names a revision of the era with handshake.
pub(crate) fn names_stateful(version: &str) -> bool {
    Revision::parse(version).is_some_and(|revision| !revision.is_stateless())
}
