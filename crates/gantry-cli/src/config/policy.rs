//! `policy`: who may do what.

pub(crate) mod rule;
pub(crate) mod trust;

use std::collections::BTreeMap;

use gantry_policy::{PinMode, PinSettings, Rule, RuleSet, Suspicious};
use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};

use crate::config::ConfigError;
use crate::config::read::Reader;

pub use crate::config::policy::trust::TrustConfig;

/// All keys of the section. Those of trust and approvals are read by `trust`.
const KEYS: [&str; 7] =
    ["rules", "default", "trust", "approve", "approvals", "destructive", "readOnly"];

/// What the section says.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// The rules, in their order.
    pub rules: Vec<Rule>,
    /// Whether what no rule is about is allowed, if that is said.
    pub default_allows: Option<bool>,
    /// The rules as they are written, to tell whether they have changed.
    written: Vec<RawJson>,
}

impl Policy {
    /// The rules, ready to be put in force.
    pub fn rule_set(&self) -> RuleSet {
        RuleSet::new(self.rules.clone(), self.default_allows.unwrap_or(true))
    }

    /// Who may approve what each rule stops, where a rule says so. Of two rules of one name, in
    /// files that include one another, nobody is an approver whom one of them does not know.
    pub fn approvers(&self) -> BTreeMap<String, Vec<String>> {
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for rule in self.rules.iter().filter(|rule| !rule.approvers.is_empty()) {
            all.entry(rule.name.to_string())
                .and_modify(|known| known.retain(|it| rule.approvers.contains(it)))
                .or_insert_with(|| rule.approvers.clone());
        }
        all
    }

    /// Whether another one may let others see and call things.
    pub fn differs(&self, other: &Self) -> bool {
        (&self.written, self.default_allows) != (&other.written, other.default_allows)
    }

    /// Takes over what another file says: its rules come after these.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.rules.extend(other.rules);
        self.written.extend(other.written);
        self.default_allows = self.default_allows.or(other.default_allows);
    }

    /// The section as it is in force, together with what it says of trust; none if nothing is said.
    pub(crate) fn to_json(&self, trust: &TrustConfig) -> Option<RawJson> {
        let default = self.default_allows.map(|allows| if allows { "allow" } else { "deny" });
        let rules = Some(RawJson::array(&self.written)).filter(|_| !self.rules.is_empty());
        let section = trust.to_json().unwrap_or(RawJson::EMPTY_OBJECT);
        let section = section
            .edit()
            .set_some("default", default.map(RawJson::string))
            .set_some("rules", rules)
            .apply();
        (section != RawJson::EMPTY_OBJECT).then_some(section)
    }
}

pub(crate) fn read(reader: &Reader<'_>, value: &RawJson) -> Result<Policy, ConfigError> {
    if !value.is_object() {
        return Err(reader.form(value, "policy", "an object, such as {\"rules\": []}"));
    }
    reader.check_keys(value, &KEYS, &[])?;
    let allows = |value: &RawJson| match value.as_text() {
        Some("allow") => Some(true),
        Some("deny") => Some(false),
        _ => None,
    };
    let default_allows = reader.value(value, "default", "\"allow\" or \"deny\"", allows)?;
    let rules = rule::read_all(reader, value)?;
    let written = value.get("rules").iter().flat_map(|it| it.elements()).collect();
    Ok(Policy { rules, default_allows, written })
}

const PIN_KEYS: [&str; 5] = ["mode", "suspicious", "own", "most", "mostBytes"];

const MODES: &str = "\"compatible\", \"hold\", \"locked\" or \"off\"";

pub(crate) fn read_pins(reader: &Reader<'_>, value: &RawJson) -> Result<PinSettings, ConfigError> {
    let usual = PinSettings::default();
    match value.kind() {
        JsonKind::String => match mode(value) {
            Some(mode) => Ok(PinSettings { mode, ..usual }),
            None => Err(reader.form(value, "pins", MODES)),
        },
        JsonKind::Object => {
            reader.check_keys(value, &PIN_KEYS, &[])?;
            let sorts = "\"hidden\", \"flag\" or \"hold\"";
            let own = reader.value(value, "own", "true or false", RawJson::read)?;
            let most = reader.value(value, "most", "a number of pins", RawJson::read)?;
            let most_bytes =
                reader.value(value, "mostBytes", "a number of bytes", RawJson::read)?;
            Ok(PinSettings {
                mode: reader.value(value, "mode", MODES, mode)?.unwrap_or(usual.mode),
                suspicious: reader
                    .value(value, "suspicious", sorts, suspicious)?
                    .unwrap_or(usual.suspicious),
                own: own.unwrap_or(usual.own),
                most: most.unwrap_or(usual.most),
                most_bytes: most_bytes.unwrap_or(usual.most_bytes),
            })
        }
        _ => Err(reader.form(
            value,
            "pins",
            "\"compatible\", \"hold\", \"locked\", \"off\", or an object",
        )),
    }
}

fn mode(value: &RawJson) -> Option<PinMode> {
    PinMode::parse(value.as_text()?)
}

fn suspicious(value: &RawJson) -> Option<Suspicious> {
    Suspicious::ALL.into_iter().find(|it| value.as_text() == Some(it.word()))
}

/// The value as it stands in a configuration.
pub(crate) fn to_json(pins: &PinSettings) -> RawJson {
    ObjectWriter::new()
        .value("mode", pins.mode.word())
        .value("suspicious", pins.suspicious.word())
        .value("own", &pins.own)
        .value("most", &pins.most)
        .value("mostBytes", &pins.most_bytes)
        .finish()
}
