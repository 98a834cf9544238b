//! One rule of `policy.rules`.

use std::sync::Arc;

use gantry_policy::{Annotations, Condition, ConditionBounds, Rule, RuleEffect, What, Who};
use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;

use crate::config::ConfigError;
use crate::config::read::Reader;

const KEYS: [&str; 8] =
    ["name", "effect", "who", "what", "annotations", "when", "approvers", "shadow"];
const WHO: [&str; 3] = ["principals", "clients", "faces"];
const WHAT: [&str; 4] = ["servers", "tools", "resources", "prompts"];
const ANNOTATIONS: [&str; 2] = ["readOnly", "destructive"];

const EXPECTED: &str =
    "a list of rules, such as [{\"effect\": \"deny\", \"what\": {\"tools\": [\"*_delete\"]}}]";

/// Reads all rules of the section.
pub(crate) fn read_all(reader: &Reader<'_>, policy: &RawJson) -> Result<Vec<Rule>, ConfigError> {
    let Some(list) = policy.get("rules") else { return Ok(Vec::new()) };
    if list.kind() != JsonKind::Array {
        return Err(reader.form(&list, "rules", EXPECTED));
    }
    let mut rules: Vec<Rule> = Vec::new();
    for (index, value) in list.elements().enumerate() {
        let rule = read(reader, &value, index + 1)?;
        if rules.iter().any(|known| known.name == rule.name) {
            let key = rule.name.to_string();
            return Err(ConfigError::Doubled { place: reader.place(&value), key });
        }
        rules.push(rule);
    }
    Ok(rules)
}

fn read(reader: &Reader<'_>, value: &RawJson, number: usize) -> Result<Rule, ConfigError> {
    if !value.is_object() {
        return Err(reader.form(value, "rules", EXPECTED));
    }
    reader.check_keys(value, &KEYS, &[])?;
    let effect = |it: &RawJson| it.as_text().and_then(RuleEffect::parse);
    let expected = "\"allow\", \"deny\" or \"approve\"";
    let Some(effect) = reader.value(value, "effect", expected, effect)? else {
        return Err(reader.form(value, "effect", expected));
    };
    let text = |it: &RawJson| it.to_text().filter(|text| !text.is_empty());
    let name = reader.value(value, "name", "a name for the rule", text)?;
    let who = part(reader, value, "who", &WHO)?;
    let what = part(reader, value, "what", &WHAT)?;
    let marks = part(reader, value, "annotations", &ANNOTATIONS)?;
    let mark = |key| reader.value(&marks, key, "true or false", RawJson::read::<bool>);
    let list = |of: &RawJson, key| patterns(reader, of, key);
    let place = reader.place(value);
    let file = place.file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let rule = Rule {
        name: name.unwrap_or_else(|| format!("rule {number}")).into(),
        // Callers are told, and the folder is none of their business.
        place: Some(format!("{file}:{}", place.line).into()),
        effect,
        who: Who {
            principals: list(&who, "principals")?,
            clients: list(&who, "clients")?,
            virtual_servers: list(&who, "faces")?,
        },
        what: What {
            servers: list(&what, "servers")?,
            tools: list(&what, "tools")?,
            resources: list(&what, "resources")?,
            prompts: list(&what, "prompts")?,
        },
        annotations: Annotations {
            read_only: mark("readOnly")?,
            destructive: mark("destructive")?,
        },
        when: condition(reader, value)?,
        approvers: approvers(reader, value, effect)?,
        shadow: reader.value(value, "shadow", "true or false", RawJson::read)?.unwrap_or(false),
    };
    warn_of_letters(reader, &rule);
    Ok(rule)
}

/// Who may approve what the rule stops. A rule that stops nothing has no approvers.
fn approvers(
    reader: &Reader<'_>,
    rule: &RawJson,
    effect: RuleEffect,
) -> Result<Vec<String>, ConfigError> {
    let approvers = patterns(reader, rule, "approvers")?;
    match rule.get("approvers").filter(|_| effect != RuleEffect::Approve) {
        Some(given) => {
            let expected = "left out, unless the effect is \"approve\"";
            Err(reader.form(&given, "approvers", expected))
        }
        None => Ok(approvers),
    }
}

/// An object within the rule; an empty one if it is not there.
fn part(
    reader: &Reader<'_>,
    rule: &RawJson,
    key: &str,
    keys: &[&str],
) -> Result<RawJson, ConfigError> {
    let Some(value) = rule.get(key) else { return Ok(RawJson::EMPTY_OBJECT) };
    if !value.is_object() {
        return Err(reader.form(&value, key, "an object with patterns or marks"));
    }
    reader.check_keys(&value, keys, &[])?;
    Ok(value)
}

/// Patterns. An empty list could be read as all or as none, so there is no such thing.
fn patterns(reader: &Reader<'_>, object: &RawJson, key: &str) -> Result<Vec<String>, ConfigError> {
    let read = |value: &RawJson| {
        let one = value.to_text().map(|text| vec![text]);
        let list = one.or_else(|| value.read::<Vec<String>>())?;
        Some(list).filter(|list| !list.is_empty() && list.iter().all(|text| !text.is_empty()))
    };
    let expected = "a pattern, or a list with at least one, such as [\"get_*\"]";
    Ok(reader.value(object, key, expected, read)?.unwrap_or_default())
}

fn condition(reader: &Reader<'_>, rule: &RawJson) -> Result<Option<Arc<Condition>>, ConfigError> {
    let expected = "a condition in CEL, such as \"args.count > 3\"";
    let Some(text) = reader.value(rule, "when", expected, RawJson::to_text)? else {
        return Ok(None);
    };
    let condition = Condition::new(&text, ConditionBounds::default()).map_err(|error| {
        let place = reader.place(&rule.get("when").unwrap_or(RawJson::NULL));
        ConfigError::Condition { place, error }
    })?;
    Ok(Some(Arc::new(condition)))
}

/// Names of tools and servers have plain letters only: another one just looks like one of them.
fn warn_of_letters(reader: &Reader<'_>, rule: &Rule) {
    for text in rule.what.tools.iter().chain(&rule.what.servers).filter(|it| !it.is_ascii()) {
        let place = rule.place.as_deref().unwrap_or_default();
        reader.load_state.warn(format!(
            "{place}: `{text}` of the rule `{}` fits nothing, for it has a letter that only looks \
             like a plain one; type it anew",
            rule.name
        ));
    }
}
