//! What is kept of each task: a record of whoever writes it, and when it may go.

/// One task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Its name.
    pub id: String,
    /// After this moment nobody needs it, in milliseconds since 1970.
    pub expires: u64,
    /// All that is known of it, as JSON.
    pub record: String,
}
