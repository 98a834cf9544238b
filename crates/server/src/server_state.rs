//! What all doors share: the gateway behind them, the seals, the waiting calls, the end of it all.

mod virtual_servers;

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use gantry_gateway::{Gateway, Subscription};
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::key;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::authenticator::{Authenticator, Identity, NoAuthentication};
use crate::credentials::Credentials;
use crate::era::{Parking, Sessions, TaskTable};
use crate::http::AllowedHosts;
use crate::http::handler::Mounts;
use crate::quota::{Permit, QuotaExceeded, QuotaTable, Resource};
use crate::seal::Seal;
use crate::settings::Settings;
use crate::task_log::TaskLog;
use virtual_servers::VirtualServers;

/// What all doors share.
#[derive(Debug)]
pub struct ServerState {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) settings: Settings,
    pub(crate) seal: Seal,
    pub(crate) parking: Arc<Parking>,
    pub(crate) sessions: Arc<Sessions>,
    /// What each principal holds.
    pub(crate) quota: Arc<QuotaTable>,
    pub(crate) credentials: Arc<Credentials>,
    /// The name of the face that this is; none for the main one.
    pub(crate) virtual_server: Option<Arc<str>>,
    virtual_servers: VirtualServers,
    pub(crate) task_table: Arc<TaskTable>,
    /// Says that the server stops: no new work, streams end.
    pub(crate) stopping: CancellationToken,
    /// Every task that may outlive the connection that started it.
    pub(crate) tasks: TaskTracker,
    /// The `_meta` that signs a result.
    pub(crate) signature: RawJson,
    /// The names of this server and of its friends.
    names: Arc<ArcSwap<AllowedHosts>>,
    /// What others serve behind the HTTP door.
    pub(crate) mounts: Mounts,
    /// The one who uses this machine.
    pub(crate) local: Identity,
    /// Who tells who is at the HTTP doors.
    authenticator: OnceLock<Arc<dyn Authenticator>>,
}

impl ServerState {
    /// Puts doors before a gateway.
    pub fn new(gateway: Arc<Gateway>, settings: Settings) -> Arc<Self> {
        Self::with_mounts(gateway, settings, Mounts::default())
    }

    /// Puts doors before a gateway, and others' pages behind the HTTP one.
    pub fn with_mounts(gateway: Arc<Gateway>, settings: Settings, mounts: Mounts) -> Arc<Self> {
        let (quota, stopping) = (QuotaTable::new(&settings), CancellationToken::new());
        Arc::new(Self {
            signature: signature(&gateway),
            names: Arc::new(ArcSwap::from_pointee(AllowedHosts {
                hosts: settings.allowed_hosts.clone(),
                origins: settings.allowed_origins.clone(),
            })),
            mounts,
            gateway,
            seal: Seal::new(settings.key),
            parking: Arc::default(),
            sessions: Arc::new(Sessions::new(quota.clone())),
            virtual_server: None,
            virtual_servers: VirtualServers::default(),
            task_table: Arc::new(TaskTable::new(&settings, quota.clone())),
            credentials: Arc::new(Credentials::new(stopping.clone())),
            quota,
            stopping,
            tasks: TaskTracker::new(),
            local: Identity::new("local"),
            authenticator: OnceLock::new(),
            settings,
        })
    }

    /// Sets where tasks are written down; they last until the program ends otherwise. To be called
    /// before a door opens: only the first word counts.
    pub fn keep_tasks(&self, log: Arc<dyn TaskLog>) {
        self.task_table.set_log(log);
    }

    /// Sets who tells who is at the HTTP doors; without one everyone is the local user. To be
    /// called before a door opens: only the first word counts.
    pub fn set_authenticator(&self, authenticator: Arc<dyn Authenticator>) {
        if authenticator.requires_credentials() {
            self.quota.share_among_principals();
        }
        let _ = self.authenticator.set(authenticator);
    }

    pub(crate) fn authenticator(&self) -> &dyn Authenticator {
        &**self.authenticator.get_or_init(|| Arc::new(NoAuthentication(self.local.clone())))
    }

    /// Puts other names in the place of those of the settings, from the next request on.
    pub fn set_names(&self, names: AllowedHosts) {
        self.names.store(Arc::new(names));
    }

    pub(crate) fn names(&self) -> Arc<AllowedHosts> {
        self.names.load_full()
    }

    /// Begins to stop: no new work is taken, streams end, calls under way may finish.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    /// Waits until it begins to stop.
    pub async fn stopped(&self) {
        self.stopping.cancelled().await;
    }

    /// Waits until `others` and everything under way here have ended, but no longer than the
    /// settings allow.
    pub async fn drained(&self, others: impl Future<Output = ()>) {
        self.tasks.close();
        let ended = async {
            others.await;
            self.tasks.wait().await;
        };
        let limit = self.settings.drain;
        if tokio::time::timeout(limit, ended).await.is_err() {
            tracing::warn!("stopping with work still under way: the drain time is over");
        }
    }

    /// The gateway behind the doors.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// Takes a permit for an open stream of a principal.
    pub(crate) fn open_stream(&self, principal: &Arc<str>) -> Result<Permit, QuotaExceeded> {
        self.quota.account(principal).take(Resource::Streams, 1)
    }

    /// Open streams now.
    pub(crate) fn streams(&self) -> usize {
        self.quota.used(Resource::Streams)
    }

    /// Forgets what has waited too long. Called now and then by whoever runs the doors.
    pub(crate) fn sweep(&self) {
        self.parking.sweep();
        self.sessions.sweep(self);
    }
}

/// The `_meta` that signs what this gateway answers.
fn signature(gateway: &Gateway) -> RawJson {
    ObjectWriter::new().raw(key::SERVER_INFO, &gateway.identity().info).finish()
}

/// The next event, or none when the server stops.
pub(crate) async fn next_event(
    server_state: &ServerState,
    subscription: &mut Subscription,
) -> Option<gantry_gateway::Event> {
    tokio::select! {
        () = server_state.stopping.cancelled() => None,
        event = subscription.next() => event,
    }
}

#[cfg(test)]
mod tests;
