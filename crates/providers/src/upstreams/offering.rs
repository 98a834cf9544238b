//! Putting on offer what a server lists or listed last, and taking it back.

use std::sync::{Arc, Weak};

use tokio::task::{JoinError, spawn_blocking};

use super::house::House;
use super::lists::Lists;
use super::offer::Offer;
use super::origin;
use super::server::Server;

/// Finds out what the server listed when it ran last, and offers that. Until then nobody knows
/// which names are the server's.
pub(super) async fn recall(server: &Arc<Server>, house: &Weak<House>) {
    let is_unknown = *server.lists.load_full() == Lists::default();
    if is_unknown && let Some(folder) = house.upgrade().and_then(|it| it.settings.folder.clone()) {
        let file = folder.join(origin::file(&server.upstream));
        let limit = server.upstream.client.lists.total;
        let loading = spawn_blocking(move || {
            let (identity, mut lists) = Lists::load(&file)?;
            lists.bound(limit);
            Some((identity, lists))
        });
        match loading.await.ok().flatten() {
            Some((identity, lists)) if identity == origin::identity(&server.upstream) => {
                server.know();
                server.lists.store(Arc::new(lists));
            }
            // Another server had this entry. Its names stay reserved until this one has spoken.
            Some((_, lists)) => return reserve(server, house, lists).await,
            None => {}
        }
    } else if is_unknown && server.offer.load().is_withdrawn {
        return server.recalled();
    }
    offer(server, house).await;
}

/// Keeps the names of what another server listed, and offers nothing.
async fn reserve(server: &Arc<Server>, house: &Weak<House>, lists: Lists) {
    let reserving = show(server, house, move |server| {
        Offer::read(&server.upstream, &lists, &server.offer.load()).withdrawn()
    });
    if let Err(error) = reserving.await {
        tracing::error!(server = server.name(), %error, "what a server listed could not be read");
    }
}

/// Offers what is listed. Of a server that is not to be reached only the names are kept.
pub(super) async fn offer(server: &Arc<Server>, house: &Weak<House>) {
    let offering = show(server, house, |server| {
        let lists = server.lists.load_full();
        let offer = Offer::read(&server.upstream, &lists, &server.offer.load());
        if server.shared().is_some() { offer } else { offer.withdrawn() }
    });
    if let Err(error) = offering.await {
        tracing::error!(server = server.name(), %error, "what a server lists could not be read");
    }
}

/// Takes back what is offered. The names are kept: whoever knows one means this server by it.
pub(super) async fn withdraw(server: &Arc<Server>, house: &Weak<House>) {
    tracing::warn!(server = server.name(), "a server stays away; its tools are withdrawn");
    let _ = show(server, house, |server| server.offer.load().withdrawn()).await;
}

/// Shows another offer. Reading many schemas takes a while, in which others must go on.
async fn show(
    server: &Arc<Server>,
    house: &Weak<House>,
    make: impl FnOnce(&Server) -> Offer + Send + 'static,
) -> Result<(), JoinError> {
    let (server, house) = (server.clone(), house.clone());
    let showing = spawn_blocking(move || {
        server.offer.store(Arc::new(make(&server)));
        server.recalled();
        if let Some(house) = house.upgrade() {
            house.show(Some(server.name()));
            house.changes.send_modify(|changes| *changes += 1);
        }
        server.shown.send_replace(server.offer.load().cached);
    });
    showing.await
}
