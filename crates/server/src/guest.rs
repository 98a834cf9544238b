//! Who is at a door, as the door knows it.

use std::sync::Arc;

use crate::seal::random_name;

/// Who is at a door.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    /// Who is accountable.
    pub(crate) principal: Arc<str>,
    /// The name of the session or connection; none for a request that stands alone.
    pub(crate) session: Option<Arc<str>>,
}

impl Guest {
    /// Someone whose requests have nothing to do with each other.
    pub(crate) fn passing(principal: &Arc<str>) -> Self {
        Self { principal: principal.clone(), session: None }
    }

    /// Someone who stays: a session or a connection begins.
    pub(crate) fn staying(principal: &Arc<str>) -> Self {
        Self { principal: principal.clone(), session: Some(random_name().into()) }
    }
}
