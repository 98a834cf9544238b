//! A gateway and its faces: each shows a catalog of its own, and all share the same policies.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use super::{Gateway, ServerInfo, Settings};
use crate::catalog::{Catalog, PageSettings};
use crate::events::Events;
use crate::pipeline::{Pipeline, Policies};

impl Gateway {
    /// Another face of this gateway: an identity, a catalog and events of its own. Its calls pass
    /// the same policies, and count towards the same limits.
    #[must_use]
    pub fn virtual_server(self: &Arc<Self>, identity: ServerInfo) -> Arc<Self> {
        Self::over(identity, self.settings.clone(), self.pipeline.policies.clone())
    }

    /// A gateway with an empty catalog over these policies.
    pub(super) fn over(
        identity: ServerInfo,
        settings: Settings,
        policies: Arc<Policies>,
    ) -> Arc<Self> {
        let events = Arc::new(Events::new(settings.settle));
        policies.subscribers.join(&events);
        let pages = PageSettings {
            size: settings.page_size.max(1),
            bytes: settings.page_bytes,
            ttl_ms: settings.list_ttl_ms,
            public: settings.lists_are_public,
            names: settings.names,
        };
        let catalog = Arc::new(Catalog::new(pages, policies.publish_hooks.clone(), events.clone()));
        policies.catalogs.join(&catalog);
        let pipeline = Pipeline { catalog: catalog.clone(), policies };
        let instructions = ArcSwapOption::empty();
        Arc::new(Self { identity, instructions, settings, catalog, pipeline, events })
    }
}
