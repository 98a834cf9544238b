//! Runs the program of a tool for one call: waits for a slot, takes a standby process or starts a
//! new one, relays its notifications, and reads its output.
//!
//! A fair semaphore bounds the programs that run. Standby processes count against the same number
//! and give way to calls.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::Arc;

use bytes::Bytes;
use gantry_gateway::{CallContext, CallError, ErrorKind, Outcome, Schema};
use gantry_process::{Child, ChildLimits, End, Finished, Program, StartError};
use gantry_protocol::RawJson;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::{Instant, timeout};

use super::contract::PrintedValue;
use super::manifest::{Answer, Manifest, Runtime};
use super::python::{Environments, Interpreter};
use super::warm_pool::WarmPool;
use super::{Processes, ToolSettings, contract};

/// Runs programs, no more at once than the settings allow.
#[derive(Debug)]
pub(super) struct Runner {
    settings: ToolSettings,
    slots: Arc<Semaphore>,
    launcher: Arc<Launcher>,
    warm_pool: Arc<WarmPool>,
}

/// Replaces the process that a call took when the call is over or dropped: most calls are short, and
/// the start of another process would take time from them. If one is long, the standby sees to it.
struct RefillOnDrop<'a> {
    warm_pool: &'a Arc<WarmPool>,
    manifest: &'a Arc<Manifest>,
}

impl Drop for RefillOnDrop<'_> {
    fn drop(&mut self) {
        self.warm_pool.refill(self.manifest);
    }
}

impl Runner {
    pub(super) fn new(settings: ToolSettings) -> Self {
        let slots = Arc::new(Semaphore::new(settings.children));
        let launcher = Arc::new(Launcher::new(&settings));
        let warm_pool = WarmPool::new(settings.clone(), launcher.clone(), slots.clone());
        Self { settings, slots, launcher, warm_pool }
    }

    /// Serves one call with one process.
    pub(super) async fn run(
        &self,
        manifest: &Arc<Manifest>,
        arguments: RawJson,
        output: Option<Arc<Schema>>,
        context: CallContext,
    ) -> Outcome {
        // Dropped last: by then the place is free for the one that will wait.
        let _refill = RefillOnDrop { warm_pool: &self.warm_pool, manifest };
        let slot = Arc::new(self.acquire_slot(manifest).await?);
        let process_call =
            ProcessCall { manifest, settings: &self.settings, context: &context, slot };
        let input = contract::request(&arguments);
        let waiting = self.warm_pool.take(manifest);
        if self.warm_pool.serves(manifest) {
            context.note_standby(waiting.is_some());
        }
        let waited = match waiting {
            Some(child) => Some(process_call.run(child, input.clone()).await),
            None => None,
        };
        let finished = match waited.filter(|finished| !exited_before_call(finished)) {
            Some(finished) => finished,
            None => process_call.run(self.start(manifest).await?, input).await,
        };
        self.warm_pool.record_input_read(manifest, finished.input_read);
        let (name, source) = (&manifest.name, manifest.output_schema.as_ref());
        let tool = PrintedValue { name, source, schema: output.as_deref() };
        let timeout = self.settings.timeout_of(manifest);
        contract::read(&tool, &manifest.secrets, timeout, &finished)
    }

    /// How many processes there are.
    pub(super) fn processes(&self) -> Processes {
        Processes { running: self.warm_pool.running(), standby: self.warm_pool.len() }
    }

    /// Takes up what the folders hold now: what waits for other tools, or for what these were
    /// before, ends; what must always wait is started. Needs a runtime.
    pub(super) fn refresh_one(&self, name: &str, tools: &[Arc<Manifest>]) {
        self.warm_pool.refresh_one(name, tools);
    }

    /// The same where all of them may have changed.
    pub(super) fn refresh(&self, tools: &[Arc<Manifest>]) {
        self.warm_pool.refresh(tools);
        let scripts: std::collections::HashSet<&Path> =
            tools.iter().map(|it| it.command.as_path()).collect();
        self.launcher.environments.retain(|script| scripts.contains(script));
    }

    /// Takes no more calls, and ends the processes that wait. Those that run are their calls' own.
    pub(super) fn stop(&self) {
        self.slots.close();
        self.warm_pool.stop();
    }

    /// Acquires a slot. Slots are granted in the order of the calls.
    async fn acquire_slot(&self, manifest: &Manifest) -> Result<OwnedSemaphorePermit, CallError> {
        let stopping = |_| CallError::new(ErrorKind::ShuttingDown, "the server is stopping");
        if let Ok(slot) = self.slots.clone().try_acquire_owned() {
            return Ok(slot);
        }
        match timeout(self.settings.queue, self.slots.clone().acquire_owned()).await {
            Ok(acquired) => acquired.map_err(stopping),
            Err(_) => {
                let text = format!(
                    "`{}` waited {:?} for a slot: all {} programs that may run at once are running; try \
                     again later, or raise the limit `children`",
                    manifest.name, self.settings.queue, self.settings.children
                );
                Err(CallError::new(ErrorKind::LimitExceeded { retry_after: None }, text))
            }
        }
    }

    async fn start(&self, manifest: &Manifest) -> Result<Child, CallError> {
        let program = self.launcher.program(manifest).await?;
        self.launcher.start(&program).map_err(|error| not_started(manifest, &error))
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Whether a process that waited ended before it could know of its call. Only then may another one
/// do the work: what has read its input may have done it already.
fn exited_before_call(finished: &Finished) -> bool {
    let ended_itself = matches!(finished.end, End::Exited(_) | End::Signalled(_));
    ended_itself && !finished.input_read && finished.stdout.is_empty()
}

/// What of our own environment every program may see.
const INHERITED_VARIABLES: [&str; 11] = [
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
            run_with_interpreter(&mut program, &interpreter);
        }
        Ok(program)
    }

    /// Starts a program. It stands still for as long as the kernel takes for it.
    pub(in crate::scripts) fn start(&self, program: &Program) -> Result<Child, StartError> {
        Child::start(program, &self.limits)
    }
}

/// Lets an interpreter run the program, in the surroundings that `uv run` would give it.
fn run_with_interpreter(program: &mut Program, interpreter: &Interpreter) {
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
    let safe = INHERITED_VARIABLES
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
    safe.chain(manifest.env.iter().cloned()).collect()
}

/// What a process needs to know of the call it serves.
struct ProcessCall<'a> {
    manifest: &'a Arc<Manifest>,
    settings: &'a ToolSettings,
    context: &'a CallContext,
    /// Held until the process has ended, which may be after the call.
    slot: Arc<OwnedSemaphorePermit>,
}

impl ProcessCall<'_> {
    /// Gives a process its input, passes on what it says, and waits for its answer.
    async fn run(&self, mut child: Child, input: Bytes) -> Finished {
        let mut notifications = child.notices();
        let deadline = Instant::now() + self.settings.timeout_of(self.manifest);
        // By default the result waits for the end of the process: its exit status and a second line
        // can turn a result into an error, and programs that print findings and then fail with a
        // status are common. A tool that prefers the time says `answer: "line"`.
        if self.manifest.answer == Answer::End {
            return self.finish(child, input, deadline, &mut notifications).await;
        }
        let first = {
            let first = pin!(child.first_line(input, deadline - Instant::now()));
            self.relay_until(first, &mut notifications).await
        };
        match first {
            Some(line) => self.detach(child, line),
            None => self.finish(child, Bytes::new(), deadline, &mut notifications).await,
        }
    }

    async fn finish(
        &self,
        child: Child,
        input: Bytes,
        deadline: Instant,
        notifications: &mut mpsc::Receiver<Bytes>,
    ) -> Finished {
        let left = deadline.saturating_duration_since(Instant::now());
        self.relay_until(pin!(child.finish(input, left)), notifications).await
    }

    /// Waits for something while passing on notices.
    async fn relay_until<T>(
        &self,
        mut awaited: Pin<&mut impl Future<Output = T>>,
        notifications: &mut mpsc::Receiver<Bytes>,
    ) -> T {
        let come = loop {
            tokio::select! {
                come = awaited.as_mut() => break come,
                Some(line) = notifications.recv() => contract::relay(self.context, line).await,
            }
        };
        while let Ok(line) = notifications.try_recv() {
            contract::relay(self.context, line).await;
        }
        come
    }

    /// Lets a process end on its own time. Its tool has said that the line is its answer, whatever
    /// comes after it.
    fn detach(&self, child: Child, line: Bytes) -> Finished {
        let (slot, name) = (self.slot.clone(), self.manifest.name.clone());
        let grace = self.settings.child.grace;
        tokio::spawn(async move {
            let finished = child.finish(Bytes::new(), grace).await;
            drop(slot);
            if finished.end != End::Exited(0) {
                let (end, stderr) = (finished.end, finished.stderr);
                tracing::warn!(name, ?end, stderr, "a tool failed after its response");
            }
        });
        let (stdout_overflow, input_read, stderr) = (false, true, String::new());
        Finished { stdout: line, stdout_overflow, input_read, stderr, end: End::Exited(0) }
    }
}
