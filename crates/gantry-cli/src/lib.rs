//! The `gantry` program: its command line, its configuration, and what `gantry serve` runs.
//!
//! The modules that tests and fuzz targets need are public; nothing else uses this crate.

pub mod admin;
mod admin_client;
mod args;
mod commands;
pub mod config;
mod exit;
mod lock_file;
mod logging;
mod render;
mod runtime;
mod secrets;
mod state_dir;
mod telemetry;
mod tool_sources;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Arguments, Verb};
use crate::commands::completions;
use crate::exit::Exit;

/// Parses the command line and runs its verb.
pub fn run() -> ExitCode {
    // A shell that completes asks the program itself; such a run ends here.
    completions::answer();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return render::usage(&error),
    };
    logging::start(arguments.log_format, matches!(arguments.verb, Verb::Serve(_)));
    let outcome = match runtime() {
        Ok(runtime) => runtime.block_on(commands::run(arguments.verb)),
        Err(error) => Err(Exit::bug(format!("the runtime could not be started: {error}"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(exit) => render::failure(&exit),
    }
}

/// Where everything runs but those connections of clients that have threads of their own. What takes
/// long is done beside it, so that it needs few threads.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let threads = threads().div_ceil(2);
    tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()
}

/// How many threads serve: half of what can work at once on this machine. The other half is for the
/// programs behind, and for clients on the same machine: a call that finds its thread awake costs
/// less than one that has to wake a thread on another core.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| (cores.get() / 2).max(1))
}
