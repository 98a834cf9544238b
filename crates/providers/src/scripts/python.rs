//! Environments of Python scripts. `uv` makes one when a script is first called or has changed;
//! every other call starts the interpreter without `uv`.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use gantry_process::{Child, ChildLimits, End, Program, StartError};

use crate::file_fingerprint::FileFingerprint;
use crate::scripts::manifest::Manifest;

/// The line that begins the block in which a script says what it needs.
const BLOCK: &[u8] = b"# /// script";

/// How much of what `uv` complained about is told.
const SHOWN: usize = 2000;

/// What runs a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::scripts) struct Interpreter {
    /// The program.
    pub(in crate::scripts) python: PathBuf,
    /// The environment that it belongs to, if it does not belong to the system.
    pub(in crate::scripts) environment: Option<PathBuf>,
}

/// Why there is no interpreter for a script.
#[derive(Debug, thiserror::Error)]
pub(in crate::scripts) enum ResolveError {
    #[error("`{}` is not installed; install it with `pip install uv`", .0.display())]
    NoUv(PathBuf),
    #[error("`uv` cannot be used: {0}")]
    Start(StartError),
    #[error("the script `{}` cannot be read: {error}; check that it is there", path.display())]
    Script { path: PathBuf, error: io::Error },
    #[error("`uv` could not make its environment; correct the script's block, or the network: {0}")]
    Failed(String),
    #[error("`uv` did not make its environment within {0:?}; call again, or allow it more time")]
    TimedOut(Duration),
}

type Resolved = Result<Arc<Interpreter>, Arc<ResolveError>>;

/// The environment of each script that was called.
#[derive(Debug)]
pub(in crate::scripts) struct Environments {
    uv: PathBuf,
    limit: Duration,
    known: Mutex<HashMap<PathBuf, Known>>,
}

#[derive(Debug)]
struct Known {
    fingerprint: FileFingerprint,
    variables: Vec<(String, String)>,
    /// Everyone who needs it waits for the same one.
    resolution: Shared<BoxFuture<'static, Resolved>>,
}

impl Known {
    /// Whether this is still true, or still being found out. Others may clear `uv`'s cache.
    fn holds(&self, fingerprint: FileFingerprint, variables: &[(String, String)]) -> bool {
        let is_there = match self.resolution.peek() {
            None => true,
            Some(Ok(interpreter)) => interpreter.python.exists(),
            // It may be another matter now.
            Some(Err(_)) => false,
        };
        is_there && self.fingerprint == fingerprint && self.variables == variables
    }
}

impl Environments {
    pub(in crate::scripts) fn new(uv: PathBuf, limit: Duration) -> Self {
        Self { uv, limit, known: Mutex::default() }
    }

    /// The interpreter of a script. Whoever stops waiting does not stop `uv`, whose work serves
    /// the next call.
    pub(in crate::scripts) async fn interpreter(
        &self,
        manifest: &Manifest,
        variables: &[(String, String)],
    ) -> Resolved {
        let script = &manifest.command;
        let fingerprint = FileFingerprint::of(script)
            .map_err(|error| Arc::new(ResolveError::Script { path: script.clone(), error }))?;
        let resolution = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            match known.get(script).filter(|it| it.holds(fingerprint, variables)) {
                Some(known) => known.resolution.clone(),
                None => {
                    let resolution = self.resolve(script.clone(), variables);
                    let variables = variables.to_vec();
                    let entry = Known { fingerprint, variables, resolution: resolution.clone() };
                    known.insert(script.clone(), entry);
                    resolution
                }
            }
        };
        resolution.await
    }

    /// Forgets the scripts that are no longer wanted.
    pub(in crate::scripts) fn retain(&self, keep: impl Fn(&Path) -> bool) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|script, _| keep(script));
    }

    fn resolve(
        &self,
        script: PathBuf,
        variables: &[(String, String)],
    ) -> Shared<BoxFuture<'static, Resolved>> {
        let uv = Uv { path: self.uv.clone(), env: for_uv(variables), limit: self.limit };
        let task = tokio::spawn(async move { uv.resolve(&script).await });
        let resolution = async move {
            match task.await {
                Ok(resolved) => resolved.map(Arc::new).map_err(Arc::new),
                Err(error) => Err(Arc::new(ResolveError::Failed(error.to_string()))),
            }
        };
        resolution.boxed().shared()
    }
}

/// How `uv` is asked.
struct Uv {
    path: PathBuf,
    env: Vec<(String, String)>,
    limit: Duration,
}

impl Uv {
    async fn resolve(&self, script: &Path) -> Result<Interpreter, ResolveError> {
        let unreadable = |error| ResolveError::Script { path: script.to_owned(), error };
        let source = tokio::task::spawn_blocking({
            let script = script.to_owned();
            move || std::fs::read(script)
        });
        let source = source.await.map_err(io::Error::other).and_then(|read| read);
        let has_block = source
            .map_err(unreadable)?
            .split(|byte| *byte == b'\n')
            .any(|line| line.starts_with(BLOCK));
        let found = if has_block {
            let path = script.to_string_lossy();
            self.ask(script, &["sync", "--quiet", "--script", &path]).await?;
            self.ask(script, &["python", "find", "--script", &path]).await?
        } else {
            self.ask(script, &["python", "find", "--no-project"]).await?
        };
        let python = PathBuf::from(found.trim());
        if !python.is_absolute() {
            return Err(ResolveError::Failed(format!("it found no interpreter but `{found}`")));
        }
        let folder = python.parent().and_then(Path::parent).map(Path::to_owned);
        let environment = folder.filter(|it| it.join("pyvenv.cfg").exists());
        Ok(Interpreter { python, environment })
    }

    /// What `uv` writes to standard output.
    async fn ask(&self, script: &Path, args: &[&str]) -> Result<String, ResolveError> {
        let program = Program {
            program: self.path.clone(),
            args: args.iter().map(ToString::to_string).collect(),
            env: self.env.clone(),
            directory: script.parent().map(Path::to_owned),
            memory: None,
        };
        let child =
            Child::start(&program, &ChildLimits::default()).map_err(|error| match error {
                StartError::NotFound(uv) => ResolveError::NoUv(uv),
                error => ResolveError::Start(error),
            })?;
        let finished = child.finish(Bytes::new(), self.limit).await;
        match finished.end {
            End::Exited(0) => Ok(String::from_utf8_lossy(&finished.stdout).into_owned()),
            End::TimedOut => Err(ResolveError::TimedOut(self.limit)),
            _ => Err(ResolveError::Failed(tail(finished.stderr.trim()).to_owned())),
        }
    }
}

/// The variables of a tool, and those of ours that say where packages come from.
fn for_uv(variables: &[(String, String)]) -> Vec<(String, String)> {
    let concerns = |name: &str| {
        let name = name.to_ascii_uppercase();
        ["UV_", "SSL_CERT_"].iter().any(|start| name.starts_with(start)) || name.ends_with("_PROXY")
    };
    let ours = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    ours.filter(|(name, _)| concerns(name)).chain(variables.iter().cloned()).collect()
}

fn tail(text: &str) -> &str {
    let start = text.len().saturating_sub(SHOWN);
    let start = (start..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[start..]
}
