//! State shared by all transports of one server: the gateway behind it, sessions, parked calls, tasks,
//! quotas, and shutdown.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use gantry_gateway::{Event, Gateway, Subscription};
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::key;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::authenticator::{Authenticator, Identity, NoAuthentication};
use crate::http::mount::Mounts;
use crate::http::origin_check::AllowedHosts;
use crate::quota::{Permit, QuotaExceeded, QuotaTable, Resource};
use crate::revocation::RevocationWatcher;
use crate::seal::Seal;
use crate::session::session_table::SessionTable;
use crate::settings::Settings;
use crate::stateless::parked_calls::ParkedCalls;
use crate::tasks::TaskTable;
use crate::tasks::task_log::TaskLog;
use crate::virtual_servers::VirtualServers;

/// State shared by all transports of one server.
#[derive(Debug)]
pub struct ServerState {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) settings: Settings,
    pub(crate) seal: Seal,
    pub(crate) parked_calls: Arc<ParkedCalls>,
    pub(crate) sessions: Arc<SessionTable>,
    pub(crate) quota: Arc<QuotaTable>,
    pub(crate) revocation: Arc<RevocationWatcher>,
    /// The name of this virtual server; none for the main endpoint.
    pub(crate) virtual_server: Option<Arc<str>>,
    pub(crate) virtual_servers: VirtualServers,
    pub(crate) task_table: Arc<TaskTable>,
    /// Cancelled when the server stops: no new requests, streams end.
    pub(crate) stopping: CancellationToken,
    /// Every spawned task that may outlive the connection that started it.
    pub(crate) tasks: TaskTracker,
    /// The `_meta` with the server info, for results.
    pub(crate) signature: RawJson,
    allowed_hosts: Arc<ArcSwap<AllowedHosts>>,
    /// Handlers mounted on the HTTP server.
    pub(crate) mounts: Mounts,
    /// The local user: stdio, the control socket, and HTTP without authentication.
    pub(crate) local: Identity,
    authenticator: OnceLock<Arc<dyn Authenticator>>,
}

impl ServerState {
    /// A server of a gateway.
    pub fn new(gateway: Arc<Gateway>, settings: Settings) -> Arc<Self> {
        Self::with_mounts(gateway, settings, Mounts::default())
    }

    /// A server of a gateway, with HTTP handlers mounted beside the MCP endpoint.
    pub fn with_mounts(gateway: Arc<Gateway>, settings: Settings, mounts: Mounts) -> Arc<Self> {
        let (quota, stopping) = (QuotaTable::new(&settings), CancellationToken::new());
        Arc::new(Self {
            signature: signature(&gateway),
            allowed_hosts: Arc::new(ArcSwap::from_pointee(AllowedHosts {
                hosts: settings.allowed_hosts.clone(),
                origins: settings.allowed_origins.clone(),
            })),
            mounts,
            gateway,
            seal: Seal::new(settings.key),
            parked_calls: Arc::default(),
            sessions: Arc::new(SessionTable::new(quota.clone())),
            virtual_server: None,
            virtual_servers: VirtualServers::default(),
            task_table: Arc::new(TaskTable::new(&settings, quota.clone())),
            revocation: Arc::new(RevocationWatcher::new(stopping.clone())),
            quota,
            stopping,
            tasks: TaskTracker::new(),
            local: Identity::new("local"),
            authenticator: OnceLock::new(),
            settings,
        })
    }

    /// Sets the task log. Without one, ended tasks are kept in memory. To be called before a server
    /// listens: only the first call has an effect.
    pub fn set_task_log(&self, log: Arc<dyn TaskLog>) {
        self.task_table.set_log(log);
    }

    /// Sets the authenticator for HTTP requests. Without one, every client is the local user. To be
    /// called before a server listens: only the first call has an effect.
    pub fn set_authenticator(&self, authenticator: Arc<dyn Authenticator>) {
        if authenticator.requires_credentials() {
            self.quota.share_among_principals();
        }
        let _ = self.authenticator.set(authenticator);
    }

    pub(crate) fn authenticator(&self) -> &dyn Authenticator {
        &**self.authenticator.get_or_init(|| Arc::new(NoAuthentication(self.local.clone())))
    }

    /// Replaces the allowed hosts and origins of the settings, from the next request on.
    pub fn set_allowed_hosts(&self, allowed_hosts: AllowedHosts) {
        self.allowed_hosts.store(Arc::new(allowed_hosts));
    }

    pub(crate) fn allowed_hosts(&self) -> Arc<AllowedHosts> {
        self.allowed_hosts.load_full()
    }

    /// Begins graceful shutdown: no new requests, streams end, calls in flight may finish.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    /// Waits until shutdown begins.
    pub async fn stopped(&self) {
        self.stopping.cancelled().await;
    }

    /// Waits until `others` and everything in flight here have ended, at most for the drain time.
    pub async fn drained(&self, others: impl Future<Output = ()>) {
        self.tasks.close();
        let ended = async {
            others.await;
            self.tasks.wait().await;
        };
        let limit = self.settings.drain;
        if tokio::time::timeout(limit, ended).await.is_err() {
            tracing::warn!("drain timeout: stopping with calls in flight");
        }
    }

    /// The gateway behind this server.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// Acquires a permit for an open event stream of a principal.
    pub(crate) fn open_stream(&self, principal: &Arc<str>) -> Result<Permit, QuotaExceeded> {
        self.quota.account(principal).acquire(Resource::Streams, 1)
    }

    /// The number of open event streams.
    pub(crate) fn open_streams(&self) -> usize {
        self.quota.used(Resource::Streams)
    }

    /// Removes what has expired. Called from time to time by the HTTP listener.
    pub(crate) fn sweep(&self) {
        self.parked_calls.sweep();
        self.sessions.sweep(self);
    }

    /// Opens a virtual server at `/mcp/NAME`. An open one of that name is closed first.
    pub fn open_virtual_server(&self, name: &str, gateway: Arc<Gateway>) {
        self.close_virtual_server(name);
        self.virtual_servers.insert(name, &Arc::new(self.virtual_server(name, gateway)));
    }

    /// Closes a virtual server: its sessions and streams end, and its parked calls are dropped.
    /// Returns whether there was one.
    pub fn close_virtual_server(&self, name: &str) -> bool {
        let Some(virtual_server) = self.virtual_servers.find(name) else { return false };
        self.virtual_servers.remove(name);
        virtual_server.stopping.cancel();
        self.sessions.end_virtual_server(name);
        self.parked_calls.end_virtual_server(name);
        true
    }

    /// The names of the open virtual servers, sorted.
    pub fn virtual_servers(&self) -> Vec<String> {
        self.virtual_servers.names()
    }

    /// The state of a virtual server, which shares everything that is counted.
    fn virtual_server(&self, name: &str, gateway: Arc<Gateway>) -> Self {
        Self {
            signature: signature(&gateway),
            gateway,
            seal: self.seal.for_virtual_server(name),
            virtual_server: Some(name.into()),
            virtual_servers: VirtualServers::default(),
            stopping: self.stopping.child_token(),
            allowed_hosts: self.allowed_hosts.clone(),
            mounts: Mounts::default(),
            settings: self.settings.clone(),
            parked_calls: self.parked_calls.clone(),
            sessions: self.sessions.clone(),
            quota: self.quota.clone(),
            revocation: self.revocation.clone(),
            task_table: self.task_table.clone(),
            tasks: self.tasks.clone(),
            local: self.local.clone(),
            // Requests are authenticated before they are routed here.
            authenticator: OnceLock::new(),
        }
    }
}

/// The `_meta` with the server info.
fn signature(gateway: &Gateway) -> RawJson {
    ObjectWriter::new().raw(key::SERVER_INFO, &gateway.identity().info).finish()
}

/// The next event, or none when the server stops.
pub(crate) async fn next_event(
    server_state: &ServerState,
    subscription: &mut Subscription,
) -> Option<Event> {
    tokio::select! {
        () = server_state.stopping.cancelled() => None,
        event = subscription.next() => event,
    }
}

#[cfg(test)]
mod tests;
