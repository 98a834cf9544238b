//! What is started for a tool: program, arguments, environment.

use std::path::Path;

use gantry_gateway::{CallError, ErrorKind};
use gantry_process::{Child, ChildLimits, Program, StartError};

use crate::scripts::ToolSettings;
use crate::scripts::manifest::{Manifest, Runtime};
use crate::scripts::python::{Environments, Interpreter};

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
    // Where a machine keeps its own authorities: without them nothing can be fetched there.
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// Starts the programs of tools.
#[derive(Debug)]
pub(in crate::scripts) struct Launcher {
    limits: ChildLimits,
    memory: Option<u64>,
    pub(in crate::scripts) environments: Environments,
}

impl Launcher {
    pub(in crate::scripts) fn new(settings: &ToolSettings) -> Self {
        let environments = Environments::new(settings.uv.clone(), settings.resolve);
        Self { limits: settings.child.clone(), memory: settings.memory, environments }
    }

    /// What to start. For a Python script this waits until its environment is there.
    pub(in crate::scripts) async fn program(
        &self,
        manifest: &Manifest,
    ) -> Result<Program, CallError> {
        let mut program = Program {
            program: manifest.command.clone(),
            args: manifest.args.clone(),
            env: environment(manifest),
            directory: Some(manifest.directory.clone()),
            memory: manifest.memory.or(self.memory),
        };
        if manifest.runtime == Runtime::PythonUvScript {
            let resolved = self.environments.interpreter(manifest, &program.env).await;
            let interpreter = resolved.map_err(|error| not_started(manifest, &error))?;
            interpret(&mut program, &interpreter);
        }
        Ok(program)
    }

    /// Starts a program. It stands still for as long as the kernel takes for it.
    pub(in crate::scripts) fn start(&self, program: &Program) -> Result<Child, StartError> {
        Child::start(program, &self.limits)
    }
}

/// Lets an interpreter run the program, in the surroundings that `uv run` would give it.
fn interpret(program: &mut Program, interpreter: &Interpreter) {
    let script = std::mem::replace(&mut program.program, interpreter.python.clone());
    program.args.insert(0, script.to_string_lossy().into_owned());
    let Some(folder) = interpreter.python.parent().and_then(Path::to_str) else { return };
    let path = program.env.iter().rfind(|(name, _)| name == "PATH");
    let path = path.map_or_else(|| folder.to_owned(), |(_, rest)| format!("{folder}:{rest}"));
    program.env.push(("PATH".to_owned(), path));
    if let Some(environment) = interpreter.environment.as_ref().and_then(|it| it.to_str()) {
        program.env.push(("VIRTUAL_ENV".to_owned(), environment.to_owned()));
    }
}

/// The error of a call whose program could not be started.
pub(in crate::scripts) fn not_started(
    manifest: &Manifest,
    error: &impl std::fmt::Display,
) -> CallError {
    let text = format!("the tool `{}` could not be started: {error}", manifest.name);
    CallError::new(ErrorKind::ToolFailed, text)
}

fn environment(manifest: &Manifest) -> Vec<(String, String)> {
    let safe = SAFE.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    safe.chain(manifest.env.iter().cloned()).collect()
}
