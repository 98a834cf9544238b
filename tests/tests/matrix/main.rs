//! The bridge, cell by cell: a client of every revision, a server of every revision on every
//! transport, and every feature. `direct_*` tries the checks on the servers alone; `through_*` has
//! the gateway in the middle. `MATRIX="2024-11-05 node1 cancel"` runs only the cells that have all
//! these words in their name.

mod answers;
mod checks;
mod client;
mod clients;
mod features;
mod gateway;
mod page;
mod peers;
mod real;
mod record;

use std::time::{Duration, Instant};

use client::{Client, Target};
use features::{Cell, FEATURES, Feature};
use gantry::Revision;
use gateway::Gateway;
use peers::{Kind, Peer, Transport};
use record::Record;

/// How long a server may take to appear behind the gateway.
const APPEARS: Duration = Duration::from_secs(30);

/// How many cells were tried, and what went wrong.
#[derive(Default)]
struct Report {
    is_bridged: bool,
    tried: usize,
    failures: Vec<String>,
    record: Record,
}

impl Report {
    /// Tries every feature with a client of one revision.
    async fn visit(&mut self, target: &Target, peer: &Peer, revision: Revision) {
        let (server, kind, is_bridged) = (peer.revision, peer.kind, self.is_bridged);
        let cell = Cell { client: revision, server, kind, is_bridged };
        let mut connected = None;
        for feature in FEATURES {
            let name = format!("{revision} to {}: {}", peer.name(), feature.name);
            if !is_wanted(&name) {
                continue;
            }
            self.tried += 1;
            let client = match connected.take() {
                Some(client) => Ok(client),
                None => Client::connect(target.clone(), revision).await,
            };
            match attempt(client, feature, &cell).await {
                Ok(client) => {
                    self.record.add(feature, revision, peer);
                    connected = Some(client);
                }
                Err(reason) => self.failures.push(format!("{name}: {reason}")),
            }
            // Without its lists a server is not there, and everything else would only take long.
            if connected.is_none() && feature.name == FEATURES[0].name {
                return;
            }
        }
        if let Some(client) = connected {
            client.close().await;
        }
    }

    #[expect(clippy::print_stdout, reason = "the table of what failed is for people")]
    fn finish(self) {
        println!("{} cells, {} failed", self.tried, self.failures.len());
        for feature in FEATURES {
            let end = format!(": {}: ", feature.name);
            let failed = self.failures.iter().filter(|it| it.contains(&end)).count();
            if failed > 0 {
                println!("{failed:5} {}", feature.name);
            }
        }
        assert!(self.failures.is_empty(), "{}", self.failures.join("\n"));
    }
}

/// Tries one feature. A client that failed is not used again.
async fn attempt(
    client: Result<Client, String>,
    feature: &Feature,
    cell: &Cell,
) -> Result<Client, String> {
    let mut client = client?;
    let outcome = (feature.check)(&mut client, cell).await;
    feature.judge(cell, outcome)?;
    Ok(client)
}

fn is_wanted(name: &str) -> bool {
    let words = std::env::var("MATRIX").unwrap_or_default();
    words.split_whitespace().all(|word| name.contains(word))
}

/// The checks on the servers of a kind alone: clients of their own revision, over HTTP.
async fn direct(kind: Kind) {
    let mut report = Report::default();
    for peer in kind.peers().iter().filter(|peer| peer.transport == Transport::Http) {
        let running = peer.start().await;
        report.visit(&running.target, peer, peer.revision).await;
    }
    report.finish();
}

/// The checks with clients of every revision on one server of ours that speaks them all.
#[tokio::test]
async fn direct_unpinned() {
    let (peer, running) = Peer::start_unpinned().await;
    let mut report = Report::default();
    for revision in Revision::ALL {
        report.visit(&running.target, &peer, revision).await;
    }
    report.finish();
}

/// Clients of every revision, the gateway, and the servers of a kind.
async fn through(kind: Kind) {
    let wanted = |peer: &Peer| {
        let cells = Revision::ALL.map(|it| format!("{it} to {}", peer.name()));
        let features = FEATURES.iter().map(|it| it.name);
        cells.iter().any(|cell| features.clone().any(|it| is_wanted(&format!("{cell}: {it}"))))
    };
    let peers: Vec<Peer> = kind.peers().into_iter().filter(wanted).collect();
    let gateway = Gateway::start(kind.name(), &peers).await;
    let mut report = Report { is_bridged: true, ..Report::default() };
    for peer in &peers {
        let target = gateway.target(peer);
        appear(&target, peer).await;
        for revision in Revision::ALL {
            report.visit(&target, peer, revision).await;
        }
    }
    // A part of the cells says nothing of the rest.
    if std::env::var_os("MATRIX").is_none() {
        report.record.keep(kind);
    }
    report.finish();
}

/// Waits until the gateway shows the server's tools. One that never appears fails its cells.
async fn appear(target: &Target, peer: &Peer) {
    let begun = Instant::now();
    let (client, server, kind) = (Revision::LATEST, peer.revision, peer.kind);
    let cell = Cell { client, server, kind, is_bridged: true };
    while begun.elapsed() < APPEARS {
        if let Ok(mut client) = Client::connect(target.clone(), Revision::LATEST).await
            && checks::content::list(&mut client, &cell).await.is_ok()
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Two tests for each kind of server.
macro_rules! matrix {
    ($($kind:ident: $direct:ident, $through:ident;)*) => {
        $(
            #[tokio::test]
            async fn $direct() {
                direct(Kind::$kind).await;
            }

            #[tokio::test]
            async fn $through() {
                through(Kind::$kind).await;
            }
        )*
    };
}

matrix! {
    Golden: direct_golden, through_golden;
    Python1: direct_python1, through_python1;
    Python2: direct_python2, through_python2;
    Node1: direct_node1, through_node1;
    Node2: direct_node2, through_node2;
    Rmcp: direct_rmcp, through_rmcp;
}
