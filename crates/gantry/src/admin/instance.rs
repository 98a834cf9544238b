//! `/api/instance`: which of the user's gateways this one is.

use std::path::PathBuf;

use gantry_protocol::RawJson;
use serde::{Deserialize, Serialize};

/// A running gateway, as it is told apart from others of the same user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Instance {
    /// Its process id.
    pub pid: u32,
    /// The version of the program.
    pub version: String,
    /// Its state directory.
    pub state: PathBuf,
    /// Its configuration file, if it has one.
    pub config: Option<PathBuf>,
    /// The files that it reads, and those that it would read if they were there.
    pub files: Vec<PathBuf>,
    /// Where it listens for HTTP, if it does.
    pub listen: Option<String>,
    /// Whether it serves a client on standard input and output.
    pub stdio: bool,
}

impl Instance {
    /// The same with these files.
    pub(super) fn reading(self, files: Vec<PathBuf>) -> Self {
        Self { files, ..self }
    }

    pub(super) fn to_json(&self) -> RawJson {
        RawJson::of(self).unwrap_or(RawJson::NULL)
    }
}
