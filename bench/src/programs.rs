//! Where the programs under test are, and how each is started.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fault::Fault;
use crate::folder::Folder;

const BUILD_EVERYTHING: &str = "cargo build --profile dist --example everything";
const BUILD_GANTRY: &str = "cargo build --profile dist";
const BUILD_ECHO: &str = "cargo build --profile dist --package gantry-bench --bins";

/// The programs of one run.
pub(crate) struct Programs {
    bench: PathBuf,
    everything: PathBuf,
    gantry: PathBuf,
    uv: Option<PathBuf>,
    peers: Option<PathBuf>,
}

impl Programs {
    /// Takes the given paths, or the files that a build leaves beside this program.
    pub(crate) fn find(
        everything: Option<PathBuf>,
        gantry: Option<PathBuf>,
        uv: Option<PathBuf>,
        peers: Option<PathBuf>,
    ) -> Result<Self, Fault> {
        let bench = std::env::current_exe().map_err(Fault::machine("find this program"))?;
        let beside = bench.with_file_name("");
        let default = |file: &str| {
            let candidate = beside.join(file);
            if candidate.exists() { candidate } else { root().join("target/dist").join(file) }
        };
        let everything = everything.unwrap_or_else(|| default("examples/everything"));
        let gantry = gantry.unwrap_or_else(|| default("gantry"));
        Ok(Self { bench, everything, gantry, uv, peers })
    }

    /// This program, with a sub-command.
    pub(crate) fn bench(&self, verb: &str) -> Command {
        let mut command = command(&self.bench);
        command.arg(verb);
        command
    }

    /// Our example server with further tools, on HTTP.
    pub(crate) fn everything(&self, extra_tools: usize) -> Result<Command, Fault> {
        let mut command = existing(&self.everything, BUILD_EVERYTHING)?;
        command.args(["--listen", "127.0.0.1:0"]);
        if extra_tools > 0 {
            command.arg("--extra-tools").arg(extra_tools.to_string());
        }
        Ok(command)
    }

    /// Our example server on stdio.
    pub(crate) fn everything_stdio(&self) -> Result<Command, Fault> {
        let mut command = existing(&self.everything, BUILD_EVERYTHING)?;
        command.arg("--stdio");
        Ok(command)
    }

    /// The gateway without any configuration.
    pub(crate) fn gantry(&self) -> Result<Command, Fault> {
        let mut command = existing(&self.gantry, BUILD_GANTRY)?;
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        command.env("GANTRY_TRUST", "trusted").env("GANTRY_AUTH", "none");
        Ok(command)
    }

    /// The gateway with a folder of tools, and with `uv` where it looks for it.
    pub(crate) fn gantry_with(&self, folder: &Folder) -> Result<Command, Fault> {
        let mut command = self.gantry()?;
        command.arg("--tools").arg(folder.tools()).env("XDG_STATE_HOME", folder.state());
        if let Some(directory) = self.uv.as_deref().and_then(Path::parent) {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders = [directory.to_owned()].into_iter().chain(std::env::split_paths(&path));
            command.env("PATH", std::env::join_paths(folders).unwrap_or(path));
        }
        Ok(command)
    }

    /// The gateway in front of the servers of a folder's configuration.
    pub(crate) fn gantry_before(&self, folder: &Folder) -> Result<Command, Fault> {
        let mut command = self.gantry()?;
        command.arg("--config").arg(folder.config()).env("XDG_STATE_HOME", folder.state());
        Ok(command)
    }

    /// The folder of installed peers.
    pub(crate) fn peers(&self) -> Result<&Path, Fault> {
        self.peers.as_deref().ok_or(Fault::NoPeers)
    }

    /// The small native tool.
    pub(crate) fn echo(&self) -> Result<PathBuf, Fault> {
        let path = self.bench.with_file_name("bench-echo");
        existing(&path, BUILD_ECHO)?;
        Ok(path)
    }

    /// What runs Python scripts: the path that was given, or `uv` on `PATH`.
    pub(crate) fn uv(&self) -> Result<PathBuf, Fault> {
        let given = self.uv.clone().filter(|path| path.exists());
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = || std::env::split_paths(&path).map(|it| it.join("uv")).find(|it| it.exists());
        given.or_else(found).ok_or(Fault::NoUv)
    }

    /// Size of the gateway's binary, in bytes.
    pub(crate) fn gantry_size(&self) -> Result<u64, Fault> {
        existing(&self.gantry, BUILD_GANTRY)?;
        let path = self.gantry.display();
        let metadata = self.gantry.metadata().map_err(Fault::machine(format!("read {path}")))?;
        Ok(metadata.len())
    }
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

fn existing(path: &Path, build: &'static str) -> Result<Command, Fault> {
    if path.exists() {
        return Ok(command(path));
    }
    Err(Fault::Missing { path: path.display().to_string(), build })
}

#[expect(
    clippy::disallowed_methods,
    reason = "the bench measures bare processes and ends each by its owner"
)]
pub(crate) fn command(path: impl AsRef<OsStr>) -> Command {
    Command::new(path)
}
