//! The gateway's binary in front of servers, each reached under a name of its own.

use std::fs;
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;

use futures_util::future::join_all;
use gantry_tests::temp_folder::{Bench, command, program};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Child;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::client::Target;
use crate::peers::{Peer, Running, Transport};

/// Longer than the gateway takes to start.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running gateway and the servers behind it. Dropping it ends them all.
pub(crate) struct Gateway {
    address: SocketAddr,
    log: JoinHandle<()>,
    _child: Child,
    _running: Vec<Running>,
    _bench: Bench,
}

impl Gateway {
    /// Starts the servers that listen, then the gateway with an entry for each server.
    pub(crate) async fn start(name: &str, peers: &[Peer]) -> Self {
        let bench = Bench::new(&format!("matrix-{name}"));
        let started = join_all(peers.iter().map(|peer| async move {
            match peer.transport {
                Transport::Stdio => None,
                Transport::Http | Transport::Sse => Some(peer.start().await),
            }
        }));
        let (mut running, mut servers) = (Vec::new(), json!({}));
        for (peer, started) in peers.iter().zip(started.await) {
            servers[peer.name()] = peer.entry(started.as_ref());
            running.extend(started);
        }
        let (child, log, address) = serve(&bench, &json!({"mcpServers": servers})).await;
        Self { address, log, _child: child, _running: running, _bench: bench }
    }

    /// Where one server is reached alone, under its own names.
    pub(crate) fn target(&self, peer: &Peer) -> Target {
        Target { address: self.address, path: format!("/mcp/{}", peer.name()) }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.log.abort();
    }
}

/// Starts a gateway with a configuration.
pub(crate) async fn serve(bench: &Bench, config: &Value) -> (Child, JoinHandle<()>, SocketAddr) {
    let file = bench.folder.join("gantry.json");
    fs::write(&file, config.to_string()).expect("the configuration");
    let mut gateway = command(program());
    gateway.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
    gateway.env("XDG_STATE_HOME", &bench.folder).env_remove("GANTRY_LISTEN");
    gateway.env("GANTRY_AUTH", "none");
    gateway.env_remove("GANTRY_LOG").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = gateway.spawn().expect("the gateway starts");
    let mut log = BufReader::new(child.stderr.take().expect("its log")).lines();
    let mut said = String::new();
    loop {
        let line = timeout(TIMEOUT, log.next_line()).await.expect("in time").expect("text");
        let line = line.unwrap_or_else(|| panic!("the gateway ended:\n{said}"));
        let url = line.split_whitespace().find_map(|word| word.strip_prefix("http://127.0.0.1:"));
        if let Some(port) = url.and_then(|it| it.strip_suffix("/mcp")?.parse().ok()) {
            let drain = async move { while let Ok(Some(_)) = log.next_line().await {} };
            return (child, tokio::spawn(drain), SocketAddr::from(([127, 0, 0, 1], port)));
        }
        said.push_str(&line);
        said.push('\n');
    }
}
