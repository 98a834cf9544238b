//! What is recorded, and when.

use std::time::Duration;

/// What is recorded, and when; with its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSettings {
    /// Whether calls wait for their record.
    pub mode: AuditMode,
    /// What is kept of arguments.
    pub arguments: AuditedArguments,
    /// Whether lists are recorded too. They reach no provider, and some clients ask often.
    pub lists: bool,
    /// Bytes of a name that a client chose, as it is written; what is longer is cut.
    pub name: usize,
    /// Bytes of a line; a longer one is written with a digest of the arguments and short names.
    pub line: usize,
    /// Bytes of redacted arguments; of what is longer there is a digest.
    pub redacted: usize,
    /// How often calls are counted in a line that are refused too often to have one each.
    pub summary: Duration,
    /// What happens to calls when the log is larger than it may be.
    pub when_full: WhenFull,
    /// How often it is kept in the store how far the log is.
    pub anchor: Duration,
}

/// What happens to calls when the log is larger than it may be, and nothing of it may be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhenFull {
    /// They go on. The log and the metrics say so.
    #[default]
    Alarm,
    /// They are refused.
    Refuse,
}

/// Whether calls wait for their record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuditMode {
    /// Nothing is recorded.
    Off,
    /// Records are gathered and written soon after.
    #[default]
    Batched,
    /// No provider is reached and no answer given before that is on the disk.
    Strict,
}

/// What is kept of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AuditedArguments {
    /// A digest, which tells whether two calls had the same.
    #[default]
    Digest,
    /// The arguments, without what looks like a secret.
    Redacted,
    /// Nothing.
    None,
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self {
            mode: AuditMode::default(),
            arguments: AuditedArguments::default(),
            lists: false,
            name: 256,
            line: 16 << 10,
            redacted: 8 << 10,
            summary: Duration::from_secs(60),
            when_full: WhenFull::default(),
            anchor: Duration::from_secs(10),
        }
    }
}

impl AuditMode {
    /// The mode that a configuration calls this.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "off" => Some(Self::Off),
            "batched" => Some(Self::Batched),
            "strict" => Some(Self::Strict),
            _ => None,
        }
    }
}

impl WhenFull {
    /// What a configuration calls this.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "alarm" => Some(Self::Alarm),
            "refuse" => Some(Self::Refuse),
            _ => None,
        }
    }
}

impl AuditedArguments {
    /// What a configuration calls this.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "digest" => Some(Self::Digest),
            "redacted" => Some(Self::Redacted),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}
