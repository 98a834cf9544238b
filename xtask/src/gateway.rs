//! Gantry itself as a test subject: `gantry serve` in front of one server, on a free port and with
//! a home of its own, ended with its whole process group when dropped.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use crate::everything::announced;
use crate::failure::{Failure, Outcome};
use crate::process::{self, Group};
use crate::workspace;

/// A running gateway.
pub(crate) struct Gateway {
    /// Held for its `Drop`, which ends the gateway.
    _group: Group,
    authority: String,
}

impl Gateway {
    /// Starts the gateway in front of the server at `upstream`, whose names it leaves as they are.
    /// Its files, and what it logs, go to `folder`.
    pub(crate) fn start(binary: &Path, upstream: &str, folder: &Path) -> Outcome<Self> {
        // What an earlier run has pinned was pinned for another server: each has its own port.
        workspace::fresh(folder)?;
        let written = |source| Failure::file(folder, source);
        let config = folder.join("gantry.json");
        let server = json!({"mcpServers": {"everything": {"url": upstream, "prefix": ""}}});
        fs::write(&config, server.to_string()).map_err(written)?;
        let log = File::create(folder.join("gateway.log")).map_err(written)?;
        let mut command = process::command(binary);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(&config)
            .current_dir(folder)
            .env("GANTRY_TRUST", "trusted")
            .env("GANTRY_AUTH", "none")
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(Stdio::piped());
        for place in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            command.env(place, folder);
        }
        let mut group = Group::start(&mut command)?;
        let lines = group.error_lines();
        let authority = announced("`gantry serve`", &lines)?;
        Ok(Self { _group: group, authority })
    }

    /// Its Streamable HTTP endpoint.
    pub(crate) fn http(&self) -> String {
        format!("http://{}/mcp", self.authority)
    }
}
