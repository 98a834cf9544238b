//! Publishes the exports of one server from its lists or their cache, and withdraws them.

use std::sync::{Arc, Weak};

use tokio::task::{JoinError, spawn_blocking};

use crate::upstreams::exports::Exports;
use crate::upstreams::lists::Lists;
use crate::upstreams::registry::UpstreamRegistry;
use crate::upstreams::upstream::Upstream;

/// Finds out what the server listed when it ran last, and offers that. Until then nobody knows
/// which names are the server's.
pub(in crate::upstreams) async fn load_cached(
    server: &Arc<Upstream>,
    registry: &Weak<UpstreamRegistry>,
) {
    let is_unknown = *server.lists.load_full() == Lists::default();
    if is_unknown && let Some(folder) = registry.upgrade().and_then(|it| it.settings.folder.clone())
    {
        let file = folder.join(server.config.cache_file());
        let limit = server.config.client.lists.total;
        let loading = spawn_blocking(move || {
            let (identity, mut lists) = Lists::load(&file)?;
            lists.bound(limit);
            Some((identity, lists))
        });
        match loading.await.ok().flatten() {
            Some((identity, lists)) if identity == server.config.identity() => {
                server.mark_known();
                server.lists.store(Arc::new(lists));
            }
            // Another server had this entry. Its names stay reserved until this one has spoken.
            Some((_, lists)) => return reserve(server, registry, lists).await,
            None => {}
        }
    } else if is_unknown && server.exports.load().is_withdrawn {
        return server.mark_recalled();
    }
    publish(server, registry).await;
}

/// Keeps the names of what another server listed, and offers nothing.
async fn reserve(server: &Arc<Upstream>, registry: &Weak<UpstreamRegistry>, lists: Lists) {
    let reserving = update_exports(server, registry, move |server| {
        Exports::read(&server.config, &lists, &server.exports.load()).withdrawn()
    });
    if let Err(error) = reserving.await {
        tracing::error!(server = server.name(), %error, "reading the cached lists of a server failed");
    }
}

/// Offers what is listed. Of a server that is not connected only the names are kept.
pub(in crate::upstreams) async fn publish(
    server: &Arc<Upstream>,
    registry: &Weak<UpstreamRegistry>,
) {
    let offering = update_exports(server, registry, |server| {
        let lists = server.lists.load_full();
        let exports = Exports::read(&server.config, &lists, &server.exports.load());
        if server.shared().is_some() { exports } else { exports.withdrawn() }
    });
    if let Err(error) = offering.await {
        tracing::error!(server = server.name(), %error, "reading the lists of a server failed");
    }
}

/// Takes back what is offered. The names are kept: whoever knows one means this server by it.
pub(in crate::upstreams) async fn withdraw(
    server: &Arc<Upstream>,
    registry: &Weak<UpstreamRegistry>,
) {
    tracing::warn!(server = server.name(), "server still unreachable; its tools are withdrawn");
    let _ = update_exports(server, registry, |server| server.exports.load().withdrawn()).await;
}

/// Shows another offer. Reading many schemas takes a while, in which others must go on.
async fn update_exports(
    server: &Arc<Upstream>,
    registry: &Weak<UpstreamRegistry>,
    make: impl FnOnce(&Upstream) -> Exports + Send + 'static,
) -> Result<(), JoinError> {
    let (server, registry) = (server.clone(), registry.clone());
    let showing = spawn_blocking(move || {
        server.exports.store(Arc::new(make(&server)));
        server.mark_recalled();
        if let Some(registry) = registry.upgrade() {
            registry.publish(Some(server.name()));
            registry.changes.send_modify(|changes| *changes += 1);
        }
        server.shown.send_replace(server.exports.load().cached);
    });
    showing.await
}
