//! Who is at a door, as the door knows it.

use std::sync::Arc;

use crate::authenticator::Identity;
use crate::seal::random_name;

/// Who is at a door.
#[derive(Debug, Clone)]
pub(crate) struct ClientIdentity {
    /// Who was let in.
    pub(crate) identity: Identity,
    /// The name of the session or connection; none for a request that stands alone.
    pub(crate) session: Option<Arc<str>>,
}

impl ClientIdentity {
    /// Someone whose requests have nothing to do with each other.
    pub(crate) fn passing(identity: &Identity) -> Self {
        Self { identity: identity.clone(), session: None }
    }

    /// Someone who stays: a session or a connection begins.
    pub(crate) fn staying(identity: &Identity) -> Self {
        Self { identity: identity.clone(), session: Some(random_name().into()) }
    }
}
