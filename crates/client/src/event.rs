//! What a server says that belongs to no request.

use gantry_protocol::{Level, RawJson};

/// A list that changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the protocol's own")]
pub enum ChangedList {
    Tools,
    Prompts,
    Resources,
}

/// Something a server says that belongs to no request, in the newest form.
#[derive(Debug, Clone)]
pub enum Event {
    /// A list changed.
    ListChanged(ChangedList),
    /// A resource that is watched has new content.
    ResourceUpdated {
        /// Which.
        uri: String,
        /// The notification's params.
        params: RawJson,
    },
    /// A log message that no request can be found for.
    Log(Level, RawJson),
    /// Whatever was watched or cached may have changed unseen: a new connection took over.
    Reconnected,
}
