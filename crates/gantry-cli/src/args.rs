//! What a user may type.

use std::num::NonZeroU16;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::ArgValueCompleter;

use crate::commands::add::{AddJsonOptions, AddOptions};
use crate::commands::approve::{ApproveOptions, DenyOptions};
use crate::commands::audit::AuditVerb;
use crate::commands::completions;
use crate::commands::import::ImportOptions;
use crate::commands::list::ServersOptions;
use crate::commands::logs::LogsOptions;
use crate::commands::policy::PolicyVerb;
use crate::commands::remove::RemoveOptions;
use crate::commands::restart::RestartOptions;
use crate::commands::secret::SecretVerb;
use crate::commands::stats::StatsOptions;
use crate::commands::status::StatusOptions;
use crate::commands::token::TokenVerb;
use crate::commands::trust::TrustOptions;
use crate::config::Auth;
use crate::exit;

/// One endpoint between AI clients and tools, on every revision of the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(
    name = "gantry",
    version,
    arg_required_else_help = true,
    after_long_help = exit::table()
)]
pub(crate) struct Arguments {
    /// How log lines are written: as `text` for people, or as `json`, one object a line.
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "FORMAT",
        default_value = "text",
        env = "GANTRY_LOG_FORMAT",
        hide_possible_values = true,
        hide_default_value = true,
        hide_env = true,
        help_heading = "Global options"
    )]
    pub(crate) log_format: LogFormat,

    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run the gateway.
    Serve(ServeOptions),
    /// Look at tools, call them, write new ones; lists them when told nothing else.
    Tools(ToolsOptions),
    /// Call a tool: short for `tools call`.
    Call(CallOptions),
    /// Add a server to the configuration.
    Add(AddOptions),
    /// Add a server whose entry is JSON, as it stands in other configurations.
    AddJson(AddJsonOptions),
    /// Remove a server from the configuration.
    #[command(visible_alias = "rm")]
    Remove(RemoveOptions),
    /// List the servers of the configuration.
    #[command(visible_alias = "ls")]
    List(ServersOptions),
    /// Show how the servers of the gateway that runs stand.
    Status(StatusOptions),
    /// Let a server of the gateway that runs begin anew.
    Restart(RestartOptions),
    /// Print what a server's program has written to standard error.
    Logs(LogsOptions),
    /// Show and decide how far the gateway, its servers and its tools are trusted.
    Trust(TrustOptions),
    /// List the calls that wait for an approval, or approve one.
    Approve(ApproveOptions),
    /// Deny a call that waits for an approval.
    Deny(DenyOptions),
    /// Take over the servers of another client's configuration.
    Import(ImportOptions),
    /// Show calls, errors and latency of each tool.
    Stats(StatsOptions),
    /// Keep what the configuration must not show: tokens, keys, passwords.
    #[command(subcommand)]
    Secret(SecretVerb),
    /// Look at the record of calls, search and check it.
    #[command(subcommand)]
    Audit(AuditVerb),
    /// Make, list and revoke the tokens of clients of the gateway.
    #[command(subcommand)]
    Token(TokenVerb),
    /// Look at the configuration.
    #[command(subcommand)]
    Config(ConfigVerb),
    /// Look at who may do what.
    #[command(subcommand)]
    Policy(PolicyVerb),
    /// Print what makes a shell complete verbs, options and the names of tools and servers.
    Completions {
        /// Which shell.
        shell: Shell,
    },
    /// Print the version.
    Version,
}

/// Where tools come from.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Origin {
    /// The configuration; by default GANTRY_CONFIG, ./gantry.json, then that of the user.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// A folder of tools, instead of those of the configuration; may be given more than once.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) tools: Vec<PathBuf>,
}

impl Origin {
    /// The options again, for a command line that the user may copy: ` --tools DIR`.
    pub(crate) fn words(&self) -> String {
        let config = self.config.iter().map(|file| format!(" --config {}", file.display()));
        let tools = self.tools.iter().map(|folder| format!(" --tools {}", folder.display()));
        config.chain(tools).collect()
    }
}

/// Where tools come from, or who is asked for theirs.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct GatewayTarget {
    #[command(flatten)]
    pub(crate) origin: Origin,

    /// A gateway that runs, or any other MCP server, to ask instead: http://… or ws://…
    #[arg(long, value_name = "URL", conflicts_with_all = ["config", "tools"])]
    pub(crate) url: Option<String>,

    /// A header for every request to it; may be given more than once.
    #[arg(long, short = 'H', value_name = "NAME: VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
}

impl GatewayTarget {
    /// The options again, for a command line that the user may copy.
    pub(crate) fn words(&self) -> String {
        let url = self.url.iter().map(|url| format!(" --url {url}"));
        self.origin.words() + &url.collect::<String>()
    }
}

/// Whose tools are meant: those of the running gateway, unless told otherwise.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ToolSource {
    #[command(flatten)]
    pub(crate) reach: GatewayTarget,

    /// The running gateway with this id, when there are several.
    #[arg(long, value_name = "ID", conflicts_with_all = ["url", "tools", "local"])]
    pub(crate) instance: Option<String>,

    /// Read the configuration and start its servers in this process, whether a gateway runs or not.
    #[arg(long, conflicts_with = "url")]
    pub(crate) local: bool,
}

impl ToolSource {
    /// Which running gateway is meant; none where this process is.
    pub(crate) fn running(&self) -> Option<crate::admin_client::GatewayTarget> {
        let is_here = self.local || self.reach.url.is_some() || !self.reach.origin.tools.is_empty();
        let config = self.reach.origin.config.clone();
        let instance = self.instance.clone();
        (!is_here).then(|| crate::admin_client::GatewayTarget {
            instance,
            config,
            ..Default::default()
        })
    }

    /// The options again, for a command line that the user may copy.
    pub(crate) fn words(&self) -> String {
        let instance = self.instance.iter().map(|id| format!(" --instance {id}"));
        let local = self.local.then(|| " --local".to_owned());
        self.reach.words() + &instance.chain(local).collect::<String>()
    }
}

/// How the gateway runs.
#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    /// Where to listen for HTTP; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", env = "GANTRY_LISTEN")]
    pub(crate) listen: Option<String>,

    /// Whether callers over HTTP must show a token; `none` is taken on loopback only.
    #[arg(long, value_parser = auth, value_name = "token|none", env = "GANTRY_AUTH")]
    pub(crate) auth: Option<Auth>,

    /// Threads that HTTP connections are spread over; half as many as there are cores unless given.
    #[arg(long, value_name = "N", env = "GANTRY_THREADS")]
    pub(crate) threads: Option<NonZeroU16>,

    /// Serve one client on standard input and output, and no HTTP unless --listen is given too.
    #[arg(long)]
    pub(crate) stdio: bool,

    /// The folder whose files are resources; without it and `workspace` in the configuration, none are.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, env = "GANTRY_WORKSPACE")]
    pub(crate) workspace: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) origin: Origin,
}

fn auth(text: &str) -> Result<Auth, String> {
    Auth::parse(text).ok_or_else(|| format!("write one of {}", Auth::NAMES.join(", ")))
}

/// What to do with tools: list them, unless told otherwise.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ToolsOptions {
    #[command(subcommand)]
    pub(crate) verb: Option<ToolsVerb>,

    #[command(flatten)]
    pub(crate) list: ListOptions,
}

/// What to do with tools.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsVerb {
    /// List the tools.
    List(ListOptions),
    /// Show what a tool takes and gives.
    Show(ShowOptions),
    /// Call a tool.
    Call(CallOptions),
    /// Say what is wrong with tools, with file, line and advice.
    Check(CheckOptions),
    /// Write a new tool that works, to start from.
    New(NewOptions),
    /// Print the specification document of a tool.
    Spec(SpecOptions),
    /// Compare two tools: what changed, and which version that demands.
    Diff(DiffOptions),
    /// Show which definitions of servers are pinned or held back, and accept them.
    Pin(PinOptions),
    /// Forget a pin, so that the definition counts as new.
    Unpin(UnpinOptions),
}

/// What to list.
#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    #[command(flatten)]
    pub(crate) source: ToolSource,

    /// Print the definitions as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to show.
#[derive(Debug, Args)]
pub(crate) struct ShowOptions {
    /// The name of the tool.
    #[arg(add = ArgValueCompleter::new(completions::names))]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) source: ToolSource,

    /// Print the definition as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to call, and with what.
#[derive(Debug, Args)]
#[command(after_help = "Arguments: text=hello  count=3  tags=a,b  point.x=1  \
                        filter:='{\"a\": [1]}'  text=@FILE  -")]
pub(crate) struct CallOptions {
    /// The name of the tool.
    #[arg(required_unless_present = "plan", add = ArgValueCompleter::new(completions::names))]
    pub(crate) name: Option<String>,

    /// Its arguments, read as its schema says; `-` reads a JSON object from standard input.
    #[arg(value_name = "KEY=VALUE", add = ArgValueCompleter::new(completions::arguments))]
    pub(crate) words: Vec<String>,

    /// Its arguments as a JSON object, or @FILE with one; KEY=VALUE is put on top.
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,

    /// Several calls that may build on each other, from a file or from standard input, `-`.
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["name", "words", "args", "contract"]
    )]
    pub(crate) plan: Option<String>,

    #[command(flatten)]
    pub(crate) source: ToolSource,

    /// Print the whole result as JSON.
    #[arg(long)]
    pub(crate) json: bool,

    /// Print `{status, data, error, explanation}`; with `-` as NAME also read
    /// `{tool_name, arguments}` from standard input.
    #[arg(long, conflicts_with = "json")]
    pub(crate) contract: bool,

    /// Approve the call where it needs an approval, instead of being asked.
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}

/// What to check.
#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// Files or folders; by default the folders of the configuration.
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) origin: Origin,

    /// Print what was found as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to compare.
#[derive(Debug, Args)]
pub(crate) struct DiffOptions {
    /// The older one: a file, NAME or NAME@VERSION.
    #[arg(add = ArgValueCompleter::new(completions::names))]
    pub(crate) old: String,

    /// The newer one.
    #[arg(add = ArgValueCompleter::new(completions::names))]
    pub(crate) new: String,

    #[command(flatten)]
    pub(crate) origin: Origin,

    /// Print the changes as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to accept, or to show.
#[derive(Debug, Args)]
pub(crate) struct PinOptions {
    /// Accept these: the name in the list of tools, SERVER/NAME, or a SERVER with all its changes.
    pub(crate) names: Vec<String>,

    /// Accept all that is held back or has changed.
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,

    /// Accept what is held back of this server or has changed.
    #[arg(long, value_name = "SERVER", conflicts_with_all = ["names", "all"])]
    pub(crate) server: Option<String>,

    /// Show what has changed, and accept nothing.
    #[arg(long)]
    pub(crate) diff: bool,

    /// Accept nothing, and end with 5 if something is held back.
    #[arg(long)]
    pub(crate) check: bool,

    /// Keep the pins in gantry.lock beside the configuration from now on, to be reviewed with it.
    #[arg(long)]
    pub(crate) lock: bool,

    #[command(flatten)]
    pub(crate) reach: crate::admin_client::GatewayTarget,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to forget.
#[derive(Debug, Args)]
pub(crate) struct UnpinOptions {
    /// The name in the list of tools, or SERVER/NAME.
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) reach: crate::admin_client::GatewayTarget,
}

/// Whose document.
#[derive(Debug, Args)]
pub(crate) struct SpecOptions {
    /// The name of the tool, NAME or NAME@VERSION.
    #[arg(add = ArgValueCompleter::new(completions::names))]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) reach: GatewayTarget,
}

/// What to write.
#[derive(Debug, Args)]
pub(crate) struct NewOptions {
    /// What it is written in.
    pub(crate) kind: Kind,

    /// The name of the tool: module and tool, such as `text.count`.
    pub(crate) name: String,

    /// Where to put it; by default the first folder of tools, or `tools`.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,

    /// What the tool answers with.
    #[arg(long, value_enum, default_value_t = Output::Data, value_name = "FORM")]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) origin: Origin,
}

/// What a tool answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Data that an output schema describes.
    Data,
    /// MCP content, such as text or images, without an output schema.
    Content,
}

/// What a new tool is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// One Python file, with its dependencies inside; needs `uv`.
    Python,
    /// A shell script and its manifest.
    Shell,
    /// Any program and its manifest; here Python without `uv`.
    Process,
    /// A native program in C, compiled with `cc`.
    Binary,
    /// A native program in Rust, compiled with `rustc`.
    Rust,
}

/// What to do with the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Say whether the configuration is in order.
    Check(ConfigCheckOptions),
    /// Print what is in force.
    Show(ConfigOptions),
    /// Print which files are used, the one that counts most first.
    Path(ConfigOptions),
    /// Print the JSON Schema of the configuration, for editors.
    Schema,
}

/// What to check of the configuration.
#[derive(Debug, Args)]
pub(crate) struct ConfigCheckOptions {
    #[command(flatten)]
    pub(crate) which: ConfigOptions,

    /// Print what was found as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which configuration.
#[derive(Debug, Args)]
pub(crate) struct ConfigOptions {
    /// The configuration; by default GANTRY_CONFIG, ./gantry.json, then that of the user.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
}

/// A shell that completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// For programs, one object a line.
    Json,
}
