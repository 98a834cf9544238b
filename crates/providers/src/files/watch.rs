//! Changes of files, as the kernel reports them (inotify, through `notify`), gathered until someone looks.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gantry_files::RelativePath;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

/// More changed paths than this are not remembered one by one: everything is looked at again.
const PATHS: usize = 10_000;

/// What changed since someone looked.
#[derive(Debug, Default)]
pub(super) struct Changes {
    gathered: Mutex<Taken>,
    notice: Notify,
}

/// What changed, for who looks.
#[derive(Debug, Default)]
pub(super) struct Taken {
    paths: BTreeSet<PathBuf>,
    /// The kernel has lost count, or something is wrong: anything may have changed.
    is_rescan: bool,
}

impl Taken {
    /// What changed below a root; none if all of it is to be looked at.
    pub(super) fn of(&self, root: &Path) -> Option<BTreeSet<RelativePath>> {
        if self.is_rescan || self.paths.contains(root) {
            return None;
        }
        let below = self.paths.iter().filter_map(|path| path.strip_prefix(root).ok());
        Some(below.filter_map(|path| RelativePath::new(path.as_os_str()).ok()).collect())
    }
}

impl Changes {
    /// Waits until something has changed.
    pub(super) async fn noticed(&self) {
        self.notice.notified().await;
    }

    pub(super) fn ask_for_rescan(&self) {
        self.taken().is_rescan = true;
    }

    pub(super) fn take(&self) -> Taken {
        std::mem::take(&mut self.taken())
    }

    fn add(&self, event: notify::Result<Event>) {
        let mut taken = self.taken();
        match event {
            Ok(event) if event.need_rescan() => taken.is_rescan = true,
            // To read a file changes nothing.
            Ok(Event { kind: EventKind::Access(access), .. }) if !is_end_of_write(access) => return,
            Ok(event) => taken.paths.extend(event.paths),
            Err(error) => {
                tracing::debug!(%error, "a change of file resources was lost");
                taken.is_rescan = true;
            }
        }
        if taken.paths.len() > PATHS {
            taken.paths.clear();
            taken.is_rescan = true;
        }
        drop(taken);
        self.notice.notify_one();
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_end_of_write(access: notify::event::AccessKind) -> bool {
    use notify::event::{AccessKind, AccessMode};
    access == AccessKind::Close(AccessMode::Write)
}

/// A watch on folders.
pub(super) struct Watch {
    watcher: Option<RecommendedWatcher>,
    folders: HashSet<PathBuf>,
    is_incomplete: bool,
}

impl Watch {
    /// Watches nothing yet.
    pub(super) fn open(changes: &Arc<Changes>) -> Self {
        let changes = changes.clone();
        let watcher = notify::recommended_watcher(move |event| changes.add(event));
        let watcher = watcher.inspect_err(warn).ok();
        Self { is_incomplete: watcher.is_none(), watcher, folders: HashSet::new() }
    }

    /// Whether there are folders whose changes nobody reports.
    pub(super) fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Watches these folders and no others.
    pub(super) fn extend(&mut self, folders: &[PathBuf]) {
        let Some(watcher) = &mut self.watcher else { return };
        let wanted: HashSet<&PathBuf> = folders.iter().collect();
        self.folders.retain(|folder| {
            let stays = wanted.contains(folder);
            if !stays {
                // The kernel forgets a folder that is gone by itself.
                let _ = watcher.unwatch(folder);
            }
            stays
        });
        let mut is_incomplete = false;
        for folder in folders {
            if is_incomplete || self.folders.contains(folder) {
                continue;
            }
            match watcher.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => drop(self.folders.insert(folder.clone())),
                Err(error) if matches!(error.kind, notify::ErrorKind::MaxFilesWatch) => {
                    is_incomplete = true;
                    if !self.is_incomplete {
                        warn(&error);
                    }
                }
                // Gone since it was listed.
                Err(error) => tracing::debug!(%error, "a folder is not watched"),
            }
        }
        self.is_incomplete = is_incomplete;
    }
}

fn warn(error: &notify::Error) {
    tracing::warn!(
        %error,
        "the kernel cannot watch all folders of file resources, so that they are scanned every few seconds; \
         raise it with `sysctl fs.inotify.max_user_watches=524288` and \
         `sysctl fs.inotify.max_user_instances=512`"
    );
}
