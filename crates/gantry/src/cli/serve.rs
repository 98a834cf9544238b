//! `gantry serve`: runs the gateway until it is told to stop.

use std::path::PathBuf;
use std::process::exit;

use gantry::{DoorSettings, ListenError, Server, ServerBuilder, ToolSettings, Tools};
use tokio::signal::unix::{SignalKind, signal};

use super::args::ServeOptions;
use super::exit::{Code, Exit};
use super::{render, samples, state};

/// Where the gateway listens unless told otherwise.
const DEFAULT_ADDRESS: &str = "127.0.0.1:4268";

/// Runs the gateway.
pub(crate) async fn serve(options: ServeOptions) -> Result<(), Exit> {
    let doors = DoorSettings { key: Some(state::key()?), ..DoorSettings::default() };
    let server = builder(&options.tools)?.door_settings(doors).build();
    let server = server.map_err(|error| Exit::bug(format!("an example is wrong: {error}")))?;
    stop_on_signal(server.clone())?;
    match (options.stdio, options.listen) {
        (true, None) => serve_stdio(server).await,
        (true, Some(address)) => {
            let http = listen(&server, &address).await?;
            let serving = tokio::spawn(http.serve());
            let served = serve_stdio(server.clone()).await;
            server.stop();
            let _ = serving.await;
            served
        }
        (false, address) => {
            listen(&server, address.as_deref().unwrap_or(DEFAULT_ADDRESS)).await?.serve().await;
            Ok(())
        }
    }
}

/// The tools of the folders, or the examples when there are none.
fn builder(folders: &[PathBuf]) -> Result<ServerBuilder, Exit> {
    if folders.is_empty() {
        return Ok(samples::server());
    }
    for folder in folders {
        if let Err(error) = std::fs::read_dir(folder) {
            let text = format!("cannot read the tool folder {}: {error}", folder.display());
            return Err(Exit::new(Code::Configuration, text).hint("give --tools a folder"));
        }
    }
    let tools = Tools::open(folders.to_vec(), ToolSettings::default());
    render::tools(tools.count(), &tools.problems());
    let watched = tools.clone();
    tokio::spawn(async move { watched.watch().await });
    Ok(Server::new("gantry", env!("CARGO_PKG_VERSION")).info("title", "Gantry").tools(tools))
}

async fn listen(server: &Server, address: &str) -> Result<gantry::HttpServer, Exit> {
    let http = server.listen(address).await.map_err(|error| {
        let exit = Exit::new(Code::Failed, error.to_string());
        match error {
            ListenError::Bind { .. } => {
                exit.hint("another gantry may be running; `--listen 127.0.0.1:0` takes a free port")
            }
            ListenError::Exposed(_) => exit,
        }
    })?;
    render::listening(http.address());
    Ok(http)
}

async fn serve_stdio(server: Server) -> Result<(), Exit> {
    let served = server.serve_stdio().await;
    served.map_err(|error| Exit::new(Code::Failed, format!("standard output failed: {error}")))
}

/// The exit code of a program that an interrupt has ended, as shells have it.
const INTERRUPTED: i32 = 130;

/// Listens for signals from now on: one that comes right after the start must not be missed. The
/// first lets work under way end; the second does not wait for it.
fn stop_on_signal(server: Server) -> Result<(), Exit> {
    let failed = |error| Exit::bug(format!("signals cannot be received: {error}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    tokio::spawn(async move {
        let mut next = async || {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        };
        next().await;
        tracing::info!("stopping; calls under way may finish, a second signal ends them");
        server.stop();
        next().await;
        leave();
    });
    Ok(())
}

#[expect(clippy::exit, reason = "the user has asked twice")]
fn leave() {
    exit(INTERRUPTED);
}
