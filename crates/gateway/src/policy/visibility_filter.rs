//! What a caller may know of: what one may not call is in no list.

use std::fmt;
use std::sync::Arc;

use crate::caller::Caller;
use crate::provider::Target;

/// A policy that decides what a caller may know of.
pub trait VisibilityFilter: Send + Sync {
    /// What this caller sees; none when it is everything.
    fn view(&self, caller: &Caller) -> Option<View>;
}

/// What some callers see. Callers with one key see the same, so that lists are made once for all
/// of them.
#[derive(Clone)]
pub struct View {
    /// The same for all who see the same, and another one as soon as that changes. Where it is a
    /// hash, it is wide enough that nobody meets two views with one key.
    pub key: u128,
    /// Whether what is not seen must not be known to be there: a call of it is told what a call of
    /// nothing is told.
    pub is_secret: bool,
    /// Whether a thing is seen.
    pub sees: Arc<dyn Fn(&Target) -> bool + Send + Sync>,
}

impl fmt::Debug for View {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("View").field("key", &self.key).finish_non_exhaustive()
    }
}
