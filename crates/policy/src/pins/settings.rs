//! How strict pins are.

use crate::injection::{InjectionFinding, Sort};

/// How strict pins are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinSettings {
    /// What happens to what was never seen.
    pub mode: PinMode,
    /// Which suspicious text holds a thing back until a person has accepted it.
    pub suspicious: Suspicious,
    /// Whether tools of the gateway's own are pinned too, and not only those of other servers.
    pub own: bool,
    /// The most pins; what is new beyond that is held back.
    pub most: usize,
}

/// What happens to what was never seen, and to what changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PinMode {
    /// What is new is pinned as it is. What changes compatibly is shown and called as it was pinned,
    /// and only what breaks that is held back.
    #[default]
    Compatible,
    /// What is new is pinned as it is, and whatever changes is held back.
    Hold,
    /// What is new or changes is held back until it is accepted.
    Locked,
    /// Nothing is pinned, and nothing held back.
    Off,
}

/// Which suspicious text holds a thing back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Suspicious {
    /// Characters that cannot be seen or that pretend to be others. Wording is only shown.
    #[default]
    Hidden,
    /// None; all is only shown.
    Flag,
    /// All.
    Hold,
}

impl Default for PinSettings {
    fn default() -> Self {
        Self {
            mode: PinMode::default(),
            suspicious: Suspicious::default(),
            own: false,
            most: 20_000,
        }
    }
}

impl PinMode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Compatible, Self::Hold, Self::Locked, Self::Off];

    /// The word for it in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Compatible => "compatible",
            Self::Hold => "hold",
            Self::Locked => "locked",
            Self::Off => "off",
        }
    }

    /// The mode of that word. `first-visibility_filter` is an older word for `hold`.
    pub fn parse(word: &str) -> Option<Self> {
        let known = Self::ALL.into_iter().find(|mode| mode.word() == word);
        known.or_else(|| (word == "first-sight").then_some(Self::Hold))
    }

    /// Whether what was never seen is pinned as it is.
    pub(super) fn pins_new(self) -> bool {
        matches!(self, Self::Compatible | Self::Hold)
    }
}

impl Suspicious {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Hidden, Self::Flag, Self::Hold];

    /// The word for it in the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Self::Hidden => "hidden",
            Self::Flag => "flag",
            Self::Hold => "hold",
        }
    }

    /// Whether one of these holds a thing back.
    pub(super) fn holds(self, findings: &[InjectionFinding]) -> bool {
        match self {
            Self::Hidden => findings.iter().any(|it| it.sort != Sort::Wording),
            Self::Flag => false,
            Self::Hold => !findings.is_empty(),
        }
    }
}
