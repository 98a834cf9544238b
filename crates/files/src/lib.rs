//! Files below a root folder: opened so that nothing outside of the root is ever reached, whatever a path
//! says and whatever happens to links and folders meanwhile. Listed by the rules of `.gitignore`, read in
//! bounds, written atomically. Knows nothing of MCP.

mod error;
mod path;
mod read;
mod root;
mod scan;
mod uri;
mod version;
mod write;

pub use error::FileError;
pub use path::{PathError, RelativePath};
pub use read::{Contents, ReadRange};
pub use root::{FileKind, FileStatus, Root};
pub use scan::{Scan, ScanOptions, ScannedFile};
pub use uri::{UriError, file_uri, path_of_uri};
pub use version::Version;
pub use write::{Expected, Removal, Written};

#[cfg(test)]
mod tests;
