//! What a user may type.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// One endpoint between AI clients and tools, on every revision of the Model Context Protocol.
#[derive(Debug, Parser)]
#[command(name = "gantry", version, arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    /// How log lines are written.
    #[arg(long, global = true, value_enum, default_value = "text", env = "GANTRY_LOG_FORMAT")]
    pub(crate) log_format: LogFormat,

    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Run the gateway.
    Serve(ServeOptions),
    /// Print the version.
    Version,
}

/// How the gateway runs.
#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    /// Where to listen for HTTP; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", env = "GANTRY_LISTEN")]
    pub(crate) listen: Option<String>,

    /// Serve one client on standard input and output, and no HTTP unless --listen is given too.
    #[arg(long)]
    pub(crate) stdio: bool,

    /// A folder of tools; may be given more than once. Files that change are read again.
    #[arg(long, value_name = "DIR")]
    pub(crate) tools: Vec<PathBuf>,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// For programs, one object a line.
    Json,
}
