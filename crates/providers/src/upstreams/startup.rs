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

use super::naming;
use super::registry::UpstreamRegistry;
use super::upstream::{FOREVER, Upstream};

/// Waits until the servers of a face have listed what they have, or have been waited for long
/// enough; none if they have.
pub(super) fn listed(
    registry: &Arc<UpstreamRegistry>,
    virtual_server: Option<&str>,
) -> Option<BoxFuture<'static, ()>> {
    let awaited = |registry: &UpstreamRegistry, virtual_server: Option<&str>| {
        let wait = registry.settings.startup_wait;
        registry.servers_of(virtual_server).iter().filter_map(|it| it.awaited_until(wait)).max()
    };
    let mut changes = registry.changes.subscribe();
    let mut until = awaited(registry, virtual_server)?;
    let (weak, virtual_server) = (Arc::downgrade(registry), virtual_server.map(str::to_owned));
    Some(Box::pin(async move {
        loop {
            tokio::select! {
                changed = changes.changed() => if changed.is_err() { return },
                () = sleep_until(until) => {}
            }
            let Some(registry) = weak.upgrade() else { return };
            match awaited(&registry, virtual_server.as_deref()) {
                Some(later) => until = later,
                None => return,
            }
        }
    }))
}

/// The next moment at which a server of a face may have listed what a call names; none if none of
/// them is waited for.
pub(super) fn next_listing(
    registry: &Arc<UpstreamRegistry>,
    virtual_server: Option<&str>,
    call: &Call,
) -> Option<BoxFuture<'static, ()>> {
    let name = match call.method {
        Method::ToolsCall | Method::PromptsGet => call.head.name.as_ref()?.to_text(),
        Method::Complete => call.params.get("ref")?.get("name").as_ref().and_then(RawJson::to_text),
        _ => None,
    };
    let mut changes = registry.changes.subscribe();
    let wait = registry.settings.startup_wait;
    let until = |server: &Arc<Upstream>| match name
        .as_deref()
        .is_some_and(|it| is_of(it, server, virtual_server))
    {
        true => (!server.is_settled()).then(|| Instant::now() + FOREVER),
        false => server.awaited_until(wait),
    };
    let until = registry.servers_of(virtual_server).iter().filter_map(until).max()?;
    Some(Box::pin(async move {
        tokio::select! {
            _ = changes.changed() => {}
            () = sleep_until(until) => {}
        }
    }))
}

/// Whether a name can only be that of a thing of this server.
fn is_of(name: &str, server: &Upstream, virtual_server: Option<&str>) -> bool {
    virtual_server == Some(server.name()) || naming::begins_with(name, server.prefix())
}

#[cfg(test)]
mod tests;
