//! Looks at what is about to be listed, before anyone can see or call it.

use std::sync::Arc;

use crate::catalog::Snapshot;
use crate::entry::ToolEntry;

/// A policy that judges what is listed.
pub trait PublishHook: Send + Sync {
    /// This state of a catalog comes into force next, and waits for this, which may show something
    /// else in the place of what is listed. Must return soon, and must not turn to the catalog itself.
    fn publish_hook(&self, next: &mut Snapshot);

    /// The same, where nothing changes but these tools.
    fn publish_tools_hook(&self, next: &mut Snapshot, _changed: &[Arc<ToolEntry>]) {
        self.publish_hook(next);
    }
}
