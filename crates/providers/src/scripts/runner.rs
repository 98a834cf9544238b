//! Runs the program of a tool for one call.

pub(super) mod launch;
mod service;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use gantry_gateway::{CallContext, CallError, ErrorKind, Outcome, Schema};
use gantry_process::{Child, End, Finished};
use gantry_protocol::RawJson;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::contract::Printing;
use super::manifest::Manifest;
use super::warm_pool::Standby;
use super::{Processes, ToolSettings, contract};
use launch::Launcher;
use service::Service;

/// Runs programs, no more at once than the settings allow.
#[derive(Debug)]
pub(super) struct Runner {
    settings: ToolSettings,
    places: Arc<Semaphore>,
    launcher: Arc<Launcher>,
    standby: Arc<Standby>,
}

/// Replaces the process that a call took when the call is over or dropped: most calls are short, and
/// the start of another process would take time from them. If one is long, the standby sees to it.
struct Replacement<'a> {
    standby: &'a Arc<Standby>,
    manifest: &'a Arc<Manifest>,
}

impl Drop for Replacement<'_> {
    fn drop(&mut self) {
        self.standby.refill(self.manifest);
    }
}

impl Runner {
    pub(super) fn new(settings: ToolSettings) -> Self {
        let places = Arc::new(Semaphore::new(settings.children));
        let launcher = Arc::new(Launcher::new(&settings));
        let standby = Standby::new(settings.clone(), launcher.clone(), places.clone());
        Self { settings, places, launcher, standby }
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
        let _replacement = Replacement { standby: &self.standby, manifest };
        let place = Arc::new(self.place(manifest).await?);
        let service = Service { manifest, settings: &self.settings, context: &context, place };
        let input = contract::request(&arguments);
        let waiting = self.standby.take(manifest);
        if self.standby.serves(manifest) {
            context.note_standby(waiting.is_some());
        }
        let waited = match waiting {
            Some(child) => Some(service.serve(child, input.clone()).await),
            None => None,
        };
        let finished = match waited.filter(|finished| !died_waiting(finished)) {
            Some(finished) => finished,
            None => service.serve(self.start(manifest).await?, input).await,
        };
        self.standby.learn(manifest, finished.input_read);
        let (name, source) = (&manifest.name, manifest.output_schema.as_ref());
        let tool = Printing { name, source, schema: output.as_deref() };
        let timeout = self.settings.timeout_of(manifest);
        contract::read(&tool, &manifest.secrets, timeout, &finished)
    }

    /// How many processes there are.
    pub(super) fn processes(&self) -> Processes {
        Processes { running: self.standby.running(), standby: self.standby.len() }
    }

    /// Takes up what the folders hold now: what waits for other tools, or for what these were
    /// before, ends; what must always wait is started. Needs a runtime.
    pub(super) fn refresh_one(&self, name: &str, tools: &[Arc<Manifest>]) {
        self.standby.refresh_one(name, tools);
    }

    /// The same where all of them may have changed.
    pub(super) fn refresh(&self, tools: &[Arc<Manifest>]) {
        self.standby.refresh(tools);
        let scripts: std::collections::HashSet<&Path> =
            tools.iter().map(|it| it.command.as_path()).collect();
        self.launcher.environments.retain(|script| scripts.contains(script));
    }

    /// Takes no more calls, and ends the processes that wait. Those that run are their calls' own.
    pub(super) fn stop(&self) {
        self.places.close();
        self.standby.stop();
    }

    /// Waits for its turn. Turns come in the order of the calls.
    async fn place(&self, manifest: &Manifest) -> Result<OwnedSemaphorePermit, CallError> {
        let stopping = |_| CallError::new(ErrorKind::ShuttingDown, "the server is stopping");
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Ok(place);
        }
        match timeout(self.settings.queue, self.places.clone().acquire_owned()).await {
            Ok(acquired) => acquired.map_err(stopping),
            Err(_) => {
                let text = format!(
                    "`{}` waited {:?} for its turn: {} programs may run at once, and all do; try \
                     again later, or raise the limit `children`",
                    manifest.name, self.settings.queue, self.settings.children
                );
                Err(CallError::new(ErrorKind::LimitExceeded { retry_after: None }, text))
            }
        }
    }

    async fn start(&self, manifest: &Manifest) -> Result<Child, CallError> {
        let program = self.launcher.program(manifest).await?;
        self.launcher.start(&program).map_err(|error| launch::not_started(manifest, &error))
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Whether a process that waited ended before it could know of its call. Only then may another one
/// do the work: what has read its input may have done it already.
fn died_waiting(finished: &Finished) -> bool {
    let ended_itself = matches!(finished.end, End::Exited(_) | End::Signalled(_));
    ended_itself && !finished.input_read && finished.stdout.is_empty()
}
