//! What stands behind this gateway, kept as the configuration has it: other MCP servers, and the
//! folders of tools.

use std::sync::Arc;

use gantry::{Server, Tools, Upstreams};
use gantry_gateway::Snapshot;
use tokio::task::JoinHandle;

use crate::config::Config;
use crate::config::reload::Reload;
use crate::runtime::policies::PolicyRuntime;
use crate::{logging, tool_sources};

/// What is configured while the gateway runs.
#[derive(Debug)]
pub(crate) struct ConfigApplier {
    upstreams: Upstreams,
    /// The folders that follow the configuration; none if the command line names others.
    tools: Option<Tools>,
    /// The policies, and who must hear that they have changed.
    guarding: PolicyRuntime,
    server: Server,
    /// Whether the example tools were offered at the start.
    shows_examples: bool,
}

/// Follows the configuration until it is stopped.
#[derive(Debug)]
pub(crate) struct Following {
    applier: Arc<ConfigApplier>,
    task: JoinHandle<()>,
}

impl ConfigApplier {
    pub(crate) fn new(
        upstreams: Upstreams,
        tools: Option<Tools>,
        guarding: PolicyRuntime,
        server: Server,
        shows_examples: bool,
    ) -> Self {
        Self { upstreams, tools, guarding, server, shows_examples }
    }

    /// Puts a configuration in force, and again whenever one of its files is saved.
    pub(crate) fn follow(self, config: Option<&Config>, reload: Reload) -> Following {
        let applier = Arc::new(self);
        let mut in_force = config.cloned().unwrap_or_default();
        applier.serve(&in_force);
        let followed = applier.clone();
        let looked_at = applier.clone();
        let reload = reload.run(tool_sources::variable, move |config| {
            followed.change(&in_force, &config);
            in_force = config;
        });
        let task = tokio::spawn(async move {
            // Names are known once the servers have spoken.
            let settled = async {
                looked_at.upstreams.settled().await;
                looked_at.warn();
            };
            tokio::join!(settled, reload);
        });
        Following { applier, task }
    }

    fn change(&self, before: &Config, config: &Config) {
        // There is a configuration now, and the examples were for when there is none.
        if self.shows_examples && has_own(config) {
            tool_sources::remove(&self.server);
        }
        if let Some(tools) = self.tools.as_ref().filter(|_| before.folders != config.folders) {
            // Reading folders may block, and must not hold up calls.
            tokio::task::block_in_place(|| tools.set_folders(config.folders.clone()));
        }
        self.server.set_names(config.names.clone());
        let shows_others = self.guarding.configure(before, config);
        self.serve(config);
        if shows_others {
            self.server.gateway().lists_may_have_changed();
            self.warn();
        }
        for key in needing_restart(before, config) {
            tracing::warn!("`{key}` has changed; restart the gateway to apply it");
        }
        tracing::info!(servers = config.servers.len(), "configuration reloaded");
    }

    /// Tells of rules that most likely do not do what they are meant to.
    fn warn(&self) {
        let targets = self.server.gateway().catalog().with(Snapshot::targets);
        let rules = self.guarding.policies.rules().current();
        // Every rule is held against every name, which must not hold up calls.
        for warning in tokio::task::block_in_place(|| rules.lookalikes(&targets)) {
            tracing::warn!("{warning}");
        }
    }

    /// Reaches the servers of a configuration, and those only.
    fn serve(&self, config: &Config) {
        logging::hide(config);
        for warning in &config.warnings {
            tracing::warn!("{warning}");
        }
        for server in config.servers.iter().filter(|server| !server.disabled) {
            if let Err(problem) = &server.target {
                tracing::warn!("the server `{}` cannot be reached: {problem}", server.name);
            }
        }
        self.upstreams.configure(config.servers.clone(), config.profiles.clone());
    }
}

/// Whether a configuration has anything to offer.
fn has_own(config: &Config) -> bool {
    !config.servers.is_empty() || !config.folders.is_empty() || !config.inline.is_empty()
}

impl Following {
    /// Looks at the configuration no longer, and lets go of the servers.
    pub(crate) async fn stop(self) {
        self.task.abort();
        let _ = self.task.await;
        self.applier.upstreams.stop().await;
    }
}

/// Keys that are read at the start only, and have changed.
fn needing_restart(before: &Config, config: &Config) -> Vec<&'static str> {
    let manifests = |config: &Config| -> Vec<_> {
        config.inline.iter().map(|inline| inline.manifest.clone()).collect()
    };
    let changes = [
        ("listen", before.listen != config.listen),
        ("auth", before.auth != config.auth),
        ("http", before.http != config.http),
        ("metrics", before.metrics != config.metrics),
        ("state", before.state != config.state),
        ("startupWait", before.startup_wait != config.startup_wait),
        ("workspace", before.resources.workspace != config.resources.workspace),
        ("resources", before.resources != config.resources),
        ("uv", before.uv != config.uv),
        ("standby", before.standby != config.standby),
        ("telemetry", before.telemetry != config.telemetry),
        ("toolNames", before.tool_names != config.tool_names),
        ("toolLimits", before.tool_limits != config.tool_limits),
        ("clientLimits", before.client_limits != config.client_limits),
        ("tools", manifests(before) != manifests(config)),
    ];
    changes.into_iter().filter(|(_, changed)| *changed).map(|(key, _)| key).collect()
}
