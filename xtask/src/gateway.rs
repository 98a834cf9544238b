//! Gantry itself as a test subject: `gantry serve` in front of one server, on a free port and with
//! a home of its own, ended with its whole process group when dropped.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::Receiver;
use std::thread;

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
            .stdin(Stdio::null());
        for place in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            command.env(place, folder);
        }
        Self::listening(&mut command, log)
    }

    /// Starts a gateway by a command that makes it listen, and waits until it does. What it prints and
    /// logs from then on goes to the file.
    pub(crate) fn listening(command: &mut Command, log: File) -> Outcome<Self> {
        let output = log.try_clone().map_err(|source| Failure::new(source.to_string()))?;
        let mut group = Group::start(command.stdout(output).stderr(Stdio::piped()))?;
        let lines = group.error_lines();
        let authority = announced("`gantry serve`", &lines)?;
        thread::spawn(move || keep(lines, log));
        Ok(Self { _group: group, authority })
    }

    /// Its Streamable HTTP endpoint.
    pub(crate) fn http(&self) -> String {
        format!("http://{}/mcp", self.authority)
    }
}

/// Ends with the gateway, whose error stream then closes.
fn keep(lines: Receiver<String>, mut log: File) {
    for line in lines {
        // The log is for a developer who looks for a fault; the run does not depend on it.
        let _ = writeln!(log, "{line}");
    }
}
