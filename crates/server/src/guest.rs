//! Who is at a door, as the door knows it.

use std::sync::Arc;

use crate::doorman::Visitor;
use crate::seal::random_name;

/// Who is at a door.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    /// Who was let in.
    pub(crate) visitor: Visitor,
    /// The name of the session or connection; none for a request that stands alone.
    pub(crate) session: Option<Arc<str>>,
}

impl Guest {
    /// Someone whose requests have nothing to do with each other.
    pub(crate) fn passing(visitor: &Visitor) -> Self {
        Self { visitor: visitor.clone(), session: None }
    }

    /// Someone who stays: a session or a connection begins.
    pub(crate) fn staying(visitor: &Visitor) -> Self {
        Self { visitor: visitor.clone(), session: Some(random_name().into()) }
    }
}
