//! Each server behind the gateway, and each profile, at an endpoint of its own.

use std::collections::BTreeSet;

use gantry_gateway::Identity;
use gantry_providers::upstreams::Upstreams;

use super::Server;

/// Opens and closes `/mcp/NAME` as servers and profiles come and go, until the server stops.
pub(super) async fn follow(server: Server, upstreams: Upstreams) {
    let mut names = upstreams.faces();
    let mut open = BTreeSet::new();
    loop {
        let wanted = names.borrow_and_update().clone();
        for gone in open.difference(&wanted) {
            server.close_face(gone);
            upstreams.detach_face(gone);
        }
        for new in wanted.difference(&open) {
            let identity = Identity { instructions: None, ..server.gateway().identity().clone() };
            let face = server.gateway().face(identity);
            upstreams.attach_face(new, &face);
            server.open_face(new, face);
        }
        open = wanted;
        tokio::select! {
            changed = names.changed() => if changed.is_err() { return },
            () = server.lobby.stopped() => return,
        }
    }
}
