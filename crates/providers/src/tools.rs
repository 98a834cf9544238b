//! Tools as programs: a folder of scripts and binaries.

mod contract;
pub mod manifest;
mod runner;
mod shelf;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::BoxFuture;
use gantry_gateway::{CallError, Exchange, Outcome, Provider, Publisher, Resolved, Target};
use gantry_protocol::RawJson;
use gantry_transport::child::ChildLimits;

use manifest::Problem;
use runner::Runner;
use shelf::Shelf;

/// Every limit of tools that are programs, with its default.
#[derive(Debug, Clone)]
pub struct ToolSettings {
    /// Programs that may run at once; calls beyond that wait their turn.
    pub children: usize,
    /// How long a program may run that says nothing else in its manifest.
    pub timeout: Duration,
    /// What one program may write, and how long it may take to end when asked to.
    pub child: ChildLimits,
    /// How often the folders are looked at.
    pub rescan: Duration,
    /// Where `uv` is; looked for on `PATH` by default.
    pub uv: PathBuf,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            children: 64,
            timeout: Duration::from_secs(30),
            child: ChildLimits::default(),
            rescan: Duration::from_secs(2),
            uv: PathBuf::from("uv"),
        }
    }
}

/// The tools of some folders. Clones share them.
#[derive(Debug, Clone)]
pub struct Tools(Arc<Workshop>);

#[derive(Debug)]
struct Workshop {
    folders: Vec<PathBuf>,
    settings: ToolSettings,
    shelf: ArcSwap<Shelf>,
    runner: Runner,
    publisher: OnceLock<Publisher>,
}

impl Tools {
    /// The tools of these folders. Those that are not in order are left out, each with the reason.
    pub fn open(folders: Vec<PathBuf>, settings: ToolSettings) -> Self {
        let shelf = ArcSwap::from_pointee(Shelf::read(&folders, &settings));
        let runner = Runner::new(settings.clone());
        Self(Arc::new(Workshop { folders, settings, shelf, runner, publisher: OnceLock::new() }))
    }

    /// What is wrong with the tools that were left out.
    pub fn problems(&self) -> Vec<Problem> {
        self.0.shelf.load().problems.clone()
    }

    /// How many tools there are.
    pub fn count(&self) -> usize {
        self.0.shelf.load().tools.len()
    }

    /// Connects the tools to the catalog they are listed in. Later calls change nothing.
    pub fn publish_to(&self, publisher: Publisher) {
        let publisher = self.0.publisher.get_or_init(|| publisher);
        publisher.publish(self.0.shelf.load().listing());
    }

    /// Looks at the folders now and then, for as long as this is polled, and publishes what changed.
    pub async fn watch(&self) {
        let mut tick = tokio::time::interval(self.0.settings.rescan);
        loop {
            tick.tick().await;
            let workshop = self.0.clone();
            // Looking at files may block, and must not hold up calls.
            let looked = tokio::task::spawn_blocking(move || workshop.look_again()).await;
            if let Err(error) = looked {
                tracing::error!(%error, "looking at the tool folders failed");
            }
        }
    }
}

impl Workshop {
    fn look_again(&self) {
        let before = self.shelf.load_full();
        if shelf::fingerprint(&self.folders) == before.fingerprint {
            return;
        }
        let shelf = Shelf::read(&self.folders, &self.settings);
        for problem in &shelf.problems {
            tracing::warn!(%problem, "a tool was left out");
        }
        tracing::info!(tools = shelf.tools.len(), "the tool folders have changed");
        let listing = shelf.listing();
        self.shelf.store(Arc::new(shelf));
        if let Some(publisher) = self.publisher.get() {
            publisher.publish(listing);
        }
    }
}

impl Provider for Tools {
    fn name(&self) -> &str {
        "tools"
    }

    fn serve(&self, call: &Resolved, exchange: &Exchange) -> BoxFuture<'static, Outcome> {
        let (workshop, exchange) = (self.0.clone(), exchange.clone());
        let manifest = match &call.target {
            Target::Tool(entry) => workshop.shelf.load().find(&entry.name),
            _ => None,
        };
        let name = call.target.name().to_owned();
        let arguments = call.call.head.arguments.clone().unwrap_or(RawJson::EMPTY_OBJECT);
        Box::pin(async move {
            match manifest {
                Some(manifest) => workshop.runner.run(&manifest, arguments, exchange).await,
                None => Err(CallError::invalid_params(format!("`{name}` has just been removed"))),
            }
        })
    }
}

#[cfg(test)]
mod tests;
