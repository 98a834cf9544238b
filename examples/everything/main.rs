//! A server with one of everything: each feature of the protocol has a tool, resource or prompt
//! that shows it. Clients are tried out on it, and so is Gantry itself.

mod arguments;
mod asking;
mod changes;
mod extras;
mod prompts;
mod resources;
mod rounds;
mod samples;
mod slow;
mod tasks;
mod tools;

use std::error::Error;
use std::time::Duration;

use arguments::Arguments;
use clap::Parser;
use gantry::{GatewaySettings, Server, ServerSettings};
use tokio::signal::unix::{SignalKind, signal};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Runtime::new()?;
    let served = runtime.block_on(run(arguments));
    // A thread that waits for standard input cannot be called back.
    runtime.shutdown_background();
    served
}

async fn run(arguments: Arguments) -> Result<(), Box<dyn Error>> {
    let server = build(&arguments)?;
    tokio::spawn(stop_on_signal(server.clone())?);
    if arguments.stdio {
        server.serve_stdio().await?;
        return Ok(());
    }
    let door = server.listen(&arguments.listen).await?;
    announce(&format!("listening on http://{}/mcp", door.address()));
    door.serve().await;
    Ok(())
}

fn build(arguments: &Arguments) -> Result<Server, Box<dyn Error>> {
    let doors = ServerSettings {
        eras: arguments.era.into(),
        key: arguments.key()?,
        // No handler blocks, so each connection may stay on one thread.
        threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        ..Default::default()
    };
    // `test_slow` is asked to take a minute.
    let middle = GatewaySettings { deadline: Duration::from_secs(5 * 60), ..Default::default() };
    let server = Server::new("everything", env!("CARGO_PKG_VERSION"))
        .info("title", "One of everything")
        .instructions("Every tool shows one feature of the protocol; its description says which.")
        .server_settings(doors)
        .gateway_settings(middle);
    let server = tools::register(server);
    let server = asking::register(server);
    let server = rounds::register(server);
    let server = slow::register(server);
    let server = tasks::register(server);
    let server = changes::register(server);
    let server = resources::register(server);
    let server = prompts::register(server);
    Ok(extras::register(server, arguments.extra_tools).build()?)
}

/// Listens for signals from now on; the future stops the server at the first one.
fn stop_on_signal(server: Server) -> std::io::Result<impl Future<Output = ()>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        server.stop();
    })
}

#[expect(clippy::print_stderr, reason = "whoever started this program waits for the address")]
fn announce(line: &str) {
    eprintln!("{line}");
}
