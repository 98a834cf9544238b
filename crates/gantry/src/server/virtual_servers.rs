//! Each server behind the gateway, and each profile, at an endpoint of its own.

use std::collections::BTreeSet;

use gantry_gateway::ServerInfo;
use gantry_providers::upstreams::Upstreams;

use super::Server;

/// Opens and closes `/mcp/NAME` as servers and profiles come and go, until the server stops.
pub(super) async fn follow(server: Server, upstreams: Upstreams) {
    let mut names = upstreams.virtual_servers();
    let mut open = BTreeSet::new();
    loop {
        let wanted = names.borrow_and_update().clone();
        for gone in open.difference(&wanted) {
            server.close_virtual_server(gone);
            upstreams.detach_virtual_server(gone);
        }
        for new in wanted.difference(&open) {
            let identity = ServerInfo { instructions: None, ..server.gateway().identity().clone() };
            let virtual_server = server.gateway().virtual_server(identity);
            upstreams.attach_virtual_server(new, &virtual_server);
            server.open_virtual_server(new, virtual_server);
        }
        open = wanted;
        tokio::select! {
            changed = names.changed() => if changed.is_err() { return },
            () = server.server_state.stopped() => return,
        }
    }
}
