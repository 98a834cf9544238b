//! Waiting for servers that are being started, so that a client that lists once sees their tools.
//!
//! Lists wait for servers of which nothing is remembered, each for a while after it was configured:
//! a server that takes longer, or cannot be reached, delays nobody twice. A call of something that
//! bears the name of a server waits for that server as long as a call may take.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use gantry_gateway::Call;
use gantry_protocol::{Method, RawJson};
use tokio::time::{Instant, sleep_until};

use super::house::House;
use super::naming;
use super::server::{FOREVER, Server};

/// Waits until the servers of a face have listed what they have, or have been waited for long
/// enough; none if they have.
pub(super) fn listed(house: &Arc<House>, face: Option<&str>) -> Option<BoxFuture<'static, ()>> {
    let awaited = |house: &House, face: Option<&str>| {
        let wait = house.settings.startup_wait;
        house.servers_of(face).iter().filter_map(|it| it.awaited_until(wait)).max()
    };
    let mut changes = house.changes.subscribe();
    let mut until = awaited(house, face)?;
    let (weak, face) = (Arc::downgrade(house), face.map(str::to_owned));
    Some(Box::pin(async move {
        loop {
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = sleep_until(until) => {}
            }
            let Some(house) = weak.upgrade() else { return };
            match awaited(&house, face.as_deref()) {
                Some(later) => until = later,
                None => return,
            }
        }
    }))
}

/// The next moment at which a server of a face may have listed what a call names; none if none of
/// them is waited for.
pub(super) fn next_listing(
    house: &Arc<House>,
    face: Option<&str>,
    call: &Call,
) -> Option<BoxFuture<'static, ()>> {
    let name = match call.method {
        Method::ToolsCall | Method::PromptsGet => call.head.name.as_ref()?.to_text(),
        Method::Complete => call.params.get("ref")?.get("name").as_ref().and_then(RawJson::to_text),
        _ => None,
    };
    let mut changes = house.changes.subscribe();
    let wait = house.settings.startup_wait;
    let until =
        |server: &Arc<Server>| match name.as_deref().is_some_and(|it| is_of(it, server, face)) {
            true => (!server.is_settled()).then(|| Instant::now() + FOREVER),
            false => server.awaited_until(wait),
        };
    let until = house.servers_of(face).iter().filter_map(until).max()?;
    Some(Box::pin(async move {
        tokio::select! {
            _ = changes.changed() => {}
            () = sleep_until(until) => {}
        }
    }))
}

/// Whether a name can only be that of a thing of this server.
fn is_of(name: &str, server: &Server, face: Option<&str>) -> bool {
    face == Some(server.name()) || naming::begins_with(name, server.prefix())
}

#[cfg(test)]
mod tests;
