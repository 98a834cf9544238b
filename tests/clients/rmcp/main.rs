//! The common script played by rmcp: over a child process or Streamable HTTP, in either era.
#![expect(clippy::print_stdout, reason = "the verdict of each step is this program's output")]

mod answers;
mod outcome;
mod peer;
mod peers;
mod script;
mod steps;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use outcome::Failure;
use peer::Peer;
use tokio::time::timeout;

const STEP: Duration = Duration::from_secs(10);

/// Plays the common script against the `everything` server.
#[derive(Parser)]
struct Options {
    #[arg(long)]
    transport: Transport,
    /// Path of the everything server, for stdio.
    #[arg(long, required_if_eq("transport", "stdio"))]
    command: Option<String>,
    /// Its address, for http.
    #[arg(long, required_if_eq("transport", "http"))]
    url: Option<String>,
    #[arg(long, default_value = "legacy")]
    era: Era,
}

#[derive(Clone, Copy, ValueEnum)]
enum Transport {
    Stdio,
    Http,
}

/// Whether the client opens a session or says everything with each request.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

// One thread keeps the notices in the order in which they came.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    let Some(mut peer) = attempt("connect", connect(&options)).await else {
        return ExitCode::FAILURE;
    };
    let mut passed = true;
    for name in script::names(peer.era) {
        passed &= attempt(name, script::run(name, &mut peer)).await.is_some();
    }
    passed &= attempt("close", peer.close()).await.is_some();
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn connect(options: &Options) -> Result<Peer, Failure> {
    match (options.transport, &options.command, &options.url) {
        (Transport::Stdio, Some(command), _) => Peer::spawn(command, options.era).await,
        (Transport::Http, _, Some(url)) => Peer::at(url, options.era).await,
        _ => unreachable!("the parser asks for --command or --url"),
    }
}

/// Runs one step within its time and prints how it went.
async fn attempt<T>(name: &str, step: impl Future<Output = Result<T, Failure>>) -> Option<T> {
    let reason = match timeout(STEP, step).await {
        Ok(Ok(value)) => {
            println!("ok {name}");
            return Some(value);
        }
        Ok(Err(failure)) => failure.to_string(),
        Err(_) => "nothing came in time".to_owned(),
    };
    println!("FAIL {name} {}", reason.replace('\n', " "));
    None
}
