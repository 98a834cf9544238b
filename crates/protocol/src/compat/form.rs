//! Questions to the user: forms and visits to a URL.

use super::border::without;
use super::input_request::Inexpressible;
use crate::json::RawJson;
use crate::revision::Revision;

const SCHEMA: &str = "requestedSchema";

/// The params of `elicitation/create` as `revision` says them.
pub(super) fn lower(
    revision: Revision,
    params: &RawJson,
    elicitation_id: &str,
) -> Result<RawJson, Inexpressible> {
    let url = params.get("mode").and_then(|mode| mode.to_text()).as_deref() == Some("url");
    match (url, revision.has_rich_elicitation()) {
        (true, false) => Err(Inexpressible::Url(revision)),
        (true, true) => {
            let id = RawJson::string(elicitation_id);
            Ok(without(params, &["task"]).set("elicitationId", id).apply())
        }
        (false, true) => Ok(without(params, &["task"]).apply()),
        (false, false) => {
            let schema = params.get(SCHEMA).map(|schema| lower_schema(revision, &schema));
            let schema = schema.transpose()?.flatten();
            Ok(without(params, &["mode"]).set_some(SCHEMA, schema).apply())
        }
    }
}

/// The form's schema for 2025-06-18; none when nothing changes.
fn lower_schema(revision: Revision, schema: &RawJson) -> Result<Option<RawJson>, Inexpressible> {
    let Some(properties) = schema.get("properties") else {
        return Ok(None);
    };
    let mut edit = properties.edit();
    let mut changed = false;
    for member in properties.members() {
        let lowered = lower_field(&member.value()).map_err(|reason| Inexpressible::Field {
            field: member.key().into_owned(),
            reason,
            revision,
        })?;
        changed |= lowered.is_some();
        edit = edit.set_some(member.key().into_owned(), lowered);
    }
    Ok(changed.then(|| schema.edit().set("properties", edit.apply()).apply()))
}

/// One field: titled choices become `enum` with `enumNames`; none when nothing changes.
fn lower_field(field: &RawJson) -> Result<Option<RawJson>, &'static str> {
    if field.get("type").and_then(|kind| kind.to_text()).as_deref() == Some("array") {
        return Err("which takes several values");
    }
    let Some(choices) = field.get("oneOf") else {
        return Ok(None);
    };
    let (mut values, mut names) = (Vec::new(), Vec::new());
    for choice in choices.elements() {
        let value = choice.get("const").ok_or("which has a choice without a value")?;
        names.push(choice.get("title").unwrap_or_else(|| value.clone()));
        values.push(value);
    }
    let (values, names) = (RawJson::array(&values), RawJson::array(&names));
    Ok(Some(field.edit().remove("oneOf").set("enum", values).set("enumNames", names).apply()))
}
