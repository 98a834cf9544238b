//! Where the programs under test are, and how each is started.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fault::Fault;

const BUILD_EVERYTHING: &str = "cargo build --release --example everything";
const BUILD_GANTRY: &str = "cargo build --release";

/// The programs of one run.
pub(crate) struct Programs {
    bench: PathBuf,
    everything: PathBuf,
    gantry: PathBuf,
}

impl Programs {
    /// Takes the given paths, or the files that a release build leaves beside this program.
    pub(crate) fn find(
        everything: Option<PathBuf>,
        gantry: Option<PathBuf>,
    ) -> Result<Self, Fault> {
        let bench = std::env::current_exe().map_err(Fault::machine("find this program"))?;
        let beside = bench.with_file_name("");
        let default = |file: &str| {
            let candidate = beside.join(file);
            if candidate.exists() { candidate } else { root().join("target/release").join(file) }
        };
        let everything = everything.unwrap_or_else(|| default("examples/everything"));
        let gantry = gantry.unwrap_or_else(|| default("gantry"));
        Ok(Self { bench, everything, gantry })
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
        Ok(command)
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
fn command(path: &Path) -> Command {
    Command::new(path)
}
