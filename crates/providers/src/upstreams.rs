//! Upstream MCP servers, on any revision and transport, aggregated into the catalog of one gateway
//! or of a virtual server at `/mcp/NAME`.
//!
//! One task refreshes each server, so that no server waits for another and no list of the gateway
//! ever asks one. When the exports of a server change, the listing of every endpoint that shows it
//! is composed again and published.

mod aliases;
mod call;
mod canonical_names;
mod config;
mod endpoint_provider;
mod exports;
mod failure;
mod lists;
mod naming;
mod pool;
mod publish;
mod redaction;
mod refresh;
mod registry;
mod status;
mod upstream;

#[cfg(test)]
mod tests;

pub use config::{Override, Profile, Share, UpstreamConfig, UpstreamSettings};
pub use status::Status;

use std::collections::BTreeSet;
use std::sync::Arc;

use gantry_client::Client;
use gantry_gateway::Gateway;
use tokio::sync::watch;

use self::pool::DedicatedConnection;
use self::registry::UpstreamRegistry;

/// All servers behind the gateway. Clones share them.
#[derive(Debug, Clone)]
pub struct Upstreams(Arc<UpstreamRegistry>);

impl Upstreams {
    /// No servers yet.
    pub fn new(settings: UpstreamSettings) -> Self {
        Self(Arc::new(UpstreamRegistry::new(settings)))
    }

    /// Offers what the servers have through this gateway, under names that tell them apart.
    pub fn attach(&self, gateway: &Arc<Gateway>) {
        self.0.attach(None, gateway);
    }

    /// The names of servers and profiles that can be shown alone, as they come and go.
    pub fn virtual_servers(&self) -> watch::Receiver<BTreeSet<String>> {
        self.0.names.subscribe()
    }

    /// Offers one server under its own names, or one profile, through a gateway of its own. It
    /// lists nothing while there is no server or profile of that name.
    pub fn attach_virtual_server(&self, name: &str, gateway: &Arc<Gateway>) {
        self.0.attach(Some(name), gateway);
    }

    /// Takes what was attached under that name out of its gateway.
    pub fn detach_virtual_server(&self, name: &str) {
        self.0.detach(name);
    }

    /// Replaces the servers and profiles. What did not change goes on undisturbed. Must be called
    /// within a tokio runtime.
    pub fn configure(&self, servers: Vec<UpstreamConfig>, profiles: Vec<Profile>) {
        UpstreamRegistry::configure(&self.0, servers, profiles);
    }

    /// Counts changes of states and lists. Whoever waits for one looks at [`Self::status`] when
    /// the number has changed.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Waits until every server was listed, or could not be reached. One that is started when it is
    /// needed is not started for this if its last lists are known.
    pub async fn settled(&self) {
        self.until(upstream::Upstream::is_settled).await;
    }

    /// Waits until what the servers listed when they ran last has been read from the disk.
    pub async fn recalled(&self) {
        self.until(upstream::Upstream::is_recalled).await;
    }

    async fn until(&self, is_so: impl Fn(&upstream::Upstream) -> bool) {
        let mut changes = self.changes();
        while !self.0.servers().iter().all(|server| is_so(server)) {
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// The status of each server, in the order of their names.
    pub fn status(&self) -> Vec<Status> {
        let problems = self.0.problems();
        let status = |server: &Arc<upstream::Upstream>| {
            let problems = problems.get(server.name()).map(Vec::as_slice);
            Status::of(server, problems.unwrap_or_default())
        };
        self.0.servers().iter().map(status).collect()
    }

    /// The end of what a server's program wrote to standard error; none if there is no such server.
    pub fn log(&self, name: &str) -> Option<String> {
        let server = self.0.server(name)?;
        let log = server.shared().map(Client::log).unwrap_or_default();
        Some(server.redaction.text(&log).into_owned())
    }

    /// The same of the programs that single users or sessions have, each with a name for it.
    pub fn own_logs(&self, name: &str) -> Vec<(String, String)> {
        let Some(server) = self.0.server(name) else { return Vec::new() };
        let log = |own: DedicatedConnection| {
            (own.name, server.redaction.text(&own.client.log()).into_owned())
        };
        server.dedicated().into_iter().flatten().map(log).collect()
    }

    /// Ends a server's connections and begins again; false if there is no such server.
    pub async fn restart(&self, name: &str) -> bool {
        match self.0.server(name) {
            Some(server) => {
                server.restart().await;
                true
            }
            None => false,
        }
    }

    /// Ends all connections permanently.
    pub async fn stop(&self) {
        self.0.stop().await;
    }
}
