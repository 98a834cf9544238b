//! The command line: what a user types, and what each verb does with it.

mod add;
mod admin_client;
mod adopt;
mod approve;
mod args;
mod arguments;
mod audit;
mod call;
mod callers;
mod completions;
mod config;
mod config_applier;
mod config_editor;
mod control;
mod document_store;
mod door;
mod exit;
mod import;
mod list;
mod lock;
mod logging;
mod logs;
mod metrics;
mod policy;
mod policy_set;
mod remove;
mod render;
mod restart;
mod samples;
mod secret;
mod secret_scan;
mod serve;
mod served;
mod state;
mod statistics_source;
mod stats;
mod status;
mod stored_audit;
mod stored_tasks;
mod telemetry;
mod token;
mod tool_sources;
mod tools;
mod trim;
mod trust;
mod webhook;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Verb};
use exit::Exit;

/// Parses the command line and runs its verb.
pub(crate) fn run() -> ExitCode {
    // A shell that completes asks the program itself; such a run ends here.
    completions::answer();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return render::usage(&error),
    };
    logging::start(arguments.log_format, matches!(arguments.verb, Verb::Serve(_)));
    let outcome = match runtime() {
        Ok(runtime) => runtime.block_on(obey(arguments.verb)),
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

async fn obey(verb: Verb) -> Result<(), Exit> {
    match verb {
        Verb::Serve(options) => serve::serve(options).await,
        Verb::Tools(options) => tools::run(options).await,
        Verb::Call(options) => call::run(&options).await,
        Verb::Add(options) => add::run(&options).await,
        Verb::AddJson(options) => add::run_json(&options).await,
        Verb::Remove(options) => remove::run(&options).await,
        Verb::List(options) => list::run(&options),
        Verb::Status(options) => status::run(&options).await,
        Verb::Restart(options) => restart::run(&options).await,
        Verb::Logs(options) => logs::run(&options).await,
        Verb::Trust(options) => trust::run(options).await,
        Verb::Approve(options) => approve::approve(&options).await,
        Verb::Deny(options) => approve::deny(&options).await,
        Verb::Import(options) => import::run(&options).await,
        Verb::Stats(options) => stats::stats(options).await,
        Verb::Secret(verb) => secret::run(verb),
        Verb::Audit(verb) => audit::run(verb).await,
        Verb::Token(verb) => token::run(&verb).await,
        Verb::Config(verb) => config::run(verb),
        Verb::Policy(verb) => policy::run(verb).await,
        Verb::Completions { shell } => completions::print(shell),
        Verb::Version => render::version(),
    }
}
