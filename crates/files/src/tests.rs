//! What both kinds of tests need: a root in a folder of its own, with a secret beside it.

mod attacks;
mod listing;
mod reading;
mod writing;

use std::fs;
use std::path::{Path, PathBuf};

use crate::{RelativePath, Root};

/// What no attack may read, write or remove.
const SECRET: &str = "the secret outside of the root";

/// A folder with `root` and, beside it, `secret`. Removed when dropped.
struct Fixture {
    folder: PathBuf,
    root: Root,
}

impl Fixture {
    fn new() -> Self {
        let folder =
            std::env::temp_dir().join(format!("gantry-files-{:016x}", rand::random::<u64>()));
        fs::create_dir_all(folder.join("root/folder")).expect("a folder of its own");
        fs::write(folder.join("secret"), SECRET).expect("a file");
        fs::write(folder.join("root/file"), "inside").expect("a file");
        let root = Root::open(&folder.join("root")).expect("a root");
        Self { folder, root }
    }

    /// A path in the root, for the test itself.
    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    fn outside(&self) -> PathBuf {
        self.folder.join("secret")
    }

    fn is_secret_whole(&self) -> bool {
        fs::read_to_string(self.outside()).is_ok_and(|text| text == SECRET)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn path(text: &str) -> RelativePath {
    RelativePath::new(text).expect("a path below a root")
}

/// Names of the files in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
