//! Runs the program of a tool for one call.

use std::sync::Arc;
use std::time::Duration;

use gantry_gateway::{CallError, ErrorKind, Exchange, Outcome};
use gantry_protocol::RawJson;
use gantry_transport::child::{Child, Program, StartError};
use tokio::sync::Semaphore;

use super::manifest::{Manifest, Runtime};
use super::{ToolSettings, contract};

/// Runs programs, no more at once than the settings allow.
#[derive(Debug)]
pub(super) struct Runner {
    settings: ToolSettings,
    places: Arc<Semaphore>,
}

impl Runner {
    pub(super) fn new(settings: ToolSettings) -> Self {
        let places = Arc::new(Semaphore::new(settings.children));
        Self { settings, places }
    }

    fn program(&self, manifest: &Manifest) -> Program {
        let script = || manifest.command.to_string_lossy().into_owned();
        let (program, first) = match manifest.runtime {
            Runtime::Process | Runtime::Binary => (manifest.command.clone(), Vec::new()),
            Runtime::PythonUvScript => {
                let words = ["run", "--quiet", "--script"].map(str::to_owned);
                (self.settings.uv.clone(), words.into_iter().chain([script()]).collect())
            }
        };
        Program {
            program,
            args: first.into_iter().chain(manifest.args.iter().cloned()).collect(),
            env: environment(manifest),
            directory: Some(manifest.directory.clone()),
        }
    }

    fn timeout(&self, manifest: &Manifest) -> Duration {
        manifest.timeout.unwrap_or(self.settings.timeout)
    }

    /// Serves one call with one process.
    pub(super) async fn run(
        &self,
        manifest: &Manifest,
        arguments: RawJson,
        exchange: Exchange,
    ) -> Outcome {
        let Ok(_place) = self.places.acquire().await else {
            return Err(CallError::new(ErrorKind::ShuttingDown, "the server is stopping"));
        };
        let program = self.program(manifest);
        let mut child = Child::start(&program, &self.settings.child)
            .map_err(|error| not_started(manifest, &error))?;
        let mut notices = child.notices();
        let timeout = self.timeout(manifest);
        let finishing = child.finish(contract::request(&arguments), timeout);
        tokio::pin!(finishing);
        let finished = loop {
            tokio::select! {
                finished = &mut finishing => break finished,
                Some(line) = notices.recv() => contract::relay(&exchange, line).await,
            }
        };
        while let Ok(line) = notices.try_recv() {
            contract::relay(&exchange, line).await;
        }
        contract::read(&manifest.name, timeout, &finished)
    }
}

fn not_started(manifest: &Manifest, error: &StartError) -> CallError {
    let text = match (manifest.runtime, error) {
        (Runtime::PythonUvScript, StartError::NotFound(uv)) => format!(
            "the tool `{}` needs `{}`, which is not installed; `pip install uv` does it",
            manifest.name,
            uv.display()
        ),
        _ => format!("the tool `{}` could not be started: {error}", manifest.name),
    };
    CallError::new(ErrorKind::ToolFailed, text)
}

/// What of our own environment every program may see.
const SAFE: [&str; 11] = [
    "PATH",
    "HOME",
    "USER",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    // Where a machine keeps its own authorities: without them `uv` can install nothing there.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

fn environment(manifest: &Manifest) -> Vec<(String, String)> {
    let safe = SAFE.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    safe.chain(manifest.env.iter().cloned()).collect()
}
