//! The fixtures on rmcp, both eras: stdio and Streamable HTTP.

mod asking;
mod handler;
mod tools;

use std::error::Error;
use std::sync::Arc;

use clap::{Parser, ValueEnum};
use handler::Peer;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::ServiceExt;
use rmcp::model::ProtocolVersion;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tools::State;

/// A server with the fixtures.
#[derive(Debug, Parser)]
struct Arguments {
    /// How clients reach it.
    #[arg(long, value_enum, default_value_t = Transport::Stdio)]
    transport: Transport,
    /// Where to listen; 0 takes a free port.
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// The newest revision it speaks.
    #[arg(long, default_value = "2026-07-28", value_parser = parse_revision)]
    revision: ProtocolVersion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    Stdio,
    Http,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let peer = Peer { state: Arc::new(State::default()), newest: arguments.revision };
    match arguments.transport {
        Transport::Stdio => {
            peer.serve(rmcp::transport::io::stdio()).await?.waiting().await?;
        }
        Transport::Http => serve_http(peer, arguments.port).await?,
    }
    Ok(())
}

async fn serve_http(peer: Peer, port: u16) -> Result<(), Box<dyn Error>> {
    let service = StreamableHttpService::new(
        move || Ok(peer.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    announce(listener.local_addr()?.port());
    loop {
        let (stream, _) = listener.accept().await?;
        let service = service.clone();
        // The process ends with its test, and every connection with the process.
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let service = service.clone();
                async move { Ok::<_, std::convert::Infallible>(service.handle(request).await) }
            });
            http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await.ok();
        });
    }
}

fn parse_revision(name: &str) -> Result<ProtocolVersion, String> {
    let known = ProtocolVersion::KNOWN_VERSIONS.iter().find(|it| it.as_str() == name);
    known.cloned().ok_or_else(|| format!("`{name}` is no revision that rmcp knows"))
}

#[expect(clippy::print_stderr, reason = "whoever started this program waits for the port")]
fn announce(port: u16) {
    eprintln!("listening {port}");
}
