//! What stands between the suite and the `everything` example: nothing, or Gantry with the example
//! as a server of its own behind it, held to one era of the protocol or to none.

use std::path::{Path, PathBuf};

use crate::everything::Everything;
use crate::failure::Outcome;
use crate::gateway::Gateway;

/// A way to put the example before the suite.
pub(super) struct Layout {
    /// What the names of its runs begin with; empty for the example alone.
    pub(super) name: &'static str,
    /// Which clients the example serves.
    era: &'static str,
}

/// All layouts; the first one has no gateway in it.
pub(super) const LAYOUTS: &[Layout] = &[
    Layout { name: "", era: "both" },
    Layout { name: "through-both", era: "both" },
    Layout { name: "through-legacy", era: "legacy" },
    Layout { name: "through-modern", era: "modern" },
];

/// The processes of a layout, ended when this is dropped: the gateway first.
pub(super) struct Subject {
    gateway: Option<Gateway>,
    everything: Everything,
}

impl Layout {
    /// Whether the suite reaches the example through the gateway.
    pub(super) fn is_through(&self) -> bool {
        !self.name.is_empty()
    }

    /// The name of a run in this layout.
    pub(super) fn run_name(&self, run: &str) -> String {
        match self.is_through() {
            true => format!("{}-{run}", self.name),
            false => run.to_owned(),
        }
    }

    /// Starts what belongs to it. The gateway keeps its files in `folder`.
    pub(super) fn start(&self, binaries: &Binaries, folder: &Path) -> Outcome<Subject> {
        let everything = Everything::launch(&binaries.everything(), self.era)?;
        let gateway = match self.is_through() {
            true => Some(Gateway::start(&binaries.gantry(), &everything.http(), folder)?),
            false => None,
        };
        Ok(Subject { gateway, everything })
    }
}

impl Subject {
    /// Where the suite is to call.
    pub(super) fn http(&self) -> String {
        self.gateway.as_ref().map_or_else(|| self.everything.http(), Gateway::http)
    }
}

/// The folders in which cargo left programs and examples.
pub(super) struct Binaries {
    pub(super) servers: PathBuf,
    pub(super) client: PathBuf,
}

impl Binaries {
    fn gantry(&self) -> PathBuf {
        self.servers.join("gantry")
    }

    fn everything(&self) -> PathBuf {
        self.servers.join("examples/everything")
    }

    /// The client that plays the suite's scenarios.
    pub(super) fn client(&self) -> PathBuf {
        self.client.join("examples/conformance")
    }
}
