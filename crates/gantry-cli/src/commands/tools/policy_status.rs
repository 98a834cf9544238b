//! How a tool stands with the policies: what its calls may do, whether they run, whether it says what
//! was pinned, and what in its definition a person should look at.

use std::sync::Arc;

use gantry::policy_set::PolicySet;
use gantry::{ObjectWriter, RawJson};
use gantry_gateway::{Effect, Target, ToolEntry};
use gantry_policy::pins::{HeldDefinition, Pin, Reason};
use gantry_policy::trust::{Outcome, TrustInputs, decide};
use gantry_policy::{InjectionFinding, findings};

use crate::admin::Describe;

/// What a running gateway tells of how a tool stands: as JSON, and as the rows of a table.
pub(crate) fn describe() -> Describe {
    Describe(Arc::new(|tool, policies| {
        let inputs = ToolStanding::of(tool, Some(policies));
        let row = |(key, value): &(String, String)| {
            RawJson::array([&RawJson::string(key), &RawJson::string(value)])
        };
        let rows: Vec<RawJson> = inputs.rows(&tool.name).iter().map(row).collect();
        ObjectWriter::new().raw("standing", &inputs.to_json()).array("rows", &rows).finish()
    }))
}

/// How a tool stands.
pub(crate) struct ToolStanding {
    server: Option<Arc<str>>,
    effect: Effect,
    /// Both are unknown for a server that is only visited.
    gate: Option<TrustInputs>,
    pin: Option<PinState>,
    findings: Vec<InjectionFinding>,
}

/// Whether a tool says what was pinned.
enum PinState {
    Pinned(Arc<Pin>),
    /// It has changed compatibly, and clients see it as it was pinned.
    Changed(Arc<HeldDefinition>),
    HeldDefinition(Arc<HeldDefinition>),
    /// Nothing holds it back, whatever it says.
    Free,
}

impl ToolStanding {
    pub(crate) fn of(tool: &Arc<ToolEntry>, policies: Option<&PolicySet>) -> Self {
        let target = Target::Tool(tool.clone());
        let gate = policies.map(|policies| policies.trust().inputs(&target, false));
        Self {
            server: tool.origin.as_ref().filter(|_| policies.is_some()).map(|it| it.server.clone()),
            effect: gate.map_or_else(|| tool.effect(), |gate| gate.effect),
            pin: policies.map(|policies| {
                let pins = policies.pins();
                let changed = pins.changed_of(&target).filter(|it| it.reason == Reason::Compatible);
                match (pins.held_of(&target), changed, pins.pin_of(&target)) {
                    (Some(held), ..) => PinState::HeldDefinition(held),
                    (None, Some(changed), _) => PinState::Changed(changed),
                    (None, None, Some(pin)) => PinState::Pinned(pin),
                    (None, None, None) => PinState::Free,
                }
            }),
            gate,
            findings: findings(&tool.own.definition),
        }
    }

    /// For people, beside what the tool says of itself.
    pub(crate) fn rows(&self, name: &str) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        let mut row = |key: &str, value: &str| rows.push((key.to_owned(), value.to_owned()));
        if let Some(server) = &self.server {
            row("server", server);
        }
        row("effect", effect_words(self.effect));
        if let Some(gate) = &self.gate {
            row("trust", &gate_words(gate));
        }
        if let Some(pin) = &self.pin {
            row("pin", &pin.words());
            if matches!(pin, PinState::HeldDefinition(_) | PinState::Changed(_)) {
                row("", &format!("`gantry tools pin --diff {name}` shows why"));
            }
        }
        for InjectionFinding { place, what, excerpt, .. } in &self.findings {
            row("suspicious", &format!("{place}: {what}: {excerpt}"));
        }
        rows
    }

    pub(crate) fn to_json(&self) -> RawJson {
        let flags: Vec<RawJson> = self.findings.iter().map(InjectionFinding::to_json).collect();
        ObjectWriter::new()
            .value_some("server", self.server.as_deref())
            .value("effect", effect_words(self.effect))
            .value_some("trust", self.gate.map(|gate| gate.level()))
            .value_some("gate", self.gate.as_ref().map(gate_words))
            .raw_some("pin", self.pin.as_ref().map(PinState::to_json).as_ref())
            .array("suspicions", &flags)
            .finish()
    }
}

impl PinState {
    fn words(&self) -> String {
        match self {
            Self::Pinned(pin) => format!("as pinned ({}, {})", pin.accepted_by, pin.first_seen),
            Self::Changed(changed) => {
                format!("changed ({}); clients see what was pinned", changed.members())
            }
            Self::HeldDefinition(held) if held.before.is_some() => {
                format!("held back: {} ({})", held.reason.word(), held.members())
            }
            Self::HeldDefinition(held) => format!("held back: {}", held.reason.word()),
            Self::Free => "not pinned".to_owned(),
        }
    }

    fn to_json(&self) -> RawJson {
        let object = ObjectWriter::new();
        match self {
            Self::Pinned(pin) => object
                .value("state", "pinned")
                .value("digest", &pin.digest.to_string())
                .value("firstSeen", &pin.first_seen)
                .value("acceptedBy", &pin.accepted_by),
            Self::HeldDefinition(held) | Self::Changed(held) => object
                .value("state", if held.reason.is_held() { "held back" } else { "changed" })
                .value("reason", held.reason.word())
                .value("digest", &held.seen.digest.to_string())
                .value_some("class", held.class().map(|class| class.to_string())),
            Self::Free => object.value("state", "not pinned"),
        }
        .finish()
    }
}

/// What the trust gate makes of a call that the rules allow.
pub(crate) fn gate_words(inputs: &TrustInputs) -> String {
    let level = inputs.level().as_str();
    match decide(inputs) {
        Outcome::Run => format!("it is {level}, and runs at once"),
        Outcome::NeedsApproval(reason) => {
            format!("it is {level}, and waits for a person to approve the call: {}", reason.text())
        }
        Outcome::Refuse(reason) => format!("it is {level}, and does not run: {}", reason.text()),
    }
}

/// What a call may do, in words.
pub(crate) fn effect_words(effect: Effect) -> &'static str {
    match effect {
        Effect::ReadOnly => "only looks",
        Effect::Changes => "changes things",
        Effect::Unannotated => "does not say whether it destroys anything",
        Effect::Destroys => "may destroy something",
    }
}
