//! Every limit of the gateway, with its default.

use std::time::Duration;

use crate::names::NameStyle;

/// Every limit of the gateway, with its default.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a provider may work on a call.
    pub deadline: Duration,
    /// How long it may work on one that runs by itself, as a task.
    pub task_deadline: Duration,
    /// Calls in flight at once.
    pub calls_in_flight: usize,
    /// Notifications that a call may have queued for its client.
    pub notifications: usize,
    /// How long a client may take to answer an input request.
    pub answer_within: Duration,
    /// How many rounds of input requests one call may have with its reply.
    pub input_rounds: usize,
    /// Threads for checks of large values against schemas.
    pub check_threads: usize,
    /// Checks that may wait for one of them.
    pub checks_waiting: usize,
    /// Items on a page of a list. Many clients read only the first page.
    pub page_size: usize,
    /// Bytes of the items on a page of a list. An item that is larger has a page of its own.
    pub page_bytes: usize,
    /// How long clients may keep a list before they ask again, in milliseconds.
    pub list_ttl_ms: u64,
    /// Whether lists are the same for everyone and may be kept by shared caches.
    pub lists_are_public: bool,
    /// What the names of tools and prompts look like in lists.
    pub names: NameStyle,
    /// How long changes of a list are gathered into one notification.
    pub settle: Duration,
    /// Tools that have rows of their own in the metrics; the rest is summed up as `other`.
    pub tools_labelled: usize,
    /// Tools that are told apart in the statistics; calls of any beyond are counted together.
    pub tools_counted: usize,
    /// Calls in one batch.
    pub batch_calls: usize,
    /// Calls of one batch in flight at once.
    pub batch_parallel: usize,
    /// References to earlier results in one batch.
    pub batch_references: usize,
    /// Bytes of earlier results that may be filled into one call of a batch.
    pub batch_filled: usize,
    /// Bytes of earlier results that the references of one batch may look through.
    pub batch_searched: usize,
    /// Bytes that the results of one batch may have together.
    pub batch_results: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(30),
            task_deadline: Duration::from_secs(3600),
            calls_in_flight: 4096,
            notifications: 64,
            answer_within: Duration::from_secs(10 * 60),
            input_rounds: 16,
            check_threads: std::thread::available_parallelism()
                .map_or(1, |it| it.get().div_ceil(2)),
            checks_waiting: 256,
            page_size: 1000,
            page_bytes: 1024 * 1024,
            list_ttl_ms: 60_000,
            lists_are_public: false,
            names: NameStyle::default(),
            settle: Duration::from_millis(20),
            tools_labelled: 200,
            tools_counted: 10_000,
            batch_calls: 100,
            batch_parallel: 8,
            batch_references: 1000,
            batch_filled: 4 * 1024 * 1024,
            batch_searched: 512 * 1024 * 1024,
            batch_results: 32 * 1024 * 1024,
        }
    }
}
