//! Waiting for what providers are about to list.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join_all, select_all};
use gantry_protocol::Method;
use tokio::time::timeout;

use super::Catalog;
use crate::call::Call;
use crate::error::{CallError, ErrorKind};
use crate::provider::{Completeness, Resolved, Target};

impl Catalog {
    /// How complete the lists of all providers are together.
    pub(crate) fn completeness(&self) -> Completeness {
        self.providers().iter().map(|it| it.completeness()).max().unwrap_or_default()
    }

    /// Waits until the lists are as complete as a client that lists should wait for.
    pub(crate) async fn listed(&self) {
        let waits: Vec<_> = self.providers().iter().filter_map(|it| it.listed()).collect();
        join_all(waits).await;
    }

    /// Finds the target of a call. One that nobody lists is waited for, no longer than this, while
    /// a provider that may have it is about to list what it has.
    pub(crate) async fn resolve_within(
        &self,
        call: Arc<Call>,
        sees: impl Fn(&Target) -> bool,
        limit: Duration,
    ) -> Result<Resolved, CallError> {
        match self.resolve(call.clone(), &sees) {
            Err(_) if limit > Duration::ZERO && self.lacks(&call) => {
                // On the heap: few calls come here, and it would make every call larger.
                let _ = Box::pin(timeout(limit, self.arrival(&call))).await;
                self.resolve(call, &sees)
            }
            resolved => resolved,
        }
    }

    /// Waits until what a call names is listed, or nobody is about to list it any more.
    pub(crate) async fn arrival(&self, call: &Call) {
        loop {
            // Asked for before looking, so that no listing between the two is missed.
            let providers = self.providers();
            let next: Vec<_> = providers.iter().filter_map(|it| it.next_listing(call)).collect();
            if next.is_empty() || !self.lacks(call) {
                return;
            }
            select_all(next).await;
        }
    }

    /// Whether a call names, in good form, what nobody lists.
    pub(crate) fn lacks(&self, call: &Call) -> bool {
        let Err(error) = self.find(call) else { return false };
        match error.kind {
            ErrorKind::ToolNotFound | ErrorKind::ResourceNotFound => true,
            // That of a prompt that is not there.
            ErrorKind::InvalidParams => {
                matches!(call.method, Method::PromptsGet | Method::Complete)
            }
            _ => false,
        }
    }
}
