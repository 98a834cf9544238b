//! Other MCP servers, on any revision and transport, offered as if their tools were ours.

mod settings;
mod status;

pub use settings::{Override, Profile, Share, Upstream, UpstreamSettings};
pub use status::Status;

use std::sync::Arc;

use gantry_gateway::Gateway;

/// All servers behind the gateway. Clones share them.
#[derive(Debug, Clone)]
pub struct Upstreams {}

impl Upstreams {
    /// No servers yet.
    pub fn new(settings: UpstreamSettings) -> Self {
        let _ = settings;
        todo!()
    }

    /// Offers what the servers have through this gateway.
    pub fn attach(&self, gateway: &Arc<Gateway>) {
        let _ = gateway;
        todo!()
    }

    /// Replaces the servers and profiles. What did not change goes on undisturbed.
    pub fn configure(&self, servers: Vec<Upstream>, profiles: Vec<Profile>) {
        let _ = (servers, profiles);
        todo!()
    }

    /// How each server stands, in the order of their names.
    pub fn status(&self) -> Vec<Status> {
        todo!()
    }

    /// The end of what a server's program wrote to standard error; none if there is no such server.
    pub fn log(&self, name: &str) -> Option<String> {
        let _ = name;
        todo!()
    }

    /// Ends a server's connections and begins anew; false if there is no such server.
    pub async fn restart(&self, name: &str) -> bool {
        let _ = name;
        todo!()
    }

    /// Ends all connections for good.
    pub async fn stop(&self) {
        todo!()
    }
}
