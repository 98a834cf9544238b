//! Versions of files, by which a writer says which state it has seen.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::root::FileStatus;

/// The version of a file (an entity tag): of its content where all of it was read, else of what the file
/// system tells. The clock of a file system has steps of milliseconds, so two quick writes of the same
/// length are told apart by their content only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version(String);

/// How a version begins that was made from the whole content.
const CONTENT: &str = "c-";
/// How one begins that was made from the status.
const STATUS: &str = "s-";

impl Version {
    /// The version of this content.
    pub fn of_content(content: &[u8]) -> Self {
        let digest = Sha256::digest(content);
        let digits = digest.iter().take(16).map(|byte| format!("{byte:02x}"));
        Self(format!("{CONTENT}{}", digits.collect::<String>()))
    }

    /// The version of a file with this status.
    pub fn of_status(status: &FileStatus) -> Self {
        let FileStatus { size, modified_ns, changed_ns, inode, .. } = status;
        Self(format!("{STATUS}{size:x}-{modified_ns:x}-{changed_ns:x}-{inode:x}"))
    }

    /// A version that a client sends back.
    pub fn parse(text: &str) -> Option<Self> {
        let is_known = text.starts_with(CONTENT) || text.starts_with(STATUS);
        (is_known && text.len() <= 128).then(|| Self(text.to_owned()))
    }

    /// Whether it was made from the content.
    pub(crate) fn is_of_content(&self) -> bool {
        self.0.starts_with(CONTENT)
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
