//! The configuration of upstream servers and profiles, and the identity key of a server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gantry_client::{Secret, Settings, Target};
use gantry_gateway::Origin;
use sha2::{Digest, Sha256};

use super::naming;

/// The memory of a server's compiled URI templates, unless its entry says otherwise: about a
/// thousand templates of one or two variables.
const TEMPLATES: usize = 1024 * 1024;

/// One server.
#[derive(Debug, Clone)]
pub struct UpstreamConfig {
    /// What it is called here.
    pub name: String,
    /// The configuration file that its entry stands in; none if it was made in code.
    pub source: Option<PathBuf>,
    /// Where it is; what is wrong with its entry if that cannot be said.
    pub target: Result<Target, String>,
    /// How to speak to it.
    pub client: Settings,
    /// Whether it is disabled.
    pub disabled: bool,
    /// What its names begin with, followed by `_`; its own name if none is given, nothing if empty.
    pub prefix: Option<String>,
    /// Tools to offer, as patterns with `*`; all if empty.
    pub include: Vec<String>,
    /// Tools to leave out.
    pub exclude: Vec<String>,
    /// What to say of single tools instead of what the server says, by the server's name for them.
    pub overrides: BTreeMap<String, Override>,
    /// Whether calls of its tools run long, so that a client which can come back later may leave.
    pub task: bool,
    /// Who shares one connection.
    pub share: Share,
    /// How often lists are asked for whose changes it does not tell; as all servers if none is given.
    pub refresh: Option<Duration>,
    /// Steps that checking arguments or a result against the schema of one of its tools may take; as
    /// for all tools if none is given.
    pub validation: Option<usize>,
    /// Bytes of memory that its compiled URI templates may take together.
    pub templates: usize,
    /// The values that references in its entry stood for. They are shown nowhere.
    pub secrets: Vec<Secret>,
}

impl UpstreamConfig {
    /// A server with nothing special about it.
    pub fn new(name: &str, target: Target) -> Self {
        Self {
            name: name.to_owned(),
            source: None,
            target: Ok(target),
            client: Settings::default(),
            disabled: false,
            prefix: None,
            include: Vec::new(),
            exclude: Vec::new(),
            overrides: BTreeMap::new(),
            task: false,
            share: Share::default(),
            refresh: None,
            validation: None,
            templates: TEMPLATES,
            secrets: Vec::new(),
        }
    }

    /// How long a call may take. A little longer than its client allows, so that the client's
    /// error, which names the server, comes first.
    pub(super) fn call_timeout(&self) -> Option<Duration> {
        self.client.at_most.checked_add(self.client.connect_within)
    }

    /// Whether it is configured in the same way.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        // The settings hold no secrets, so that their print tells all of them.
        let print = |config: &Self| format!("{:?}", config.client);
        self.name == other.name
            && self.source == other.source
            && self.target == other.target
            && self.disabled == other.disabled
            && self.prefix == other.prefix
            && self.include == other.include
            && self.exclude == other.exclude
            && self.overrides == other.overrides
            && self.task == other.task
            && self.share == other.share
            && self.refresh == other.refresh
            && self.validation == other.validation
            && self.templates == other.templates
            && self.secrets == other.secrets
            && print(self) == print(other)
    }
}

/// What to say of a tool instead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Override {
    /// Its title.
    pub title: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// Whether its calls run long, where that is not as for the server's other tools.
    pub task: Option<bool>,
}

/// Who shares one connection to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Share {
    /// Everyone.
    #[default]
    Process,
    /// All that one user does.
    User,
    /// One session of one client.
    Session,
}

/// A selection of servers and tools under a name of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The servers; all if empty.
    pub servers: Vec<String>,
    /// Tools to offer, by the names they have at the main endpoint, as patterns with `*`.
    pub include: Vec<String>,
    /// Tools to leave out.
    pub exclude: Vec<String>,
}

/// Limits and habits that all servers share.
#[derive(Debug, Clone)]
pub struct UpstreamSettings {
    /// The longest name of a tool; longer ones are shortened with a stable suffix.
    pub name_length: usize,
    /// How long the tools of a lost server stay listed.
    pub keep: Duration,
    /// Where the last known lists are kept, so that a server that is started late is listed early.
    pub folder: Option<PathBuf>,
    /// Connections of one server that `share` may open.
    pub connections: usize,
    /// How often lists are asked for that a server neither tells the changes nor the age of.
    pub refresh: Duration,
    /// How long after its configuration a server of which nothing is remembered is waited for by
    /// clients that list.
    pub startup_wait: Duration,
}

impl Default for UpstreamSettings {
    fn default() -> Self {
        Self {
            name_length: 64,
            keep: Duration::from_secs(60),
            folder: None,
            connections: 64,
            refresh: Duration::from_secs(5 * 60),
            startup_wait: Duration::from_secs(5),
        }
    }
}

impl UpstreamConfig {
    /// Tells the server from another one that takes its name later, in every catalog entry.
    pub(super) fn origin(&self) -> Arc<Origin> {
        let (server, identity) = (self.name.as_str().into(), self.identity().into());
        Arc::new(Origin { server, identity })
    }

    /// The identity key of the server: the program with its arguments, or the address. Either may
    /// hold a secret, so only its digest is used. Variables and headers are left out: a new token is
    /// not a new server.
    pub(super) fn identity(&self) -> String {
        match &self.target {
            Ok(Target::Program(program)) => {
                let words = program.args.iter().map(String::as_bytes);
                let program = program.program.as_os_str().as_encoded_bytes();
                format!("program:{}", digest([program].into_iter().chain(words)))
            }
            Ok(Target::Http(endpoint, _) | Target::WebSocket(endpoint)) => {
                format!("address:{}", digest([endpoint.url.to_string().as_bytes()]))
            }
            Err(_) => format!("unknown:{}", digest([])),
        }
    }

    /// Whether both mean the same server, whatever else their settings say.
    pub(super) fn is_same_server(&self, other: &Self) -> bool {
        self.target.is_ok() && self.source == other.source && self.identity() == other.identity()
    }

    /// The name of the file that caches what the server lists. Servers of one name in different
    /// configuration files have different cache files.
    pub(super) fn cache_file(&self) -> String {
        let name = naming::file_name(&self.name);
        let Some(source) = &self.source else { return format!("{name}.json") };
        let source = std::path::absolute(source).unwrap_or_else(|_| source.clone());
        format!("{name}-{}.json", digest([source.as_os_str().as_encoded_bytes()]))
    }
}

fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update(part.len().to_le_bytes());
        digest.update(part);
    }
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
