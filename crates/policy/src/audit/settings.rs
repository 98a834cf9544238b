//! What is recorded, and when.

/// What is recorded, and when; with its default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditSettings {
    /// Whether calls wait for their record.
    pub mode: AuditMode,
    /// What is kept of arguments.
    pub arguments: AuditedArguments,
    /// Whether lists are recorded too. They reach no provider, and some clients ask often.
    pub lists: bool,
    /// Letters of a name that a client chose; what is longer is cut.
    pub name: usize,
    /// Bytes of redacted arguments; of what is longer there is a digest.
    pub redacted: usize,
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
            redacted: 8 << 10,
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
