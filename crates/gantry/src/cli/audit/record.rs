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
    /// Reads the members of a line; none if it tells of no call, and of no calls that were counted.
    pub(super) fn parse(members: &[u8]) -> Option<Self> {
        let object = [b"{", members, b"}"].concat();
        let object = RawJson::parse(object, JsonLimits::default()).ok()?;
        let text = |key: &str| object.get(key)?.to_text();
        let at = text("at")?;
        if text("event").as_deref() == Some("suppressed") {
            let call = format!("suppressed {} {at}", text("principal").unwrap_or_default());
            return Some(Self { at, call, is_begun: false, object }.counted());
        }
        let (call, phase) = (text("call")?, text("phase")?);
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

    /// The same, with an outcome that says how many calls it stands for.
    fn counted(self) -> Self {
        let calls = self.object.get("suppressed").and_then(|it| it.read::<u64>()).unwrap_or(0);
        self.ended(&format!("{calls} refused calls suppressed"))
    }

    /// The same, with an outcome that was not written.
    pub(super) fn ended(mut self, outcome: &str) -> Self {
        self.object = self.object.edit().set("outcome", RawJson::string(outcome)).apply();
        self
    }
}
