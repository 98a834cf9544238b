//! What a user may type.

#[cfg(test)]
mod documented_commands;

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
    /// Log format: `text`, or `json` with one object per line.
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
    /// List, show, call, check and write tools; lists them by default.
    Tools(ToolsOptions),
    /// Call a tool; short for `tools call`.
    Call(CallOptions),
    /// Add an MCP server to the configuration.
    Add(AddOptions),
    /// Add servers from JSON, as other clients and READMEs have them.
    AddJson(AddJsonOptions),
    /// Remove an MCP server from the configuration.
    #[command(visible_alias = "rm")]
    Remove(RemoveOptions),
    /// List the MCP servers of the configuration.
    #[command(visible_alias = "ls")]
    List(ServersOptions),
    /// Show the status of every upstream server of the running gateway.
    Status(StatusOptions),
    /// Restart an upstream server.
    Restart(RestartOptions),
    /// Print the standard error of an upstream server's process.
    Logs(LogsOptions),
    /// Show and set trust levels of the gateway, servers and tools.
    Trust(TrustOptions),
    /// List calls that wait for approval, or approve one.
    Approve(ApproveOptions),
    /// Deny a call that waits for approval.
    Deny(DenyOptions),
    /// Import MCP servers from another client's configuration.
    Import(ImportOptions),
    /// Show statistics: calls, errors and latency of each tool.
    Stats(StatsOptions),
    /// Manage secrets: tokens, keys and passwords for the configuration.
    #[command(subcommand)]
    Secret(SecretVerb),
    /// Show, search, verify and export the audit log.
    #[command(subcommand)]
    Audit(AuditVerb),
    /// Create, list and revoke tokens of clients.
    #[command(subcommand)]
    Token(TokenVerb),
    /// Validate and show the configuration.
    #[command(subcommand)]
    Config(ConfigVerb),
    /// Explain and check access rules.
    #[command(subcommand)]
    Policy(PolicyVerb),
    /// Print shell completions for verbs, options and names.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the version.
    Version,
}

/// Where tools come from.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Origin {
    /// Configuration file; by default GANTRY_CONFIG, else ./gantry.json and the user's.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,

    /// Folder of tools, instead of those of the configuration; repeatable.
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

    /// Use this MCP server instead: http://… or ws://…
    #[arg(long, value_name = "URL", conflicts_with_all = ["config", "tools"])]
    pub(crate) url: Option<String>,

    /// HTTP header of every request; repeatable.
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

    /// Id of the running gateway, if there are several.
    #[arg(long, value_name = "ID", conflicts_with_all = ["url", "tools", "local"])]
    pub(crate) instance: Option<String>,

    /// Run in this process, with its own servers, even if a gateway is running.
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
    /// Address to listen on for HTTP; port 0 takes a free port.
    #[arg(long, value_name = "ADDR", env = "GANTRY_LISTEN")]
    pub(crate) listen: Option<String>,

    /// Authentication of HTTP callers; `none` is accepted on loopback only.
    #[arg(long, value_parser = auth, value_name = "token|none", env = "GANTRY_AUTH")]
    pub(crate) auth: Option<Auth>,

    /// Threads for HTTP connections; by default half the number of cores.
    #[arg(long, value_name = "N", env = "GANTRY_THREADS")]
    pub(crate) threads: Option<NonZeroU16>,

    /// Serve one client on standard input and output; no HTTP without --listen.
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
    /// Show a tool with its schemas.
    Show(ShowOptions),
    /// Call a tool.
    Call(CallOptions),
    /// Validate tools, with file, line and advice.
    Check(CheckOptions),
    /// Write a working tool to start from.
    New(NewOptions),
    /// Print the specification document of a tool.
    Spec(SpecOptions),
    /// Compare two tools, and say which version the changes demand.
    Diff(DiffOptions),
    /// Show pinned definitions and changes, and accept them.
    Pin(PinOptions),
    /// Forget a pin, so that the next definition counts as new.
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
    /// Name of the tool.
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
    /// Name of the tool.
    #[arg(required_unless_present = "plan", add = ArgValueCompleter::new(completions::names))]
    pub(crate) name: Option<String>,

    /// Arguments, read according to the tool's schema; `-` reads a JSON object from standard input.
    #[arg(value_name = "KEY=VALUE", add = ArgValueCompleter::new(completions::arguments))]
    pub(crate) words: Vec<String>,

    /// Arguments as a JSON object, or @FILE; KEY=VALUE overrides members.
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,

    /// Several dependent calls from a file, or from standard input with `-`.
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

    /// Approve the call without asking, if it needs an approval.
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}

/// What to check.
#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// Files or folders; by default the tool folders of the configuration.
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) origin: Origin,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to compare.
#[derive(Debug, Args)]
pub(crate) struct DiffOptions {
    /// The old tool: a file, NAME or NAME@VERSION.
    #[arg(add = ArgValueCompleter::new(completions::names))]
    pub(crate) old: String,

    /// The new tool.
    #[arg(add = ArgValueCompleter::new(completions::names))]
    pub(crate) new: String,

    #[command(flatten)]
    pub(crate) origin: Origin,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What to accept, or to show.
#[derive(Debug, Args)]
pub(crate) struct PinOptions {
    /// Accept these: NAME, SERVER/NAME, or all changes of a SERVER.
    pub(crate) names: Vec<String>,

    /// Accept all changes of all servers.
    #[arg(long, conflicts_with = "names")]
    pub(crate) all: bool,

    /// Accept all changes of this server.
    #[arg(long, value_name = "SERVER", conflicts_with_all = ["names", "all"])]
    pub(crate) server: Option<String>,

    /// Show the changes, accept nothing.
    #[arg(long)]
    pub(crate) diff: bool,

    /// Accept nothing; end with 5 if a definition is held back.
    #[arg(long)]
    pub(crate) check: bool,

    /// Keep the pins in gantry.lock beside the configuration from now on.
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
    /// NAME in the list of tools, or SERVER/NAME.
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) reach: crate::admin_client::GatewayTarget,
}

/// Whose document.
#[derive(Debug, Args)]
pub(crate) struct SpecOptions {
    /// NAME or NAME@VERSION of the tool.
    #[arg(add = ArgValueCompleter::new(completions::names))]
    pub(crate) name: String,

    #[command(flatten)]
    pub(crate) reach: GatewayTarget,
}

/// What to write.
#[derive(Debug, Args)]
pub(crate) struct NewOptions {
    /// Kind of program.
    pub(crate) kind: Kind,

    /// Name of the tool: module and tool, such as `text.count`.
    pub(crate) name: String,

    /// Folder to write into; by default the first tool folder, or `tools`.
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,

    /// What the tool returns.
    #[arg(long, value_enum, default_value_t = Output::Data, value_name = "FORM")]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) origin: Origin,
}

/// What a tool answers with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// Structured data with an output schema.
    Data,
    /// MCP content, such as text or images, without an output schema.
    Content,
}

/// What a new tool is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// One Python file with its dependencies; needs `uv`.
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
    /// Validate the configuration.
    Check(ConfigCheckOptions),
    /// Print the effective configuration.
    Show(ConfigOptions),
    /// Print which files are used, in order of precedence.
    Path(ConfigOptions),
    /// Print the JSON Schema of the configuration.
    Schema,
}

/// What to check of the configuration.
#[derive(Debug, Args)]
pub(crate) struct ConfigCheckOptions {
    #[command(flatten)]
    pub(crate) which: ConfigOptions,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which configuration.
#[derive(Debug, Args)]
pub(crate) struct ConfigOptions {
    /// Configuration file; by default GANTRY_CONFIG, else ./gantry.json and the user's.
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
    /// Plain text.
    Text,
    /// One JSON object per line.
    Json,
}
