//! One line of the record, as far as it is looked at.

use gantry::RawJson;
use gantry_protocol::JsonLimits;

/// A record of a call.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// All of it, without number and code.
    pub(super) object: RawJson,
    /// When.
    pub(super) at: String,
    /// Which call.
    pub(super) call: String,
    /// Whether the call has only begun.
    pub(super) is_begun: bool,
}

impl Record {
    /// Reads the members of a line; none if it tells of no call.
    pub(super) fn parse(members: &[u8]) -> Option<Self> {
        let object = [b"{", members, b"}"].concat();
        let object = RawJson::parse(object, JsonLimits::default()).ok()?;
        let text = |key: &str| object.get(key)?.to_text();
        let (at, call, phase) = (text("at")?, text("call")?, text("phase")?);
        Some(Self { at, call, is_begun: phase == "begun", object })
    }

    /// A member that is a text; an empty one if it is not there.
    pub(super) fn text(&self, key: &str) -> String {
        self.object.get(key).and_then(|it| it.to_text()).unwrap_or_default()
    }

    /// What the call was for.
    pub(super) fn target(&self) -> String {
        let names = ["tool", "resource", "prompt", "target"].into_iter();
        names.map(|key| self.text(key)).find(|it| !it.is_empty()).unwrap_or_default()
    }

    /// The same, with an outcome that was not written.
    pub(super) fn ended(mut self, outcome: &str) -> Self {
        self.object = self.object.edit().set("outcome", RawJson::string(outcome)).apply();
        self
    }
}
