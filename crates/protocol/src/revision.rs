//! The published protocol revisions, and what each supports.

use std::fmt;

/// A published revision of the protocol. Later ones compare greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Revision {
    /// The first: HTTP+SSE, no annotations.
    V2024_11_05,
    /// Streamable HTTP, batches, audio, tool annotations.
    V2025_03_26,
    /// Structured output, elicitation, resource links; no batches.
    V2025_06_18,
    /// URL elicitation, sampling with tools, icons, resumable polling.
    V2025_11_25,
    /// Stateless: no `initialize`, no session, input requests in results.
    V2026_07_28,
}

impl Revision {
    /// All of them, oldest first.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];
    /// The newest.
    pub const LATEST: Self = Self::V2026_07_28;
    /// The newest that opens with `initialize`.
    pub const LATEST_WITH_HANDSHAKE: Self = Self::V2025_11_25;

    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// The revision of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|revision| revision.as_str() == name)
    }

    /// Whether it is of the modern era: every request is self-contained, without `initialize` and session.
    pub fn is_stateless(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Whether an array of messages is a message.
    pub fn has_batches(self) -> bool {
        self == Self::V2025_03_26
    }

    /// Whether tools have `outputSchema` and results `structuredContent`.
    pub fn has_structured_content(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether `structuredContent` may be any value and not only an object.
    pub fn has_any_structured_content(self) -> bool {
        self >= Self::V2026_07_28
    }

    /// Whether content may be a link to a resource.
    pub fn has_resource_links(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether content may be audio.
    pub fn has_audio(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether a server may ask for input by form.
    pub fn has_elicitation(self) -> bool {
        self >= Self::V2025_06_18
    }

    /// Whether a server may send the user to a URL, and forms know titled and multiple choices.
    pub fn has_rich_elicitation(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Whether a sampling message may hold several blocks, and use tools.
    pub fn has_sampling_tools(self) -> bool {
        self >= Self::V2025_11_25
    }

    /// Whether the server declares that it completes arguments.
    pub fn has_completions_flag(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether progress carries a message.
    pub fn has_progress_message(self) -> bool {
        self >= Self::V2025_03_26
    }

    /// Whether a stream opens with an empty event and may be resumed.
    pub fn has_priming_events(self) -> bool {
        self == Self::V2025_11_25
    }

    /// Whether tasks are part of the revision itself, requested by the client. Later they are an
    /// extension, and the server decides.
    pub fn has_tasks(self) -> bool {
        self == Self::V2025_11_25
    }

    /// Whether an error with no known request leaves `id` out rather than setting it to null.
    pub fn omits_unknown_id(self) -> bool {
        self >= Self::V2025_11_25
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}
