//! Faces: endpoints of their own beside the main one, which come and go while the server runs.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use gantry_gateway::Gateway;

use super::{ServerState, signature};
use crate::http::handler::Mounts;

/// The faces by name.
pub(super) type VirtualServers = ArcSwap<BTreeMap<String, Arc<ServerState>>>;

impl ServerState {
    /// Opens the face of that name, served at `/mcp/NAME`. One that was open is closed first.
    pub fn open_virtual_server(&self, name: &str, gateway: Arc<Gateway>) {
        self.close_virtual_server(name);
        let virtual_server = Arc::new(self.virtual_server_of(name, gateway));
        self.change(|virtual_servers| {
            drop(virtual_servers.insert(name.to_owned(), virtual_server.clone()))
        });
    }

    /// Closes the face of that name: its sessions and streams end, and what waits there for
    /// answers is given up. Returns whether there was one.
    pub fn close_virtual_server(&self, name: &str) -> bool {
        let Some(virtual_server) = self.find_virtual_server(name) else { return false };
        self.change(|virtual_servers| drop(virtual_servers.remove(name)));
        virtual_server.stopping.cancel();
        self.sessions.end_virtual_server(name);
        self.parking.end_virtual_server(name);
        true
    }

    /// The names of the faces, in order.
    pub fn virtual_servers(&self) -> Vec<String> {
        self.virtual_servers.load().keys().cloned().collect()
    }

    /// The face of that name.
    pub(crate) fn find_virtual_server(&self, name: &str) -> Option<Arc<Self>> {
        self.virtual_servers.load().get(name).cloned()
    }

    fn change(&self, change: impl Fn(&mut BTreeMap<String, Arc<Self>>)) {
        self.virtual_servers.rcu(|virtual_servers| {
            let mut virtual_servers = BTreeMap::clone(virtual_servers);
            change(&mut virtual_servers);
            virtual_servers
        });
    }

    /// A lobby before another gateway that shares everything that is counted here.
    fn virtual_server_of(&self, name: &str, gateway: Arc<Gateway>) -> Self {
        Self {
            signature: signature(&gateway),
            gateway,
            seal: self.seal.for_virtual_server(name),
            virtual_server: Some(name.into()),
            virtual_servers: VirtualServers::default(),
            stopping: self.stopping.child_token(),
            names: self.names.clone(),
            mounts: Mounts::default(),
            settings: self.settings.clone(),
            parking: self.parking.clone(),
            sessions: self.sessions.clone(),
            quota: self.quota.clone(),
            credentials: self.credentials.clone(),
            task_table: self.task_table.clone(),
            tasks: self.tasks.clone(),
            local: self.local.clone(),
            // Whoever comes here has passed the main door.
            authenticator: OnceLock::new(),
        }
    }
}
