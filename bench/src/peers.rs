//! Other gateways from the registries, each in front of the same program. They want to be given a
//! port and say in different words, or not at all, when they listen.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use crate::client::request::Address;
use crate::fault::Fault;
use crate::programs::command;

const FASTMCP: &str = include_str!("peers/fastmcp.py");

/// One of them.
pub(crate) struct Peer {
    /// Its name in the table.
    pub(crate) name: &'static str,
    /// The program that is started: its existence says that the peer is installed.
    program: &'static str,
    /// What the program is told before the arguments.
    script: Option<&'static str>,
    arguments: fn(port: &str, line: &[String]) -> Vec<String>,
}

/// All of them; the versions are those that `cargo xtask provision` installs.
pub(crate) const PEERS: &[Peer] = &[
    Peer {
        name: "mcp-proxy (npm)",
        program: NODE,
        script: Some("gateway-npm-mcp-proxy/node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs"),
        arguments: |port, line| {
            let ours = ["--host", "127.0.0.1", "--port", port, "--server", "stream", "--"];
            ours.into_iter().map(str::to_owned).chain(line.iter().cloned()).collect()
        },
    },
    Peer {
        name: "supergateway, stateful",
        program: NODE,
        script: Some("gateway-npm-supergateway/node_modules/supergateway/dist/index.js"),
        arguments: |port, line| {
            let ours = ["--outputTransport", "streamableHttp", "--stateful", "--port", port];
            let line = ["--logLevel", "none", "--stdio", &line.join(" ")].map(str::to_owned);
            ours.into_iter().map(str::to_owned).chain(line).collect()
        },
    },
    Peer {
        name: "mcp-proxy (PyPI)",
        program: "gateway-pip-mcp-proxy/bin/mcp-proxy",
        script: None,
        arguments: |port, line| {
            let ours = ["--host", "127.0.0.1", "--port", port, "--"];
            ours.into_iter().map(str::to_owned).chain(line.iter().cloned()).collect()
        },
    },
    Peer {
        name: "FastMCP proxy, one shared client",
        program: "gateway-pip-fastmcp/bin/python",
        script: None,
        arguments: |port, line| {
            let ours = ["-c", FASTMCP, port].map(str::to_owned);
            ours.into_iter().chain(line.iter().cloned()).collect()
        },
    },
];

const NODE: &str = "node22/node_modules/node/bin/node";

impl Peer {
    /// How it is started in front of a program, and where it will listen.
    pub(crate) fn command(
        &self,
        folder: &Path,
        behind: &Command,
    ) -> Result<(Command, Address), Fault> {
        let program = folder.join(self.program);
        let script = self.script.map(|script| folder.join(script));
        for path in [Some(&program), script.as_ref()].into_iter().flatten() {
            if !path.exists() {
                let path = path.display().to_string();
                return Err(Fault::Missing { path, build: "cargo xtask provision" });
            }
        }
        let line: Vec<String> = std::iter::once(behind.get_program())
            .chain(behind.get_args())
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        let port = free_port()?.to_string();
        let mut command = command(program);
        command.args(script).args((self.arguments)(&port, &line));
        let address = Address { authority: format!("127.0.0.1:{port}"), path: "/mcp".to_owned() };
        Ok((command, address))
    }
}

/// A port that nobody listens on. Another may take it first; then this peer is a gap in the report.
fn free_port() -> Result<u16, Fault> {
    let failed = || Fault::machine("listen on 127.0.0.1");
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed())?;
    Ok(listener.local_addr().map_err(failed())?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_not_installed_says_how_to_install_it() {
        for peer in PEERS {
            let started = peer.command(Path::new("/nowhere"), &command("child"));
            let fault = started.err().map(|fault| fault.to_string()).unwrap_or_default();
            assert!(fault.contains("cargo xtask provision"), "{}: {fault}", peer.name);
        }
    }
}
