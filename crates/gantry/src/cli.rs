//! The command line: what a user types, and what each verb does with it.

mod args;
mod exit;
mod logging;
mod render;
mod samples;
mod serve;
mod state;

use std::process::ExitCode;

use clap::Parser;

use args::{Arguments, Verb};
use exit::Exit;

/// Parses the command line and runs its verb.
pub(crate) fn run() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return render::usage(&error),
    };
    logging::start(arguments.log_format);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(async {
            match arguments.verb {
                Verb::Serve(options) => serve::serve(options).await,
                Verb::Version => {
                    render::version();
                    Ok(())
                }
            }
        }),
        Err(error) => Err(Exit::bug(format!("the runtime could not be started: {error}"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(exit) => render::failure(&exit),
    }
}
