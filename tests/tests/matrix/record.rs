//! What was seen to hold with the gateway in between: every cell that was tried and went as the
//! table of features says. The page in the documents is written from it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use gantry::Revision;

use crate::features::{FEATURES, Feature};
use crate::peers::{Kind, Peer};

/// The cells that went as they should, each with the server it was tried on.
#[derive(Debug, Default)]
pub(crate) struct Record(BTreeSet<String>);

impl Record {
    /// Everything that there is to be seen.
    pub(crate) fn full() -> Self {
        let mut record = Self::default();
        for peer in Kind::ALL.into_iter().flat_map(Kind::peers) {
            for feature in FEATURES {
                Revision::ALL.iter().for_each(|client| record.add(feature, *client, &peer));
            }
        }
        record
    }

    /// What the last whole run of every kind of server has seen.
    pub(crate) fn of_last_run() -> Self {
        let read = |kind: Kind| {
            let text = std::fs::read_to_string(path(kind)).unwrap_or_default();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        Self(Kind::ALL.into_iter().flat_map(read).collect())
    }

    pub(crate) fn add(&mut self, feature: &Feature, client: Revision, peer: &Peer) {
        let name = peer.name();
        self.0.insert(format!("{}|{client}|{}|{name}", feature.name, peer.revision));
    }

    /// On how many servers a cell was tried.
    pub(crate) fn servers(&self, feature: &Feature, client: Revision, server: Revision) -> usize {
        let cell = format!("{}|{client}|{server}|", feature.name);
        self.0.iter().filter(|line| line.starts_with(&cell)).count()
    }

    /// Keeps it for the page.
    pub(crate) fn keep(&self, kind: Kind) {
        let lines: Vec<&str> = self.0.iter().map(String::as_str).collect();
        std::fs::write(path(kind), lines.join("\n")).expect("a file in the build's own folder");
    }

    /// What is in the other and not in this.
    pub(crate) fn lacks(&self, other: &Self) -> Vec<String> {
        other.0.difference(&self.0).cloned().collect()
    }
}

fn path(kind: Kind) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("matrix-{}.txt", kind.name()))
}
