//! Why the record cannot be written or read.

use std::path::PathBuf;
use std::sync::Arc;

/// Why the record cannot be written or read. Every call that waits for one write is told the same.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AuditError {
    /// A file cannot be written.
    #[error("`{}` cannot be written: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: Arc<std::io::Error>,
    },
    /// A file cannot be read.
    #[error("`{}` cannot be read: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: Arc<std::io::Error>,
    },
    /// Another program holds the list of volumes for longer than we wait.
    #[error("`{}` is held by another program; try again when it has ended", .0.display())]
    Locked(PathBuf),
    /// More waits to be written than may.
    #[error("{0} bytes of records wait to be written, as many as may")]
    Crowded(usize),
    /// The journal has been closed.
    #[error("the record is closed")]
    Closed,
}

impl AuditError {
    pub(super) fn write(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Write { path, source: Arc::new(source) }
    }

    pub(super) fn read(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Read { path, source: Arc::new(source) }
    }
}
