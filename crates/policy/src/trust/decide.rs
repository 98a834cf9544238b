//! The trust decision of a call as one pure function of its inputs.

use gantry_gateway::Effect;

use super::decisions::Level;

/// All that matters for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrustInputs {
    /// How far the gateway as a whole is trusted.
    pub gateway: Level,
    /// What somebody decided for the server.
    pub server: Option<Level>,
    /// What somebody decided for the tool, as it is now.
    pub tool: Option<Level>,
    /// Whether definition, schema and pin are in order.
    pub in_order: bool,
    /// What the call may do.
    pub effect: Effect,
    /// Whether a rule wants a person to approve the call.
    pub rule: bool,
    /// What a person must approve, by the settings.
    pub approve: Approve,
}

/// What a person must approve, of the calls of one tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Approve {
    /// What is marked as destructive, unless it is trusted.
    pub destructive: bool,
    /// What does not say whether it destroys anything, unless it is trusted.
    pub unannotated: bool,
    /// What changes something, unless it is trusted.
    pub changes: bool,
    /// Everything, however far it is trusted.
    pub always: bool,
}

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It runs.
    Run,
    /// It runs if a person says so.
    NeedsApproval(Reason),
    /// It does not run.
    Refuse(Reason),
}

/// Why a call does not run by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The whole gateway is locked.
    LockedDown,
    /// Definition, schema or pin are not in order.
    OutOfOrder,
    /// Its server is not trusted.
    ServerUntrusted,
    /// The tool is not trusted.
    ToolUntrusted,
    /// It may destroy something, and is not trusted that far.
    Destructive,
    /// It does not say whether it destroys anything, and is not trusted that far.
    Unannotated,
    /// It changes something, and is not trusted that far.
    Changes,
    /// The settings want every such call to be approved.
    Always,
    /// A rule wants it to be approved.
    Rule,
}

impl TrustInputs {
    /// The level that counts: the most specific decision, unless all is locked or the tool is not
    /// what it should be.
    pub fn level(&self) -> Level {
        if self.gateway == Level::Untrusted || !self.in_order {
            return Level::Untrusted;
        }
        self.tool.or(self.server).unwrap_or(self.gateway)
    }
}

/// Decides. Whatever is not said to run does not.
pub fn decide(inputs: &TrustInputs) -> Outcome {
    match inputs.level() {
        Level::Untrusted => Outcome::Refuse(distrust(inputs)),
        _ if inputs.rule => Outcome::NeedsApproval(Reason::Rule),
        _ if inputs.approve.always => Outcome::NeedsApproval(Reason::Always),
        Level::Trusted => Outcome::Run,
        Level::Verified => verified(inputs),
    }
}

fn verified(inputs: &TrustInputs) -> Outcome {
    let Approve { destructive, unannotated, changes, .. } = inputs.approve;
    // Who wants to be asked about the milder wants to be asked about the worse.
    match inputs.effect {
        Effect::ReadOnly => Outcome::Run,
        Effect::Changes if changes => Outcome::NeedsApproval(Reason::Changes),
        Effect::Unannotated if unannotated || changes => {
            Outcome::NeedsApproval(Reason::Unannotated)
        }
        Effect::Changes | Effect::Unannotated => Outcome::Run,
        Effect::Destroys if destructive || unannotated || changes => {
            Outcome::NeedsApproval(Reason::Destructive)
        }
        Effect::Destroys => Outcome::Refuse(Reason::Destructive),
    }
}

fn distrust(inputs: &TrustInputs) -> Reason {
    match inputs {
        TrustInputs { gateway: Level::Untrusted, .. } => Reason::LockedDown,
        TrustInputs { in_order: false, .. } => Reason::OutOfOrder,
        TrustInputs { tool: Some(_), .. } => Reason::ToolUntrusted,
        _ => Reason::ServerUntrusted,
    }
}

impl Reason {
    /// Whether calls of a trusted tool would run by themselves.
    pub fn trust_helps(self) -> bool {
        matches!(self, Self::Destructive | Self::Unannotated | Self::Changes)
    }

    /// Whether somebody's decision about the tool or its server is the reason.
    pub fn is_decided(self) -> bool {
        matches!(self, Self::ServerUntrusted | Self::ToolUntrusted)
    }

    /// Why, for people.
    pub fn text(self) -> &'static str {
        match self {
            Self::LockedDown => "the gateway is locked down (trust level `untrusted`)",
            Self::OutOfOrder => "its definition is not the one that was accepted",
            Self::ServerUntrusted => "its server is untrusted",
            Self::ToolUntrusted => "it is untrusted",
            Self::Destructive => "it may destroy something and is not trusted",
            Self::Unannotated => "it does not say whether it destroys anything and is not trusted",
            Self::Changes => "it changes something and is not trusted",
            Self::Always => "the configuration wants every call of it to be approved",
            Self::Rule => "a rule wants it to be approved",
        }
    }

    /// The word for it in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LockedDown => "locked down",
            Self::OutOfOrder => "out of order",
            Self::ServerUntrusted => "server untrusted",
            Self::ToolUntrusted => "tool untrusted",
            Self::Destructive => "destructive",
            Self::Unannotated => "unannotated",
            Self::Changes => "changes",
            Self::Always => "always",
            Self::Rule => "rule",
        }
    }
}

#[cfg(test)]
mod tests;
