//! Clients of other projects, each playing the short script of `tests/clients` with each server.

use std::path::PathBuf;

use futures_util::{StreamExt, stream};
use gantry::Revision;
use gantry_tests::temp_folder::{cache, command, root};
use tokio::process::Command;

use crate::client::Target;
use crate::gateway::Gateway;
use crate::peers::{Kind, Peer, Transport};
use crate::{appear, is_wanted};

/// Servers that are visited at the same time: starting the clients is most of the work. Each server
/// has one at a time, for over stdio older ones cannot say which of several calls asks.
const AT_ONCE: usize = 4;

/// A client: its script, what runs it, where its library lies, and its era.
struct Script {
    name: &'static str,
    file: &'static str,
    runtime: Runtime,
    era: &'static str,
}

enum Runtime {
    Python(&'static str),
    Node(&'static str),
    Binary,
}

const fn script(
    name: &'static str,
    file: &'static str,
    runtime: Runtime,
    era: &'static str,
) -> Script {
    Script { name, file, runtime, era }
}

const SCRIPTS: [Script; 8] = [
    script("python-mcp-1", "python/mcp1.py", Runtime::Python("python-mcp-1"), "legacy"),
    script("python-mcp-2-legacy", "python/mcp2.py", Runtime::Python("python-mcp-2"), "legacy"),
    script("python-mcp-2-modern", "python/mcp2.py", Runtime::Python("python-mcp-2"), "modern"),
    script("ts-sdk-1", "node/sdk1.mjs", Runtime::Node("ts-sdk-1"), "legacy"),
    script("ts-client-2-legacy", "node/client2.mjs", Runtime::Node("ts-client-2"), "legacy"),
    script("ts-client-2-modern", "node/client2.mjs", Runtime::Node("ts-client-2"), "modern"),
    script("rmcp-legacy", "", Runtime::Binary, "legacy"),
    script("rmcp-modern", "", Runtime::Binary, "modern"),
];

impl Script {
    fn command(&self, target: &Target) -> Command {
        let file = root().join("tests/clients").join(self.file);
        let mut command = match self.runtime {
            Runtime::Python(folder) => {
                let mut python = command(cache().join(folder).join("bin/python"));
                python.arg(file).env("PYTHONDONTWRITEBYTECODE", "1");
                python
            }
            Runtime::Node(folder) => {
                let mut node = command(cache().join("node22/node_modules/node/bin/node"));
                let modules: PathBuf = cache().join(folder).join("node_modules");
                node.arg(file).env("GANTRY_MODULES", modules);
                node
            }
            Runtime::Binary => command(env!("CARGO_BIN_EXE_rmcp-client")),
        };
        let url = format!("http://{}{}", target.address, target.path);
        command.args(["--transport", "http", "--era", self.era, "--url", &url]);
        command.env("GANTRY_SCRIPT", "peers");
        command
    }

    /// Plays the script: what did not go as it should.
    async fn play(&self, target: &Target) -> Option<String> {
        let output = self.command(target).output().await;
        let output = output.expect("it runs; run `cargo xtask provision` first");
        let printed = String::from_utf8_lossy(&output.stdout);
        let passed = printed.lines().filter(|line| line.starts_with("ok ")).count();
        // Connecting, four steps, closing.
        (!output.status.success() || passed != 6).then(|| printed.replace('\n', "; "))
    }
}

async fn visit(
    target: &Target,
    peer: &Peer,
    scripts: impl Iterator<Item = &Script>,
) -> Vec<String> {
    let mut failures = Vec::new();
    for script in scripts {
        let name = format!("{} to {}", script.name, peer.name());
        if is_wanted(&name)
            && let Some(reason) = script.play(target).await
        {
            failures.push(format!("{name}: {reason}"));
        }
    }
    failures
}

/// The scripts on servers of their own era, without the gateway.
#[tokio::test]
async fn direct_clients() {
    let mut failures = Vec::new();
    for (revision, era) in [(Revision::V2025_11_25, "legacy"), (Revision::LATEST, "modern")] {
        let peer = Peer { kind: Kind::Golden, revision, transport: Transport::Http };
        let running = peer.start().await;
        let scripts = SCRIPTS.iter().filter(|script| script.era == era);
        failures.extend(visit(&running.target, &peer, scripts).await);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Every client and every server, each revision of it on one transport.
#[tokio::test]
async fn through_clients() {
    let all = Kind::ALL.into_iter().flat_map(Kind::peers);
    let peers: Vec<Peer> = all.filter(|peer| peer.transport == Transport::Stdio).collect();
    let gateway = Gateway::start("clients", &peers).await;
    let gateway = &gateway;
    let visits = stream::iter(&peers).map(|peer| async move {
        let target = gateway.target(peer);
        appear(&target, peer).await;
        visit(&target, peer, SCRIPTS.iter()).await
    });
    let failures: Vec<Vec<String>> = visits.buffer_unordered(AT_ONCE).collect().await;
    let failures = failures.concat();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
