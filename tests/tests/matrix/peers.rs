//! The servers: every kind, pinned to every revision and transport it can speak, and how each is
//! started.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use gantry::Revision;
use gantry_tests::temp_folder::{cache, command, root};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::client::Target;

/// Longer than any peer takes to start.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Ours, for revisions that no released server speaks alone.
    Golden,
    Python1,
    Python2,
    Node1,
    Node2,
    Rmcp,
}

/// How it is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
    Sse,
}

/// A server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) kind: Kind,
    pub(crate) revision: Revision,
    pub(crate) transport: Transport,
}

/// A server that listens. Dropping it ends it.
pub(crate) struct Running {
    _child: Child,
    /// Reads what it logs, so that it never waits for a reader.
    log: JoinHandle<()>,
    pub(crate) target: Target,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.log.abort();
    }
}

impl Kind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Golden, Self::Python1, Self::Python2, Self::Node1, Self::Node2, Self::Rmcp];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Golden => "golden",
            Self::Python1 => "python1",
            Self::Python2 => "python2",
            Self::Node1 => "node1",
            Self::Node2 => "node2",
            Self::Rmcp => "rmcp",
        }
    }

    fn revisions(self) -> &'static [Revision] {
        let all = const { &Revision::ALL };
        match self {
            Self::Golden => all,
            Self::Python1 | Self::Node1 => &all[..4],
            Self::Python2 | Self::Node2 | Self::Rmcp => &all[3..],
        }
    }

    /// All servers of this kind.
    pub(crate) fn peers(self) -> Vec<Peer> {
        let mut peers = Vec::new();
        for &revision in self.revisions() {
            let transports = [
                (Transport::Stdio, true),
                (Transport::Http, revision > Revision::V2024_11_05),
                (Transport::Sse, !revision.is_stateless() && self != Self::Rmcp),
            ];
            let spoken = transports.into_iter().filter(|(_, spoken)| *spoken);
            peers.extend(spoken.map(|(transport, _)| Peer { kind: self, revision, transport }));
        }
        peers
    }

    /// The program and its first arguments, and the variable it needs.
    fn program(self) -> (PathBuf, Vec<String>, Option<(&'static str, PathBuf)>) {
        let script = |path: &str| vec![root().join(path).display().to_string()];
        let node = || cache().join("node22/node_modules/node/bin/node");
        let modules =
            |folder: &str| Some(("GANTRY_MODULES", cache().join(folder).join("node_modules")));
        match self {
            Self::Golden => (env!("CARGO_BIN_EXE_golden-server").into(), Vec::new(), None),
            Self::Rmcp => (env!("CARGO_BIN_EXE_rmcp-server").into(), Vec::new(), None),
            Self::Python1 => {
                let python = cache().join("python-mcp-1/bin/python");
                (python, script("tests/servers/python1/server.py"), None)
            }
            Self::Python2 => {
                let python = cache().join("python-mcp-2/bin/python");
                (python, script("tests/servers/python2/server.py"), None)
            }
            Self::Node1 => (node(), script("tests/servers/node1/server.mjs"), modules("ts-sdk-1")),
            Self::Node2 => {
                (node(), script("tests/servers/node2/server.mjs"), modules("ts-server-2"))
            }
        }
    }
}

impl Transport {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

impl Peer {
    /// Its name in a configuration.
    pub(crate) fn name(&self) -> String {
        format!("{}-{}-{}", self.kind.name(), self.revision, self.transport.name())
    }

    fn arguments(&self) -> Vec<String> {
        let (_, mut arguments, _) = self.kind.program();
        let (transport, revision) = (self.transport.name(), self.revision.as_str());
        arguments.extend(["--transport", transport, "--revision", revision].map(str::to_owned));
        arguments
    }

    fn command(&self) -> Command {
        let (program, _, variable) = self.kind.program();
        let mut command = command(program);
        command.args(self.arguments()).envs(variable).env("PYTHONDONTWRITEBYTECODE", "1");
        command.env("PYTHONWARNINGS", "ignore");
        command
    }

    /// Its entry in a configuration. One that listens must run already.
    pub(crate) fn entry(&self, running: Option<&Running>) -> Value {
        // A peer of both eras is held to the one of its revision.
        let era = if self.revision.is_stateless() { "modern" } else { "legacy" };
        let Some(running) = running else {
            let (program, _, variable) = self.kind.program();
            let mut env = json!({"PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore"});
            if let Some((name, value)) = variable {
                env[name] = json!(value);
            }
            return json!({"command": program, "args": self.arguments(), "env": env, "era": era});
        };
        let Target { address, path } = &running.target;
        json!({"url": format!("http://{address}{path}"), "type": self.transport.name(), "era": era})
    }

    /// Starts one that listens.
    pub(crate) async fn start(&self) -> Running {
        self.launch(self.command()).await
    }

    /// Starts ours on all revisions at once.
    pub(crate) async fn start_unpinned() -> (Self, Running) {
        let kind = Kind::Golden;
        let peer = Self { kind, revision: Revision::LATEST, transport: Transport::Http };
        let mut command = command(kind.program().0);
        command.args(["--transport", peer.transport.name()]);
        (peer, peer.launch(command).await)
    }

    async fn launch(&self, mut command: Command) -> Running {
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        let mut child = child.expect("it starts; run `cargo xtask provision` first");
        let mut log = BufReader::new(child.stderr.take().expect("its log")).lines();
        loop {
            let line = timeout(TIMEOUT, log.next_line()).await.expect("in time").expect("text");
            let line = line.unwrap_or_else(|| panic!("{} ended before it listened", self.name()));
            if let Some(port) = line.strip_prefix("listening ") {
                let port = port.trim().parse().expect("a port");
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                let path = if self.transport == Transport::Sse { "/sse" } else { "/mcp" };
                let log =
                    tokio::spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });
                let target = Target { address, path: path.to_owned() };
                return Running { _child: child, log, target };
            }
        }
    }
}
