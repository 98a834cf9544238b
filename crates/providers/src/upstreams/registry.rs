//! The registry of upstream servers and of the endpoints that show them: applies configuration
//! changes, publishes listings, and waits for servers that are starting.
//!
//! A client that lists once should see the tools of servers that are being started. So lists wait
//! for servers of which nothing is cached, each for `startup_wait` after it was configured: a slow
//! or unreachable server delays nobody twice. A call of a name with a server's prefix waits for
//! that server as long as a call may take. Handshakes never wait.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{BoxFuture, join_all};
use gantry_gateway::{Call, Completeness, Gateway, Publisher, Recipients};
use gantry_protocol::{Method, RawJson};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::canonical_names::CanonicalNames;
use super::config::{Profile, UpstreamConfig, UpstreamSettings};
use super::endpoint_provider::EndpointProvider;
use super::exports::Exports;
use super::naming;
use super::publish::{Part, Scope, merge_instructions};
use super::refresh::{UpstreamTask, export_list};
use super::upstream::{FOREVER, Upstream};

/// The registry of all servers and of the endpoints that show them.
#[derive(Debug)]
pub(super) struct UpstreamRegistry {
    pub(super) settings: UpstreamSettings,
    /// What can be shown alone.
    pub(super) names: watch::Sender<BTreeSet<String>>,
    /// Counts what may matter to those who wait: states, lists.
    pub(super) changes: watch::Sender<u64>,
    state: Mutex<RegistryState>,
}

#[derive(Debug, Default)]
struct RegistryState {
    servers: BTreeMap<String, SupervisedUpstream>,
    profiles: BTreeMap<String, Profile>,
    endpoints: Vec<AttachedEndpoint>,
    /// The canonical names that were shown last.
    names: CanonicalNames,
    /// Name clashes at the main endpoint, by server.
    problems: BTreeMap<String, Vec<String>>,
    /// The number of the last endpoint.
    last: u64,
    /// Servers that may finish their work before they end.
    retiring: JoinSet<()>,
}

/// A server, and its refresh task.
#[derive(Debug)]
struct SupervisedUpstream {
    server: Arc<Upstream>,
    upstream_task: Option<JoinHandle<()>>,
}

/// An endpoint provider, and the gateway that it is attached to.
#[derive(Debug)]
struct AttachedEndpoint {
    virtual_server: Arc<EndpointProvider>,
    gateway: Arc<Gateway>,
    publisher: Publisher,
}

impl UpstreamRegistry {
    pub(super) fn new(settings: UpstreamSettings) -> Self {
        let names = watch::Sender::new(BTreeSet::new());
        Self { settings, names, changes: watch::Sender::new(0), state: Mutex::default() }
    }

    /// Shows everything, or what has that name, through a gateway.
    pub(super) fn attach(self: &Arc<Self>, name: Option<&str>, gateway: &Arc<Gateway>) {
        let mut state = self.state();
        state.last += 1;
        let registry = Arc::downgrade(self);
        let virtual_server =
            Arc::new(EndpointProvider::new(registry, name.map(str::to_owned), state.last));
        let publisher = gateway.attach(virtual_server.clone());
        state.endpoints.push(AttachedEndpoint {
            virtual_server,
            gateway: gateway.clone(),
            publisher,
        });
        self.publish_locked(&mut state, None);
    }

    /// Shows no longer what has that name.
    pub(super) fn detach(&self, name: &str) {
        let mut state = self.state();
        let is_meant =
            |endpoint: &mut AttachedEndpoint| endpoint.virtual_server.name.as_deref() == Some(name);
        for shown in state.endpoints.extract_if(.., is_meant) {
            shown.publisher.withdraw();
        }
    }

    /// Replaces the servers and profiles.
    pub(super) fn configure(
        self: &Arc<Self>,
        servers: Vec<UpstreamConfig>,
        profiles: Vec<Profile>,
    ) {
        let mut state = self.state();
        let mut before = std::mem::take(&mut state.servers);
        for config in servers {
            let name = config.name.clone();
            let supervised = match before.remove(&name) {
                Some(supervised) if supervised.server.config.is_same(&config) => supervised,
                Some(changed) => {
                    let supervised = self.spawn(config, Some(&changed.server));
                    state.retire(&changed);
                    supervised
                }
                None => self.spawn(config, None),
            };
            state.servers.insert(name, supervised);
        }
        before.values().for_each(|removed| state.retire(removed));
        drop(before);
        state.profiles =
            profiles.into_iter().map(|profile| (profile.name.clone(), profile)).collect();
        for name in state.profiles.keys().filter(|name| state.servers.contains_key(*name)) {
            tracing::warn!(
                name,
                "a profile has the name of a server and is ignored; rename the profile"
            );
        }
        let names = state.servers.keys().chain(state.profiles.keys()).cloned().collect();
        self.publish_locked(&mut state, None);
        drop(state);
        self.names.send_if_modified(|old| std::mem::replace(old, names) != *old);
    }

    /// Ends all servers, those that are leaving too.
    pub(super) async fn stop(&self) {
        let servers = self.servers();
        let mut retiring = std::mem::take(&mut self.state().retiring);
        join_all(servers.iter().map(|server| server.stop())).await;
        retiring.shutdown().await;
    }

    /// Starts a server and its refresh task. What it listed under its former settings counts until it has
    /// spoken itself.
    fn spawn(
        self: &Arc<Self>,
        config: UpstreamConfig,
        before: Option<&Upstream>,
    ) -> SupervisedUpstream {
        let is_same = before.is_some_and(|before| before.config.is_same_server(&config));
        let same = before.filter(|_| is_same);
        let lists = same.map(|before| before.lists.load_full());
        let (server, events) = Upstream::new(config, &self.settings, lists.unwrap_or_default());
        if same.is_some_and(Upstream::is_known) {
            server.mark_known();
        }
        if let Some(before) = before.filter(|_| !server.config.disabled) {
            let exports = Exports::after(&server, before);
            // Of another server only the names are kept.
            let is_offered = is_same && server.shared().is_some();
            server.exports.store(Arc::new(if is_offered { exports } else { exports.withdrawn() }));
        }
        let registry = Arc::downgrade(self);
        let upstream_task = match server.shared().cloned().zip(events) {
            Some((client, events)) => {
                let refresh = server.config.refresh.unwrap_or(self.settings.refresh);
                let upstream_task = UpstreamTask::new(registry, server.clone(), client, refresh);
                Some(tokio::spawn(upstream_task.run(events)))
            }
            None if server.is_recalled() => None,
            None => {
                let server = server.clone();
                Some(tokio::spawn(
                    async move { export_list::load_cached(&server, &registry).await },
                ))
            }
        };
        SupervisedUpstream { server, upstream_task }
    }

    /// Publishes again what has changed: the exports of one server, or everything.
    pub(super) fn publish(&self, changed: Option<&str>) {
        self.publish_locked(&mut self.state(), changed);
    }

    fn publish_locked(&self, state: &mut RegistryState, changed: Option<&str>) {
        let servers: Vec<Arc<Upstream>> =
            state.servers.values().map(|it| it.server.clone()).collect();
        let part = |server: &Arc<Upstream>| Part {
            server: server.name().into(),
            prefix: server.prefix().to_owned(),
            exports: server.exports.load_full(),
        };
        let parts: Vec<Part> = servers.iter().map(part).collect();
        let names = CanonicalNames::assign(&parts, self.settings.name_length);
        // A server that takes a name may change the canonical name of another one's tool, which
        // every endpoint must know of.
        let renamed = names.changed_since(&state.names);
        // A name must not be given away before it is known whose it is.
        let is_all_known = servers.iter().all(|server| server.is_recalled());
        for AttachedEndpoint { virtual_server, gateway, publisher } in &state.endpoints {
            let is_meant = |name: &str| servers.iter().position(|server| server.name() == name);
            let alone = virtual_server.name.as_deref().and_then(is_meant);
            let profile = virtual_server.name.as_deref().and_then(|name| state.profiles.get(name));
            let (range, scope) = match (&virtual_server.name, alone, profile) {
                (None, ..) => (0..servers.len(), Scope::Everything),
                (_, Some(alone), _) => (alone..alone + 1, Scope::Alone),
                (_, None, Some(profile)) => (0..servers.len(), Scope::Selected(profile)),
                (_, None, None) => (0..0, Scope::Alone),
            };
            let (shown, parts) = (&servers[range.clone()], &parts[range]);
            let is_concerned =
                |it: &Arc<Upstream>| changed == Some(it.name()) || renamed.contains(it.name());
            if changed.is_some() && !shown.iter().any(is_concerned)
                || !(is_all_known || matches!(scope, Scope::Alone))
            {
                continue;
            }
            let problems = virtual_server.publish((shown, parts), scope, &names, publisher);
            if virtual_server.name.is_none() {
                let text = |(name, texts): (Arc<str>, _)| (name.to_string(), texts);
                state.problems = problems.into_iter().map(text).collect();
            }
            set_instructions(gateway, shown, scope);
        }
        state.names = names;
    }

    /// Tells clients everywhere, or some of them, that a resource of a server has new content.
    pub(super) fn updated(
        &self,
        server: &str,
        uri: &str,
        metadata: Option<&RawJson>,
        recipients: Option<&Recipients>,
    ) {
        for AttachedEndpoint { virtual_server, publisher, .. } in &self.state().endpoints {
            virtual_server.updated(server, uri, metadata.cloned(), recipients, publisher);
        }
    }

    /// The servers that an endpoint shows: all, the one of that name, or those of a profile.
    pub(super) fn servers_of(&self, virtual_server: Option<&str>) -> Vec<Arc<Upstream>> {
        let state = self.state();
        let Some(name) = virtual_server else {
            return state.servers.values().map(|it| it.server.clone()).collect();
        };
        if let Some(alone) = state.servers.get(name) {
            return vec![alone.server.clone()];
        }
        let Some(profile) = state.profiles.get(name) else { return Vec::new() };
        let scope = Scope::Selected(profile);
        let chosen = state.servers.values().filter(|it| scope.has_server(it.server.name()));
        chosen.map(|it| it.server.clone()).collect()
    }

    /// How complete what an endpoint shows is.
    pub(super) fn completeness(&self, virtual_server: Option<&str>) -> Completeness {
        let servers = self.servers_of(virtual_server);
        servers.iter().map(|server| server.completeness()).max().unwrap_or_default()
    }

    /// The servers in the order of their names.
    pub(super) fn servers(&self) -> Vec<Arc<Upstream>> {
        self.state().servers.values().map(|it| it.server.clone()).collect()
    }

    pub(super) fn server(&self, name: &str) -> Option<Arc<Upstream>> {
        self.state().servers.get(name).map(|it| it.server.clone())
    }

    /// Name clashes at the main endpoint, by server.
    pub(super) fn problems(&self) -> BTreeMap<String, Vec<String>> {
        self.state().problems.clone()
    }

    fn state(&self) -> MutexGuard<'_, RegistryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RegistryState {
    /// Stops a server once its calls in flight have ended.
    fn retire(&mut self, supervised: &SupervisedUpstream) {
        while self.retiring.try_join_next().is_some() {}
        let server = supervised.server.clone();
        self.retiring.spawn(async move { server.retire().await });
    }
}

/// Says through a gateway what the servers say of their use.
fn set_instructions(gateway: &Gateway, servers: &[Arc<Upstream>], scope: Scope<'_>) {
    let own = gateway.identity().instructions.as_deref();
    let offers: Vec<_> = servers
        .iter()
        .filter(|server| scope.has_server(server.name()))
        .map(|server| (server, server.offered()))
        .collect();
    let told = |(server, exports): &(&Arc<Upstream>, Arc<Exports>)| {
        let text = server.redaction.known(exports.instructions.as_deref()?).into_owned();
        Some((server.name().to_owned(), text))
    };
    let told: Vec<_> = offers.iter().filter_map(told).collect();
    let merged = match (scope, told.as_slice()) {
        // What is alone needs no heading.
        (Scope::Alone, [(_, text)]) if own.is_none() => Some(text.clone()),
        _ => {
            merge_instructions(own, told.iter().map(|(name, text)| (name.as_str(), text.as_str())))
        }
    };
    gateway.set_instructions(merged);
}

impl Drop for SupervisedUpstream {
    fn drop(&mut self) {
        if let Some(upstream_task) = &self.upstream_task {
            upstream_task.abort();
        }
    }
}

impl UpstreamRegistry {
    /// Waits until the servers of an endpoint have listed what they have, or have been waited for long
    /// enough since they were configured and since the client's session first listed something: many
    /// clients list once, and none is delayed twice. None if they have listed it.
    pub(super) fn listed(
        self: &Arc<Self>,
        virtual_server: Option<&str>,
        since: Option<Instant>,
    ) -> Option<BoxFuture<'static, ()>> {
        let awaited = move |registry: &Self, virtual_server: Option<&str>| {
            let wait = registry.settings.startup_wait;
            let servers = registry.servers_of(virtual_server);
            servers.iter().filter_map(|it| it.awaited_until(wait, since)).max()
        };
        let mut changes = self.changes.subscribe();
        let mut until = awaited(self, virtual_server)?;
        let (weak, virtual_server) = (Arc::downgrade(self), virtual_server.map(str::to_owned));
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

    /// The next moment at which a server of an endpoint may have listed what a call names; none if none of
    /// them is waited for.
    pub(super) fn next_listing(
        self: &Arc<Self>,
        virtual_server: Option<&str>,
        call: &Call,
    ) -> Option<BoxFuture<'static, ()>> {
        let name = match call.method {
            Method::ToolsCall | Method::PromptsGet => call.head.name.as_ref()?.to_text(),
            Method::Complete => {
                call.params.get("ref")?.get("name").as_ref().and_then(RawJson::to_text)
            }
            _ => None,
        };
        let mut changes = self.changes.subscribe();
        let wait = self.settings.startup_wait;
        let until = |server: &Arc<Upstream>| match name
            .as_deref()
            .is_some_and(|it| is_of(it, server, virtual_server))
        {
            true => (!server.is_settled()).then(|| Instant::now() + FOREVER),
            false => server.awaited_until(wait, None),
        };
        let until = self.servers_of(virtual_server).iter().filter_map(until).max()?;
        Some(Box::pin(async move {
            tokio::select! {
                _ = changes.changed() => {}
                () = sleep_until(until) => {}
            }
        }))
    }
}

/// Whether a name can only be that of a thing of this server.
fn is_of(name: &str, server: &Upstream, virtual_server: Option<&str>) -> bool {
    virtual_server == Some(server.name()) || naming::begins_with(name, server.prefix())
}

#[cfg(test)]
mod tests;
