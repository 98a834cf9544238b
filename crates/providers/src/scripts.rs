//! Tools that are scripts and binaries: a registry that is filled from folders, with hot reload,
//! and at run time.

mod contract;
pub(crate) mod folders;
pub mod manifest;
mod python;
mod registry;
mod runner;
mod served_versions;
mod settings;
mod warm_pool;
mod watch;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::BoxFuture;
use gantry_gateway::{
    CallContext, CallError, ErrorKind, Outcome, Provider, Publisher, Resolved, Target,
};
use gantry_protocol::RawJson;
use tokio::sync::Notify;

use folders::{Folders, ScanResult};
use manifest::{Manifest, Problem};
use registry::{Refusal, Registry};
use runner::Runner;
use served_versions::ServedTools;
pub use settings::ToolSettings;
pub use watch::Watch;

/// How long after a change the folders are looked at.
const SETTLED: Duration = Duration::from_millis(50);

/// The registry of tools: those of some folders, and those that are added while it runs. Clones
/// share it.
#[derive(Debug, Clone)]
pub struct Tools(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: ToolSettings,
    sources: Mutex<Sources>,
    registry: ArcSwap<Registry>,
    problems: ArcSwap<Vec<Problem>>,
    runner: Runner,
    publisher: OnceLock<Publisher>,
    /// Says that there is something to write down.
    served: Notify,
}

/// Where the tools come from.
#[derive(Debug)]
struct Sources {
    folders: Folders,
    /// What the folders hold, by name.
    found: HashMap<String, Vec<Arc<Manifest>>>,
    /// Those that came by [`Tools::register`], by name.
    added: HashMap<String, Vec<Arc<Manifest>>>,
    /// What was served before.
    served: ServedTools,
}

/// How many processes there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Processes {
    /// Those that serve a call.
    pub running: usize,
    /// Those that wait for one, or are about to.
    pub standby: usize,
}

/// What a registration did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Registration {
    /// The tool was not there before, or not in this version.
    New,
    /// It was there already, just so.
    Unchanged,
}

impl Tools {
    /// The tools of these folders. Those that are not valid are left out, each with the reason.
    pub fn open(folders: Vec<PathBuf>, settings: ToolSettings) -> Self {
        let sources = Sources {
            folders: Folders::new(folders),
            found: HashMap::new(),
            added: HashMap::new(),
            served: ServedTools::default(),
        };
        let tools = Self(Arc::new(Inner {
            runner: Runner::new(settings.clone()),
            settings,
            sources: Mutex::new(sources),
            registry: ArcSwap::default(),
            problems: ArcSwap::default(),
            publisher: OnceLock::new(),
            served: Notify::new(),
        }));
        tools.0.scan();
        tools
    }

    /// Takes the tools of these folders from now on, in the place of those before.
    pub fn set_folders(&self, folders: Vec<PathBuf>) {
        self.0.sources().folders.replace(folders);
        self.0.scan();
    }

    /// What is wrong with the tools that were left out.
    pub fn problems(&self) -> Vec<Problem> {
        self.0.problems.load().as_ref().clone()
    }

    /// How many tools there are.
    pub fn count(&self) -> usize {
        self.0.registry.load().count()
    }

    /// How many processes serve calls, and how many wait for one.
    pub fn processes(&self) -> Processes {
        self.0.runner.processes()
    }

    /// Every version of every tool, sorted by name, the newest of each first.
    pub fn manifests(&self) -> Vec<Arc<Manifest>> {
        self.0.registry.load().manifests().cloned().collect()
    }

    /// Registers a tool. The same tool again changes nothing; the same version with another
    /// definition is refused, and so is a version that has not risen as the change demands.
    pub fn register(&self, manifest: Manifest) -> Result<Registration, Problem> {
        let manifest = Arc::new(manifest);
        let mut sources = self.0.sources();
        let known = self.0.registry.load().find(&manifest.name, &manifest.version);
        if known.is_some_and(|known| *known == *manifest) {
            return Ok(Registration::Unchanged);
        }
        let name = manifest.name.as_str();
        let known = sources.added.get(name).into_iter().flatten();
        let others = known.filter(|it| it.version != manifest.version).cloned();
        let added: Vec<_> = others.chain([manifest.clone()]).collect();
        let refused = self.0.rebuild_one(&mut sources, name, &added);
        if let Some((_, problem)) = refused.into_iter().find(|it| Arc::ptr_eq(&it.0, &manifest)) {
            return Err(problem);
        }
        sources.added.insert(name.to_owned(), added);
        self.0.publish_one(name);
        Ok(Registration::New)
    }

    /// Takes back what [`register`](Self::register) added: one version, or all of them. Tools of
    /// folders go with their files. Tells whether there was any.
    pub fn unregister(&self, name: &str, version: Option<&str>) -> bool {
        let mut sources = self.0.sources();
        let added = sources.added.remove(name).unwrap_or_default();
        let (gone, kept): (Vec<_>, Vec<_>) =
            added.into_iter().partition(|it| version.is_none_or(|one| it.version == one));
        for manifest in &gone {
            // Whoever takes it away on purpose may register another one.
            sources.served.forget(manifest, manifest.version.parse().ok().as_ref());
        }
        if !kept.is_empty() {
            sources.added.insert(name.to_owned(), kept.clone());
        }
        if !gone.is_empty() {
            self.0.rebuild_one(&mut sources, name, &kept);
            self.0.publish_one(name);
        }
        !gone.is_empty()
    }

    /// Holds tools to what was served before, which was written down under these keys, and remembers
    /// what is served from now on. Gives what is wrong with tools that are left out for that. Must be
    /// called before anything is published.
    pub fn restore_served(&self, documents: Vec<(String, String)>) -> Vec<Problem> {
        let mut sources = self.0.sources();
        sources.served.restore(documents);
        self.0.registry.store(Arc::default());
        self.0.rebuild(&mut sources);
        self.0.problems.load().as_ref().clone()
    }

    /// Waits until there is something to write down of what is served.
    pub async fn served_changed(&self) {
        self.0.served.notified().await;
    }

    /// What is to be written down since the last time, by key; nothing for what is forgotten.
    pub fn take_served(&self) -> Vec<(String, Option<String>)> {
        self.0.sources().served.take_changes()
    }

    /// Connects the tools to the catalog they are listed in. Later calls change nothing. Must be
    /// called within a runtime when a tool wants processes to wait for it from the start.
    pub fn publish_to(&self, publisher: Publisher) {
        self.0.publisher.get_or_init(|| publisher);
        self.0.publish();
    }

    /// Scans the folders when something happens in them, and periodically besides, for as long
    /// as this is polled, and publishes what changed.
    pub async fn watch(&self) {
        let watch = Watch::new().inspect_err(|error| {
            tracing::warn!(%error, "tool folders cannot be watched; changes are seen at the next rescan");
        });
        let mut tick = tokio::time::interval(self.0.settings.rescan);
        loop {
            if let Ok(watch) = &watch {
                self.0.add_to(watch);
                tokio::select! {
                    _ = tick.tick() => {}
                    // Most changes come in groups, such as a script and its manifest.
                    _ = watch.changed() => tokio::time::sleep(SETTLED).await,
                }
            } else {
                tick.tick().await;
            }
            let inner = self.0.clone();
            // Looking at files may block, and must not hold up calls.
            let looked = tokio::task::spawn_blocking(move || inner.scan()).await;
            if let Err(error) = looked {
                tracing::error!(%error, "scanning the tool folders failed");
            }
        }
    }
}

impl Inner {
    /// Looks at the folders, and publishes when something has changed.
    fn scan(&self) {
        let mut sources = self.sources();
        if !sources.folders.scan() {
            return;
        }
        let before = self.problems.load_full();
        self.rebuild(&mut sources);
        let problems = self.problems.load_full();
        // When the first look is over, whoever opened the registry tells of the problems.
        if self.publisher.get().is_some() {
            let new = |it: &&Problem| !before.contains(it);
            let (warnings, left_out): (Vec<_>, Vec<_>) =
                problems.iter().filter(new).partition(|it| it.is_warning);
            for problem in Problem::by_cause(warnings) {
                tracing::warn!("{problem}");
            }
            for problem in Problem::by_cause(left_out) {
                tracing::warn!(problem, "invalid tool left out");
            }
            tracing::info!(tools = self.registry.load().count(), "tool folders reloaded");
        }
        self.publish();
    }

    /// Puts a new registry in force, of all that the folders hold and all that was added.
    fn rebuild(&self, sources: &mut Sources) {
        let Sources { folders, found, added, served } = sources;
        let ScanResult { manifests, problems } = folders.latest();
        found.clear();
        for manifest in manifests {
            found.entry(manifest.name.clone()).or_default().push(manifest.clone());
        }
        let all: Vec<_> = manifests.iter().chain(added.values().flatten()).cloned().collect();
        let (registry, refused) = self.registry.load().rebuild(&all, served, &self.settings);
        self.registry.store(Arc::new(registry));
        let refused = refused.into_iter().map(|(_, problem)| problem);
        self.problems.store(Arc::new(problems.iter().cloned().chain(refused).collect()));
        if served.has_changes() {
            self.served.notify_one();
        }
    }

    /// Puts a registry in force in which only the tools of one name may differ, unless the last one
    /// that was added is refused.
    fn rebuild_one(
        &self,
        sources: &mut Sources,
        name: &str,
        added: &[Arc<Manifest>],
    ) -> Vec<Refusal> {
        let found = sources.found.get(name).into_iter().flatten();
        let all: Vec<_> = found.chain(added).cloned().collect();
        let registry = self.registry.load();
        let (next, refused) = registry.rebuild_one(name, &all, &mut sources.served, &self.settings);
        if added.last().is_none_or(|new| !refused.iter().any(|it| Arc::ptr_eq(&it.0, new))) {
            self.registry.store(Arc::new(next));
        }
        if sources.served.has_changes() {
            self.served.notify_one();
        }
        refused
    }

    /// Publishes the tools of one name.
    fn publish_one(&self, name: &str) {
        if let Some(publisher) = self.publisher.get() {
            let registry = self.registry.load();
            publisher.replace(&registry.versions(name));
            self.runner.refresh_one(name, &registry.manifests_of(name));
        }
    }

    fn publish(&self) {
        if let Some(publisher) = self.publisher.get() {
            let registry = self.registry.load();
            publisher.publish(registry.listing());
            self.runner.refresh(&registry.manifests().cloned().collect::<Vec<_>>());
        }
    }

    fn add_to(&self, watch: &Watch) {
        let added = watch.add(self.sources().folders.paths());
        if let Err(error) = added {
            tracing::debug!(%error, "a tool folder cannot be watched");
        }
    }

    fn sources(&self) -> MutexGuard<'_, Sources> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Provider for Tools {
    fn name(&self) -> &str {
        "tools"
    }

    fn serve(&self, call: &Resolved, context: &CallContext) -> BoxFuture<'static, Outcome> {
        let (inner, context) = (self.0.clone(), context.clone());
        let (manifest, output) = match &call.target {
            Target::Tool(entry) => {
                let version = entry.version.as_deref().unwrap_or_default();
                (inner.registry.load().find(&entry.name, version), entry.output.clone())
            }
            _ => (None, None),
        };
        let name = call.target.name().to_owned();
        let arguments = call.call.head.arguments.clone().unwrap_or(RawJson::EMPTY_OBJECT);
        Box::pin(async move {
            match manifest {
                Some(manifest) => {
                    if manifest.task {
                        context.become_task(None, None, None);
                    }
                    inner.runner.run(&manifest, arguments, output, context).await
                }
                None => {
                    let text = format!("`{name}` has just been removed");
                    Err(CallError::new(ErrorKind::ToolNotFound, text))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests;
