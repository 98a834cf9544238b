//! `policy`: how far things are trusted, what a person must approve, and how approvals work.

use gantry_policy::approvals::ApprovalSettings;
use gantry_policy::trust::{Level, TrustSettings, Wanted};
use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};
use gantry_providers::units;

use crate::config::ConfigError;
use crate::config::read::Reader;

const APPROVALS: [&str; 12] = [
    "wait",
    "expires",
    "repeatWithin",
    "pending",
    "perCaller",
    "held",
    "grants",
    "past",
    "elicitation",
    "approvers",
    "selfApproval",
    "webhook",
];

/// What the configuration says of trust and approvals; the rest stays as it is by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustConfig {
    /// How far the gateway is trusted when nobody decided.
    pub level: Option<Level>,
    /// What a person must approve.
    pub approve: Option<Vec<Wanted>>,
    /// Tools that may destroy something, as patterns.
    pub destructive: Vec<String>,
    /// Tools that only look, as patterns.
    pub read_only: Vec<String>,
    /// How approvals work.
    pub approvals: ApprovalSettings,
}

impl TrustConfig {
    /// The settings of the trust gate; `level` counts where the configuration says none.
    pub fn settings(&self, level: Option<Level>) -> TrustSettings {
        let usual = TrustSettings::default();
        TrustSettings {
            level: self.level.or(level).unwrap_or(usual.level),
            approve: self.approve.clone().unwrap_or(usual.approve),
            destructive: self.destructive.clone(),
            read_only: self.read_only.clone(),
        }
    }

    /// What is said, as it stands in a configuration; nothing if nothing is.
    pub(crate) fn to_json(&self) -> Option<RawJson> {
        let list = |texts: &[String]| Some(texts.to_vec()).filter(|texts| !texts.is_empty());
        let approve = self.approve.as_ref();
        let approve = approve.map(|all| all.iter().map(Wanted::as_str).collect::<Vec<_>>());
        let section = ObjectWriter::new()
            .value_some("trust", self.level.map(Level::as_str))
            .value_some("approve", approve)
            .value_some("destructive", list(&self.destructive))
            .value_some("readOnly", list(&self.read_only))
            .finish();
        (section != RawJson::EMPTY_OBJECT).then_some(section)
    }
}

pub(crate) fn read(reader: &Reader<'_>, policy: &RawJson) -> Result<TrustConfig, ConfigError> {
    const LEVEL: &str = "\"untrusted\", \"verified\" or \"trusted\"";
    let level = |value: &RawJson| Level::parse(&value.to_text()?);
    let approve = texts(
        reader,
        policy,
        "approve",
        "a list of \"destructive\", \"unannotated\", \"changes\", \"all\" and names of tools with *",
    )?;
    let names = |key| texts(reader, policy, key, "a list of names of tools, with *");
    Ok(TrustConfig {
        level: reader.value(policy, "trust", LEVEL, level)?,
        approve: approve.map(|all| all.iter().map(|word| Wanted::parse(word)).collect()),
        destructive: names("destructive")?.unwrap_or_default(),
        read_only: names("readOnly")?.unwrap_or_default(),
        approvals: match policy.get("approvals") {
            Some(value) => approvals(reader, &value)?,
            None => ApprovalSettings::default(),
        },
    })
}

fn texts(
    reader: &Reader<'_>,
    object: &RawJson,
    key: &str,
    expected: &'static str,
) -> Result<Option<Vec<String>>, ConfigError> {
    let text = |value: RawJson| value.to_text().filter(|text| !text.is_empty());
    reader.value(object, key, expected, |value| {
        let elements = Some(value).filter(|it| it.kind() == JsonKind::Array)?.elements();
        elements.map(text).collect()
    })
}

fn approvals(reader: &Reader<'_>, value: &RawJson) -> Result<ApprovalSettings, ConfigError> {
    if !value.is_object() {
        return Err(reader.form(value, "approvals", "an object, such as {\"wait\": \"20s\"}"));
    }
    reader.check_keys(value, &APPROVALS, &[])?;
    let usual = ApprovalSettings::default();
    let above_zero = |value: &RawJson| value.read().filter(|number: &usize| *number > 0);
    let number = |key, usual| {
        let given = reader.value(value, key, "a number above zero", above_zero)?;
        Ok::<_, ConfigError>(given.unwrap_or(usual))
    };
    let time = |key, usual| {
        let given = reader.value(value, key, "milliseconds, or \"20s\"", units::duration)?;
        Ok::<_, ConfigError>(given.unwrap_or(usual))
    };
    let elicitation = elicitation(reader, value)?;
    let names = "a list of names of tokens, with *";
    let own = reader.value(value, "selfApproval", "true or false", RawJson::read)?;
    Ok(ApprovalSettings {
        wait: time("wait", usual.wait)?,
        expires: time("expires", usual.expires)?,
        repeat_within: time("repeatWithin", usual.repeat_within)?,
        pending: number("pending", usual.pending)?,
        pending_of_principal: number("perCaller", usual.pending_of_principal)?,
        held: reader
            .value(value, "held", "bytes, or a text such as \"64MiB\"", units::size)?
            .map_or(usual.held, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        grants: number("grants", usual.grants)?,
        past: number("past", usual.past)?,
        elicitation: elicitation.as_ref().is_none_or(|it| it.0),
        elicitation_principals: elicitation.map(|it| it.1).unwrap_or_default(),
        approvers: texts(reader, value, "approvers", names)?.unwrap_or_default(),
        self_approval: own.unwrap_or(usual.self_approval),
        webhook: webhook(reader, value)?,
        // Rules are read elsewhere.
        rule_approvers: usual.rule_approvers,
    })
}

/// Whether elicitation counts at all, and for which principals beside the local user.
fn elicitation(
    reader: &Reader<'_>,
    approvals: &RawJson,
) -> Result<Option<(bool, Vec<String>)>, ConfigError> {
    const EXPECTED: &str = "true, false, or a list of names of tokens, with *";
    reader.value(approvals, "elicitation", EXPECTED, |value| match value.kind() {
        JsonKind::Array => {
            let text = |it: RawJson| it.to_text().filter(|text| !text.is_empty());
            Some((true, value.elements().map(text).collect::<Option<_>>()?))
        }
        _ => Some((value.read()?, Vec::new())),
    })
}

fn webhook(reader: &Reader<'_>, value: &RawJson) -> Result<Option<String>, ConfigError> {
    const EXPECTED: &str = "an address: \"https://…\" or \"http://…\"";
    let Some(url) = reader.text(value, "webhook", EXPECTED)? else { return Ok(None) };
    let parsed = url.parse::<http::Uri>().ok();
    let is_web = parsed.is_some_and(|it| matches!(it.scheme_str(), Some("http" | "https")));
    if is_web && !url.contains('@') {
        return Ok(Some(url));
    }
    let given = value.get("webhook").unwrap_or(RawJson::NULL);
    Err(reader.form(&given, "webhook", EXPECTED))
}
