//! The verbs of the command line, one module for each.

pub(crate) mod add;
pub(crate) mod approve;
pub(crate) mod audit;
pub(crate) mod call;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod import;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod policy;
pub(crate) mod remove;
pub(crate) mod restart;
pub(crate) mod secret;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod token;
pub(crate) mod tools;
pub(crate) mod trust;

use crate::args::Verb;
use crate::exit::Exit;
use crate::{render, runtime};

/// Runs a verb.
pub(crate) async fn run(verb: Verb) -> Result<(), Exit> {
    match verb {
        Verb::Serve(options) => runtime::serve(options).await,
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
