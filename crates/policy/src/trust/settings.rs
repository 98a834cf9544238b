//! The trust settings of the configuration.

use gantry_gateway::{Effect, Target};

use super::decide::Approve;
use super::decisions::Level;

/// What the configuration says about trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustSettings {
    /// How far the gateway is trusted when nobody decided.
    pub level: Level,
    /// What a person must approve.
    pub approve: Vec<Wanted>,
    /// Names of tools, as patterns, that may destroy something, whatever they say.
    pub destructive: Vec<String>,
    /// Names of tools, as patterns, that only look, whatever they say.
    pub read_only: Vec<String>,
}

/// What a person must approve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// Calls of tools that are marked as destructive and not trusted.
    Destructive,
    /// Calls of tools that do not say whether they destroy anything and are not trusted.
    Unannotated,
    /// Calls that change something, of tools that are not trusted.
    Changes,
    /// All calls of tools.
    All,
    /// All calls of tools whose names fit.
    Matching(String),
}

impl Default for TrustSettings {
    fn default() -> Self {
        Self {
            level: Level::Verified,
            approve: vec![Wanted::Destructive],
            destructive: Vec::new(),
            read_only: Vec::new(),
        }
    }
}

impl Wanted {
    /// What a word of the configuration means; anything that is no word is a pattern.
    pub fn parse(word: &str) -> Self {
        match word {
            "destructive" => Self::Destructive,
            "unannotated" => Self::Unannotated,
            "changes" => Self::Changes,
            "all" => Self::All,
            pattern => Self::Matching(pattern.to_owned()),
        }
    }

    /// The word in the configuration.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Destructive => "destructive",
            Self::Unannotated => "unannotated",
            Self::Changes => "changes",
            Self::All => "all",
            Self::Matching(pattern) => pattern,
        }
    }
}

impl TrustSettings {
    /// What a call for this may do. Where both lists name a tool, the worse counts.
    pub fn effect(&self, target: &Target) -> Effect {
        let Target::Tool(tool) = target else { return Effect::ReadOnly };
        let names = target.names();
        match () {
            () if self.destructive.iter().any(|it| names.is_restricted_by(it)) => Effect::Destroys,
            // No server gets around an approval by what it calls its tool.
            () if self.read_only.iter().any(|it| names.is_permitted_by(it)) => Effect::ReadOnly,
            () => tool.effect(),
        }
    }

    /// What of the calls for this must be approved.
    pub(super) fn approve(&self, target: &Target) -> Approve {
        let is_always = |wanted: &Wanted| match (wanted, target) {
            (Wanted::All, Target::Tool(_)) => true,
            (Wanted::Matching(pattern), Target::Tool(_)) => {
                target.names().is_restricted_by(pattern)
            }
            _ => false,
        };
        Approve {
            destructive: self.approve.contains(&Wanted::Destructive),
            unannotated: self.approve.contains(&Wanted::Unannotated),
            changes: self.approve.contains(&Wanted::Changes),
            always: self.approve.iter().any(is_always),
        }
    }
}
