//! What is kept of each task: a record of whoever writes it, and when it may go.

/// One task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRow {
    /// Its name.
    pub id: String,
    /// Whose it is.
    pub principal: String,
    /// After this moment nobody needs it, in milliseconds since 1970.
    pub expires: u64,
    /// All that is known of it, as JSON.
    pub record: String,
}

/// How many bytes of tasks are kept. Each counts for at least 4 KiB, a page of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskLimits {
    /// In all. Beyond that the oldest of the principal that has most are removed.
    pub total: u64,
    /// Of one principal. Beyond that its own oldest are removed.
    pub per_principal: u64,
}
