//! What files are served, and the limits of that.

use std::path::PathBuf;
use std::time::Duration;

use gantry_files::ScanOptions;

/// A folder whose files are resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootSettings {
    /// What clients see as the name of its template; the name of the folder if none is given.
    pub name: Option<String>,
    /// Where it is.
    pub path: PathBuf,
    /// Whether files and folders are listed whose name begins with a dot. They can be read in any case.
    pub hidden: bool,
    /// Whether `.gitignore` and `.ignore` decide what is listed.
    pub ignore_files: bool,
}

/// Limits for all roots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSettings {
    /// How many files of a root are listed. Others can be read.
    pub max_files: usize,
    /// How many folders deep a root is listed.
    pub max_depth: usize,
    /// How many bytes one read may return.
    pub max_read: u64,
    /// How long after a change files are looked at.
    pub settle: Duration,
    /// How often a root is scanned again that the kernel cannot watch.
    pub rescan: Duration,
}

impl RootSettings {
    /// A root with the usual settings.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { name: None, path: path.into(), hidden: false, ignore_files: true }
    }

    pub(super) fn scan_options(&self, limits: &FileSettings) -> ScanOptions {
        ScanOptions {
            hidden: self.hidden,
            ignore_files: self.ignore_files,
            max_files: limits.max_files,
            max_depth: limits.max_depth,
        }
    }
}

impl Default for FileSettings {
    fn default() -> Self {
        Self {
            max_files: 100_000,
            max_depth: 64,
            max_read: 10 * 1024 * 1024,
            settle: Duration::from_millis(100),
            rescan: Duration::from_secs(10),
        }
    }
}
