//! Files below root folders as resources (`file:///…`): listed, read in ranges, watched, completed. What
//! keeps them inside their roots is in the crate `gantry-files`.

mod entry;
mod index;
mod read;
mod settings;
mod watch;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_files::{FileError, RelativePath, Root, path_of_uri};
use gantry_gateway::{
    CallContext, CallError, Completeness, ErrorKind, Listing, Matcher, Outcome, Provider,
    Publisher, Reply, Resolved, Target, TemplateEntry,
};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Method, RawJson};
use tokio::sync::watch::{Sender, channel};
use tokio::time::{Instant, MissedTickBehavior};

use index::{Changed, Index};
pub use settings::{FileSettings, RootSettings};
use watch::{Changes, Watch};

/// The protocol allows no more values in a completion.
const COMPLETIONS: usize = 100;
/// How long a first list waits for the first scan.
const LISTED_WITHIN: Duration = Duration::from_secs(5);

/// Why files cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    /// A root cannot be opened.
    #[error("the root `{path}` of file resources: {error}")]
    Root {
        /// Its path, as it was given.
        path: String,
        /// Why.
        error: FileError,
    },
    /// A template for a root is invalid.
    #[error("the root `{path}` of file resources: {error}")]
    Template {
        /// Its path.
        path: String,
        /// Why.
        error: gantry_gateway::EntryError,
    },
}

/// Files below roots. Clones share them.
#[derive(Debug, Clone)]
pub struct Files(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: FileSettings,
    roots: Vec<ServedRoot>,
    indexes: Mutex<Vec<Index>>,
    publisher: OnceLock<Publisher>,
    /// URIs that clients watch now.
    watched: Mutex<Arc<BTreeSet<String>>>,
    /// Whether the first scan is over.
    is_scanned: Sender<bool>,
}

/// A root with its template, which covers files too that no list has.
#[derive(Debug)]
struct ServedRoot {
    root: Arc<Root>,
    settings: RootSettings,
    template: Arc<TemplateEntry>,
}

impl Files {
    /// Opens the roots. Nothing is listed until [`Files::follow`] runs.
    pub fn open(roots: Vec<RootSettings>, settings: FileSettings) -> Result<Self, FilesError> {
        let open = |settings: RootSettings| {
            let path = settings.path.display().to_string();
            let root = Root::open(&settings.path)
                .map_err(|error| FilesError::Root { path: path.clone(), error })?;
            let template = entry::template(&root, &settings)
                .map_err(|error| FilesError::Template { path, error })?;
            Ok(ServedRoot { root: Arc::new(root), settings, template: Arc::new(template) })
        };
        let roots: Vec<_> = roots.into_iter().map(open).collect::<Result<_, _>>()?;
        let indexes = roots.iter().map(|_| Index::default()).collect();
        Ok(Self(Arc::new(Inner {
            settings,
            roots,
            indexes: Mutex::new(indexes),
            publisher: OnceLock::new(),
            watched: Mutex::default(),
            is_scanned: channel(false).0,
        })))
    }

    /// Connects the files to the catalog they are listed in. Later calls change nothing.
    pub fn publish_to(&self, publisher: Publisher) {
        self.0.publisher.get_or_init(|| publisher);
        self.0.publish();
    }

    /// How many files are listed.
    pub fn count(&self) -> usize {
        self.0.indexes().iter().map(Index::count).sum()
    }

    /// Scans the roots, then follows their changes for as long as this is polled.
    pub async fn follow(&self) {
        let changes = Arc::new(Changes::default());
        let mut watch = Watch::open(&changes);
        let mut tick = tokio::time::interval(self.0.settings.rescan);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let is_rescan = tokio::select! {
                // The first tick is now.
                _ = tick.tick() => !self.is_scanned() || watch.is_incomplete(),
                () = changes.noticed() => {
                    // Most changes come in groups: a save is a new file, a rename and a deletion.
                    tokio::time::sleep(self.0.settings.settle).await;
                    false
                }
            };
            if is_rescan {
                changes.ask_for_rescan();
            }
            let taken = changes.take();
            let inner = self.0.clone();
            let applied = tokio::task::spawn_blocking(move || {
                inner.apply(&taken);
                watch.extend(&inner.folders());
                watch
            });
            match applied.await {
                Ok(back) => watch = back,
                Err(error) => {
                    tracing::error!(%error, "looking at file resources failed");
                    watch = Watch::open(&changes);
                }
            }
            self.0.is_scanned.send_replace(true);
        }
    }

    fn is_scanned(&self) -> bool {
        *self.0.is_scanned.borrow()
    }
}

impl Inner {
    fn indexes(&self) -> MutexGuard<'_, Vec<Index>> {
        self.indexes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folders that hold what is listed, for the watch.
    fn folders(&self) -> Vec<std::path::PathBuf> {
        let indexes = self.indexes();
        let below = |(served, index): (&ServedRoot, &Index)| {
            let root = served.root.path().to_owned();
            let below: Vec<_> = index.folders().map(|it| root.join(it.as_path())).collect();
            std::iter::once(root).chain(below).collect::<Vec<_>>()
        };
        self.roots.iter().zip(indexes.iter()).flat_map(below).collect()
    }

    /// Looks at what changed, tells who watches it, and publishes the list if it is another.
    fn apply(&self, changes: &watch::Taken) {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut is_other = false;
        let mut modified = Vec::new();
        for (served, index) in self.roots.iter().zip(self.indexes().iter_mut()) {
            let before = index.note().clone();
            let options = served.settings.scan_options(&self.settings);
            let changed = match changes.of(served.root.path()) {
                None => index.rescan(&served.root, &options),
                Some(paths) => index.look_at(&served.root, &options, &paths),
            };
            let Changed { list, files } = changed;
            is_other |= list;
            modified.extend(files.into_iter().map(|path| entry::uri(&served.root, &path)));
            let note = index.note();
            if *note != before && !note.is_empty() {
                tracing::warn!(root = %served.root.path().display(), "file resources: {note}");
            }
        }
        if is_other {
            let mut indexes = self.indexes();
            self.roots
                .iter()
                .zip(indexes.iter_mut())
                .for_each(|(it, index)| index.refresh(&it.root));
            drop(indexes);
            self.publish();
        }
        let Some(publisher) = self.publisher.get() else { return };
        for uri in modified.iter().filter(|uri| watched.contains(*uri)) {
            publisher.resource_updated(uri, None);
        }
    }

    fn publish(&self) {
        let Some(publisher) = self.publisher.get() else { return };
        let indexes = self.indexes();
        let templates = self.roots.iter().map(|served| {
            let root = served.root.clone();
            let covers: Matcher = Arc::new(move |uri| path_of_uri(root.path(), uri).is_ok());
            (served.template.clone(), covers)
        });
        publisher.publish(Listing {
            resources: indexes.iter().flat_map(Index::entries).collect(),
            templates: templates.collect(),
            ..Listing::default()
        });
    }

    /// The root and the path that a URI names. Of nested roots the innermost has it.
    fn find(&self, uri: &str) -> Option<(&ServedRoot, RelativePath)> {
        let found = self.roots.iter().filter_map(|served| {
            let path = path_of_uri(served.root.path(), uri).ok()?;
            Some((served, path))
        });
        found.min_by_key(|(_, path)| path.as_bytes().len())
    }

    fn complete(&self, target: &Target, params: &RawJson) -> Outcome {
        let typed = params.get("argument").and_then(|argument| argument.get("value")?.to_text());
        let typed = typed.unwrap_or_default();
        let indexes = self.indexes();
        let served = self.roots.iter().zip(indexes.iter());
        let of_root = served.filter(|(served, _)| match target {
            Target::Template(template, _) => template.uri_template == served.template.uri_template,
            _ => false,
        });
        let (values, total) = of_root
            .map(|(_, index)| index.beginning_with(&typed, COMPLETIONS))
            .next()
            .unwrap_or_default();
        let completion = ObjectWriter::new()
            .value("values", &values)
            .value("total", &total)
            .value("hasMore", &(values.len() < total))
            .finish();
        Ok(Reply::result(ObjectWriter::new().raw("completion", &completion).finish()))
    }
}

impl Provider for Files {
    fn name(&self) -> &str {
        "files"
    }

    fn serve(&self, resolved: &Resolved, _: &CallContext) -> BoxFuture<'static, Outcome> {
        let (inner, target) = (self.0.clone(), resolved.target.clone());
        let call = resolved.call.clone();
        Box::pin(async move {
            // A file system may be slow, and must not hold up other calls.
            let work = tokio::task::spawn_blocking(move || match call.method {
                Method::Complete => inner.complete(&target, &call.params),
                Method::ResourcesRead => {
                    // As the client wrote it: the range stands at its end.
                    let asked = call.head.uri.as_ref().and_then(RawJson::to_text);
                    let uri = asked.as_deref().unwrap_or(target.name());
                    let (served, path) = inner.find(uri).ok_or_else(|| read::not_found(uri))?;
                    read::read(&served.root, &path, uri, inner.settings.max_read)
                }
                _ => Err(CallError::new(ErrorKind::MethodNotFound, "files cannot do that")),
            });
            work.await.unwrap_or_else(|error| {
                let text = "reading the file failed";
                Err(CallError::new(ErrorKind::Internal, text).with_private(error.to_string()))
            })
        })
    }

    fn watched(&self, uris: &BTreeSet<String>) {
        let uris = Arc::new(uris.clone());
        *self.0.watched.lock().unwrap_or_else(PoisonError::into_inner) = uris;
    }

    fn completeness(&self) -> Completeness {
        if self.is_scanned() { Completeness::Complete } else { Completeness::Starting }
    }

    fn listed(&self, _: Option<Instant>) -> Option<BoxFuture<'static, ()>> {
        if self.is_scanned() {
            return None;
        }
        let mut is_scanned = self.0.is_scanned.subscribe();
        let deadline = Instant::now() + LISTED_WITHIN;
        Some(Box::pin(async move {
            let scanned = is_scanned.wait_for(|is_scanned| *is_scanned);
            let _ = tokio::time::timeout_at(deadline, scanned).await;
        }))
    }
}

#[cfg(test)]
mod tests;
