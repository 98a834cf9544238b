//! The fixtures on our own library, pinned to one revision and one transport: the peer for
//! revisions that no released server speaks any more.

mod asking;
mod content;
mod tools;

use std::error::Error;

use clap::{Parser, ValueEnum};
use gantry::{Eras, Revision, Server, ServerSettings};

/// A server with the fixtures.
#[derive(Debug, Parser)]
struct Arguments {
    /// How clients reach it.
    #[arg(long, value_enum, default_value_t = Transport::Stdio)]
    transport: Transport,
    /// Where to listen; 0 takes a free port.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The only revision it speaks; without it, all of them.
    #[arg(long, value_parser = parse_revision)]
    revision: Option<Revision>,
}

/// A transport. Streamable HTTP is at `/mcp`, HTTP+SSE at `/sse`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    Stdio,
    Http,
    Sse,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Runtime::new()?;
    let served = runtime.block_on(run(&arguments));
    // A thread that waits for standard input cannot be called back.
    runtime.shutdown_background();
    served
}

async fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let server = build(arguments.revision)?;
    if arguments.transport == Transport::Stdio {
        server.serve_stdio().await?;
        return Ok(());
    }
    let door = server.listen(&format!("127.0.0.1:{}", arguments.port)).await?;
    announce(door.address().port());
    door.serve().await;
    Ok(())
}

fn build(revision: Option<Revision>) -> Result<Server, Box<dyn Error>> {
    let (eras, handshake_revision) = match revision {
        None => (Eras::Both, None),
        Some(revision) if revision.is_stateless() => (Eras::Modern, None),
        Some(revision) => (Eras::Legacy, Some(revision)),
    };
    let doors = ServerSettings { eras, handshake_revision, ..ServerSettings::default() };
    let server = Server::new("golden", "1.0.0").server_settings(doors);
    let server = tools::register(server);
    let server = asking::register(server);
    Ok(content::register(server).build()?)
}

fn parse_revision(name: &str) -> Result<Revision, String> {
    Revision::parse(name).ok_or_else(|| format!("`{name}` is no revision of the protocol"))
}

#[expect(clippy::print_stderr, reason = "whoever started this program waits for the port")]
fn announce(port: u16) {
    eprintln!("listening {port}");
}
