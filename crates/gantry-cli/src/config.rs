//! The configuration, `gantry.json`: JSON with comments and trailing commas, and the servers of
//! every other program's file. What is unknown or wrong is an error with its place, never silence.

pub(crate) mod audit;
pub(crate) mod dialect;
pub(crate) mod edit;
pub(crate) mod editor;
pub(crate) mod entry;
pub(crate) mod error;
pub(crate) mod http;
pub(crate) mod jsonc;
pub(crate) mod layers;
pub(crate) mod limits;
pub(crate) mod merge;
pub(crate) mod names;
pub(crate) mod otlp;
pub(crate) mod policy;
pub(crate) mod read;
pub(crate) mod reload;
pub(crate) mod resources;
pub(crate) mod servers;
pub(crate) mod show;
pub(crate) mod source;
pub(crate) mod table;
pub(crate) mod tools;
pub(crate) mod variables;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use gantry_client::Secret;
use gantry_gateway::NameStyle;
use gantry_policy::PinSettings;
use gantry_protocol::RawJson;
use gantry_providers::upstreams::{Profile, UpstreamConfig};
use gantry_server::AllowedHosts;

use crate::config::source::LoadState;

pub use crate::config::audit::AuditConfig;
pub use crate::config::dialect::timeout_in_seconds;
pub use crate::config::error::{ConfigError, Place};
pub use crate::config::http::{Auth, HttpLimits, MetricsConfig};
pub use crate::config::layers::{find, layers, of_erasmus, of_project, of_user, places, stated};
pub use crate::config::limits::{CallLimits, ClientLimits, ToolLimits};
pub use crate::config::otlp::Otlp;
pub(crate) use crate::config::otlp::collector;
pub use crate::config::policy::{Policy, TrustConfig};
pub use crate::config::resources::ResourceConfig;
pub use crate::config::show::transport;
pub use crate::config::tools::Standby;
pub use crate::config::variables::{ValueError, state_folder};

/// Finds the value of a variable.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// JSON with comments and trailing commas as plain JSON, every other byte in its place; or where
/// a comment begins that has no end.
pub fn plain_json(text: &[u8]) -> Result<Vec<u8>, usize> {
    jsonc::blank(text)
}

/// Whether a configuration is Gantry's own, rather than a file that another program reads too.
pub fn is_own(file: &Path) -> bool {
    dialect::is_own(file, true)
}

/// The JSON Schema of the configuration, for editors.
pub const SCHEMA: &str = include_str!("config/schema.json");

/// What the configuration says. What it does not say is left to the one who asks.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The file; of several layers the one that counts most.
    pub file: PathBuf,
    /// The files that were not included by another one, the one that counts most first.
    pub layers: Vec<PathBuf>,
    /// Where to listen.
    pub listen: Option<String>,
    /// Whether callers over HTTP must say who they are.
    pub auth: Option<Auth>,
    /// What clients over HTTP may use up.
    pub http: Option<HttpLimits>,
    /// Who may read the metrics.
    pub metrics: Option<MetricsConfig>,
    /// Names of this gateway beside those of the machine, and websites that may use it.
    pub names: AllowedHosts,
    /// Folders of tools, as whole paths.
    pub folders: Vec<PathBuf>,
    /// Tools that stand in the configuration itself.
    pub inline: Vec<Inline>,
    /// Other MCP servers, in the order in which they stand there.
    pub servers: Vec<UpstreamConfig>,
    /// Where each of them stands.
    pub places: BTreeMap<String, Place>,
    /// Selections of servers and tools.
    pub profiles: Vec<Profile>,
    /// Which files are resources.
    pub resources: ResourceConfig,
    /// How long lists wait for servers that are being started.
    pub startup_wait: Option<Duration>,
    /// Where `uv` is.
    pub uv: Option<PathBuf>,
    /// Who may do what.
    pub policy: Policy,
    /// Whether and how programs are started ahead.
    pub standby: Option<Standby>,
    /// What names look like that clients see.
    pub tool_names: Option<NameStyle>,
    /// What programs may use up.
    pub tool_limits: ToolLimits,
    /// What clients may hold.
    pub client_limits: ClientLimits,
    /// How much may be called.
    pub limits: Option<CallLimits>,
    /// How far things are trusted, and what a person must approve.
    pub trust: TrustConfig,
    /// How strict pins of definitions are.
    pub pins: Option<PinSettings>,
    /// The address of the store, such as `sqlite://…`.
    pub state: Option<String>,
    /// What is recorded of calls, and how long that is kept.
    pub audit: Option<AuditConfig>,
    /// Where traces and records are sent.
    pub telemetry: Option<Otlp>,
    /// Every file that was read, the first one first: a change of any may change what is said.
    pub files: Vec<PathBuf>,
    /// Values of variables, files and secrets, which are not to be shown.
    pub secrets: Vec<Secret>,
    /// What is most likely not meant, each with its place.
    pub warnings: Vec<String>,
    /// What has no meaning here, each with its place.
    pub notes: Vec<String>,
}

/// A tool that stands in the configuration itself.
#[derive(Debug, Clone)]
pub struct Inline {
    /// Its manifest, in the form of `NAME.tool.json`.
    pub manifest: RawJson,
    /// Where it begins.
    pub place: Place,
}

impl Config {
    /// Reads a configuration.
    pub fn read(file: &Path, environment: Lookup<'_>) -> Result<Self, ConfigError> {
        Self::trace(file, environment).1
    }

    /// Reads a configuration, and tells every file that was looked at, also when one was wrong.
    pub fn trace(
        file: &Path,
        environment: Lookup<'_>,
    ) -> (Vec<PathBuf>, Result<Self, ConfigError>) {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        match std::fs::read(&file) {
            Ok(text) => Self::follow(&file, &text, environment),
            Err(error) => (vec![file.clone()], Err(ConfigError::Unreadable { file, error })),
        }
    }

    /// Reads a configuration of several layers. What an earlier one says stands; the others add what
    /// it does not say.
    pub fn read_layers(layers: &[PathBuf], environment: Lookup<'_>) -> Result<Self, ConfigError> {
        Self::trace_layers(layers, environment).1
    }

    /// The same, and every file that was looked at, also when one was wrong.
    pub fn trace_layers(
        layers: &[PathBuf],
        environment: Lookup<'_>,
    ) -> (Vec<PathBuf>, Result<Self, ConfigError>) {
        let load_state = LoadState::default();
        let read = layers::read(layers, environment, &load_state);
        let files = load_state.files.borrow().clone();
        let concluded = read.map(|mut config| {
            config.conclude(load_state);
            config
        });
        (files, concluded)
    }

    /// Reads the text of a configuration. Paths in it are taken from the file's folder.
    pub fn parse(file: &Path, text: &[u8], environment: Lookup<'_>) -> Result<Self, ConfigError> {
        Self::follow(file, text, environment).1
    }

    fn follow(
        file: &Path,
        text: &[u8],
        environment: Lookup<'_>,
    ) -> (Vec<PathBuf>, Result<Self, ConfigError>) {
        let load_state = LoadState::default();
        load_state.touch(file);
        let read = read::document(file, text, environment, &load_state, &[]);
        let files = load_state.files.borrow().clone();
        let concluded = read.map(|mut config| {
            config.layers = vec![config.file.clone()];
            config.conclude(load_state);
            config
        });
        (files, concluded)
    }
}
