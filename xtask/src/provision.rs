//! `provision`: installs the peers that tests talk to, pinned, into the cache folder. A stamp in
//! each peer's folder holds its pins, so a second run does nothing and a broken one starts again.
//! What no folder can hold is a package of the machine: `provision/machine.rs`.

mod agents;
mod machine;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use crate::failure::{Failure, Outcome};
use crate::process;
use crate::steps;
use crate::workspace;

/// Who installs a peer, and so the shape of its folder.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Installer {
    /// `node_modules` by npm.
    Npm,
    /// A virtual environment of the machine's Python.
    Pip,
}

/// One folder of the cache.
struct Peer {
    folder: &'static str,
    installer: Installer,
    /// Exact versions; what they depend on is left to their own ranges.
    pins: &'static [&'static str],
    /// A file of the finished installation.
    proof: &'static str,
}

/// Every version the tests rely on is pinned here; elsewhere peers are named by their folder.
const PEERS: &[Peer] = &[
    Peer {
        folder: "node22",
        installer: Installer::Npm,
        pins: &["node@22.23.3"],
        proof: "node_modules/node/bin/node",
    },
    Peer {
        folder: "conformance-0.2.0-alpha.12",
        installer: Installer::Npm,
        pins: &["@modelcontextprotocol/conformance@0.2.0-alpha.12"],
        proof: "node_modules/@modelcontextprotocol/conformance/dist/index.js",
    },
    Peer {
        folder: "conformance-0.1.16",
        installer: Installer::Npm,
        pins: &["@modelcontextprotocol/conformance@0.1.16"],
        proof: "node_modules/@modelcontextprotocol/conformance/dist/index.js",
    },
    Peer {
        folder: "ts-sdk-1",
        installer: Installer::Npm,
        pins: &["@modelcontextprotocol/sdk@1.32.2", "zod@4.4.3"],
        proof: "node_modules/@modelcontextprotocol/sdk/package.json",
    },
    Peer {
        folder: "ts-client-2",
        installer: Installer::Npm,
        pins: &["@modelcontextprotocol/client@2.4.0", "zod@4.4.3"],
        proof: "node_modules/@modelcontextprotocol/client/package.json",
    },
    Peer {
        folder: "ts-server-2",
        installer: Installer::Npm,
        pins: &[
            "@modelcontextprotocol/server@2.4.0",
            "@modelcontextprotocol/server-legacy@2.3.1",
            "@modelcontextprotocol/node@2.1.2",
            "zod@4.4.3",
        ],
        proof: "node_modules/@modelcontextprotocol/server/package.json",
    },
    Peer {
        folder: "inspector",
        installer: Installer::Npm,
        pins: &["@modelcontextprotocol/inspector@2.12.0"],
        proof: "node_modules/@modelcontextprotocol/inspector/package.json",
    },
    Peer {
        folder: "python-mcp-1",
        installer: Installer::Pip,
        pins: &["mcp==1.30.0", "websockets==17.4"],
        proof: "bin/python",
    },
    Peer {
        folder: "python-mcp-2",
        installer: Installer::Pip,
        pins: &["mcp==2.3.0", "websockets==17.4"],
        proof: "bin/python",
    },
    Peer {
        folder: "real-node",
        installer: Installer::Npm,
        pins: &[
            "@modelcontextprotocol/server-everything@2026.8.31",
            "@modelcontextprotocol/server-filesystem@2026.8.31",
            "@modelcontextprotocol/server-memory@2026.8.31",
            "@modelcontextprotocol/server-sequential-thinking@2026.8.31",
            "mcp-server-commands@0.5.0",
        ],
        proof: "node_modules/@modelcontextprotocol/server-everything/package.json",
    },
    Peer {
        folder: "real-mcp-server-time",
        installer: Installer::Pip,
        pins: &["mcp-server-time==2026.10.19"],
        proof: "bin/mcp-server-time",
    },
    Peer {
        folder: "real-mcp-server-git",
        installer: Installer::Pip,
        pins: &["mcp-server-git==2026.10.19"],
        proof: "bin/mcp-server-git",
    },
    Peer {
        folder: "real-mcp-server-fetch",
        installer: Installer::Pip,
        pins: &["mcp-server-fetch==2026.10.24"],
        proof: "bin/mcp-server-fetch",
    },
    Peer {
        folder: "real-mcp-server-sqlite",
        installer: Installer::Pip,
        // It was written for the SDK 1.x and does not say so.
        pins: &["mcp-server-sqlite==2025.4.25", "mcp==1.30.0"],
        proof: "bin/mcp-server-sqlite",
    },
    Peer {
        folder: "real-mcp-server-calculator",
        installer: Installer::Pip,
        pins: &["mcp-server-calculator==0.2.1"],
        proof: "bin/mcp-server-calculator",
    },
    Peer {
        folder: "real-mcp-simple-timeserver",
        installer: Installer::Pip,
        pins: &["mcp-simple-timeserver==3.3.2"],
        proof: "bin/mcp-simple-timeserver",
    },
    Peer {
        folder: "real-mcp-shell-server",
        installer: Installer::Pip,
        pins: &["mcp-shell-server==1.1.14"],
        proof: "bin/mcp-shell-server",
    },
    Peer {
        folder: "gateway-npm-mcp-proxy",
        installer: Installer::Npm,
        pins: &["mcp-proxy@6.7.19"],
        proof: "node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs",
    },
    Peer {
        folder: "gateway-npm-supergateway",
        installer: Installer::Npm,
        pins: &["supergateway@4.0.0"],
        proof: "node_modules/supergateway/dist/index.js",
    },
    Peer {
        folder: "gateway-pip-mcp-proxy",
        installer: Installer::Pip,
        pins: &["mcp-proxy==0.13.0"],
        proof: "bin/mcp-proxy",
    },
    Peer {
        folder: "gateway-pip-fastmcp",
        installer: Installer::Pip,
        pins: &["fastmcp==4.1.2"],
        proof: "bin/fastmcp",
    },
    Peer {
        folder: "otlp",
        installer: Installer::Pip,
        pins: &[
            "opentelemetry-proto==1.45.1",
            "opentelemetry-sdk==1.45.1",
            "opentelemetry-exporter-otlp-proto-http==1.45.1",
            "mcp==2.3.0",
        ],
        proof: "bin/python",
    },
    Peer { folder: "uv", installer: Installer::Pip, pins: &["uv==0.13.7"], proof: "bin/uv" },
];

/// What is installed together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Set {
    /// What the tests talk to.
    Tests,
    /// Agents and what they need. They are large, and only one verb runs them.
    Agents,
    /// Agent libraries and what they need.
    Libraries,
}

/// Installs the peers of the tests.
pub(crate) fn run() -> Outcome {
    run_with(Set::Tests)
}

/// Installs every peer of the set that is not there yet, side by side.
pub(crate) fn run_with(set: Set) -> Outcome {
    let cache = workspace::cache()?;
    let peers = peers(set);
    // A second run, perhaps in another clone, waits here and then finds everything installed.
    let lock_path = cache.join("lock");
    let lock = File::create(&lock_path).map_err(|source| Failure::file(&lock_path, source))?;
    lock.lock().map_err(|source| Failure::file(&lock_path, source))?;

    if set == Set::Tests {
        machine::install(&cache)?;
    }
    let missing: Vec<&Peer> =
        peers.iter().copied().filter(|peer| !is_installed(peer, &cache)).collect();
    require_installers(&missing)?;
    let outcomes: Vec<Outcome> = thread::scope(|scope| {
        let workers: Vec<_> =
            missing.iter().map(|peer| scope.spawn(|| install(peer, &cache))).collect();
        workers.into_iter().map(|worker| worker.join().expect("installing never panics")).collect()
    });
    let failures: Vec<String> =
        outcomes.into_iter().filter_map(Result::err).map(|failure| failure.to_string()).collect();
    if failures.is_empty() {
        steps::note(&format!("{} peers in {}", peers.len(), cache.display()));
        return Ok(());
    }
    Err(Failure::new(failures.join("\n")))
}

fn peers(set: Set) -> Vec<&'static Peer> {
    let shared = PEERS.iter().filter(|peer| agents::SHARED.contains(&peer.folder));
    match set {
        Set::Tests => PEERS.iter().collect(),
        Set::Agents => agents::AGENTS.iter().chain(shared).collect(),
        Set::Libraries => agents::LIBRARIES.iter().chain(shared).collect(),
    }
}

/// The Node.js 22 that runs everything written for Node.
pub(crate) fn node(cache: &Path) -> PathBuf {
    cache.join("node22/node_modules/node/bin/node")
}

/// The interpreter of a Python peer.
pub(crate) fn python(cache: &Path, folder: &str) -> PathBuf {
    cache.join(folder).join("bin/python")
}

/// The `uv` that runs Python tools.
pub(crate) fn uv(cache: &Path) -> PathBuf {
    cache.join("uv/bin/uv")
}

/// The command line script of a conformance suite's version.
pub(crate) fn conformance(cache: &Path, version: &str) -> PathBuf {
    cache
        .join(format!("conformance-{version}"))
        .join("node_modules/@modelcontextprotocol/conformance/dist/index.js")
}

fn is_installed(peer: &Peer, cache: &Path) -> bool {
    let folder = cache.join(peer.folder);
    let stamped = fs::read_to_string(stamp_of(&folder)).is_ok_and(|text| text == stamp_text(peer));
    stamped && folder.join(peer.proof).exists()
}

fn install(peer: &Peer, cache: &Path) -> Outcome {
    let begun = Instant::now();
    let folder = cache.join(peer.folder);
    // Half an installation, or one of other pins: nothing in it can be trusted.
    workspace::fresh(&folder)?;
    let log_path = cache.join(format!("{}.log", peer.folder));
    let log = File::create(&log_path).map_err(|source| Failure::file(&log_path, source))?;

    let installed = match peer.installer {
        Installer::Npm => install_with_npm(peer, &folder, &log),
        Installer::Pip => install_with_pip(peer, &folder, &log),
    };
    installed.map_err(|failure| {
        Failure::new(format!("{}: {failure}; see `{}`", peer.folder, log_path.display()))
    })?;
    if !folder.join(peer.proof).exists() {
        return Err(Failure::new(format!(
            "{}: installed, but `{}` is missing",
            peer.folder, peer.proof
        )));
    }
    let stamp = stamp_of(&folder);
    fs::write(&stamp, stamp_text(peer)).map_err(|source| Failure::file(&stamp, source))?;
    steps::note(&format!("installed {} in {:.0?}", peer.folder, begun.elapsed()));
    Ok(())
}

fn install_with_npm(peer: &Peer, folder: &Path, log: &File) -> Outcome {
    // Its own manifest keeps npm from looking for a project in the folders above.
    let manifest = folder.join("package.json");
    fs::write(&manifest, "{\"private\":true,\"type\":\"module\"}\n")
        .map_err(|source| Failure::file(&manifest, source))?;
    let mut npm = process::command("npm");
    npm.current_dir(folder)
        .args(["install", "--save-exact", "--no-audit", "--no-fund", "--loglevel=error"])
        .args(peer.pins);
    process::run_logged(&mut npm, log)
}

fn install_with_pip(peer: &Peer, folder: &Path, log: &File) -> Outcome {
    process::run_logged(process::command("python3").args(["-m", "venv"]).arg(folder), log)?;
    let mut pip = process::command(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet"]).args(peer.pins);
    process::run_logged(&mut pip, log)
}

/// Says what the machine lacks before anything is half done.
fn require_installers(missing: &[&Peer]) -> Outcome {
    let needs = |installer| missing.iter().any(|peer| peer.installer == installer);
    if needs(Installer::Npm) && !process::available("npm", &["--version"]) {
        return Err(Failure::new(
            "`npm` is needed to install test peers: install Node.js 20 or later",
        ));
    }
    if needs(Installer::Pip) && !process::available("python3", &["-m", "venv", "--help"]) {
        return Err(Failure::new(
            "`python3` with its `venv` module is needed to install test peers: install Python 3.10 or later",
        ));
    }
    Ok(())
}

fn stamp_of(folder: &Path) -> PathBuf {
    folder.join("installed.stamp")
}

fn stamp_text(peer: &Peer) -> String {
    peer.pins.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pin_is_exact() {
        for pin in all().flat_map(|peer| peer.pins) {
            let version = pin.rsplit(['@', '=']).next().unwrap_or_default();
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "`{pin}`");
            assert!(version.contains('.'), "`{pin}` names no exact version");
        }
    }

    #[test]
    fn folders_are_distinct() {
        let mut folders: Vec<_> = all().map(|peer| peer.folder).collect();
        let count = folders.len();
        folders.sort_unstable();
        folders.dedup();
        assert_eq!(folders.len(), count);
    }

    #[test]
    fn what_agents_share_with_tests_is_there() {
        for set in [Set::Agents, Set::Libraries] {
            let folders: Vec<_> = peers(set).iter().map(|peer| peer.folder).collect();
            for shared in agents::SHARED {
                assert!(folders.contains(shared), "{shared}");
            }
        }
    }

    fn all() -> impl Iterator<Item = &'static Peer> {
        PEERS.iter().chain(agents::AGENTS).chain(agents::LIBRARIES)
    }
}
