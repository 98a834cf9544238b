//! What a layout makes impossible, and why. Such a scenario need not come to a verdict; a failure or
//! a warning in it spoils the run like any other.

/// A scenario that has nothing to judge in a layout.
pub(super) struct Impossible {
    /// The layout's name.
    pub(super) layout: &'static str,
    pub(super) scenario: &'static str,
    pub(super) reason: &'static str,
}

/// All of them.
pub(super) const IMPOSSIBLE: &[Impossible] = &[
    Impossible {
        layout: "through-both",
        scenario: "server-sse-polling",
        reason: "spoken to without handshake, a server has no word for `call me back`",
    },
    Impossible {
        layout: "through-modern",
        scenario: "server-sse-polling",
        reason: "without handshake a server has no word for `call me back`",
    },
];
