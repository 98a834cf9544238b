//! Who watches, and what of it they may hear now: rules may have changed since they began.

use std::sync::{Arc, Weak};

use crate::caller::Caller;
use crate::catalog::Catalog;
use crate::pipeline::Policies;

/// Who watches, where, and under which policies.
pub(crate) struct Watcher {
    pub(crate) caller: Arc<Caller>,
    /// Held weakly: a subscription does not keep its gateway.
    pub(crate) catalog: Weak<Catalog>,
    pub(crate) policies: Arc<Policies>,
}

impl Watcher {
    /// Whether they may hear that a resource has changed. What one may not see one hears nothing
    /// of, and what is gone cannot be judged; who sees everything hears of it still.
    pub(crate) fn may_hear_of(&self, uri: &str) -> bool {
        let views = self.policies.views(&self.caller);
        if views.is_empty() {
            return true;
        }
        let catalog = self.catalog.upgrade();
        catalog.is_some_and(|catalog| catalog.has_resource(uri, &views).is_ok())
    }
}

impl std::fmt::Debug for Watcher {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Watcher({})", self.caller.principal)
    }
}
