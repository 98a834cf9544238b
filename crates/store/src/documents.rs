//! Small documents of whoever keeps them, by kind and key.

/// One document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Which one of its kind.
    pub key: String,
    /// What it says, as JSON.
    pub content: String,
}
