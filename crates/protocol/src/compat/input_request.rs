//! Input requests (elicitation, sampling, roots) of a server, and the client's responses: entries of
//! `inputRequests` and `inputResponses` in the newest revision, JSON-RPC requests of their own before.

use super::content::{CONTENT, block_type, text_block};
use super::{try_map_elements, without};
use crate::json::{JsonKind, RawJson};
use crate::method::Method;
use crate::revision::Revision;

/// An input request that a revision cannot express.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Inexpressible {
    /// Any elicitation.
    #[error("protocol revision {0} cannot ask the user for input")]
    Elicitation(Revision),
    /// Elicitation by URL.
    #[error("protocol revision {0} cannot send the user to a URL")]
    Url(Revision),
    /// A field of a form.
    #[error("protocol revision {revision} cannot ask for `{field}`, {reason}")]
    Field {
        /// The field's name.
        field: String,
        /// What the revision lacks.
        reason: &'static str,
        /// The revision that lacks it.
        revision: Revision,
    },
    /// Sampling with tools.
    #[error("protocol revision {0} cannot offer tools to the model")]
    SamplingTools(Revision),
    /// A sampling message that does not hold exactly one block.
    #[error("protocol revision {revision} wants one content block in a message, not {count}")]
    BlockCount {
        /// Blocks in the message.
        count: usize,
        /// The revision that wants one.
        revision: Revision,
    },
    /// A kind of content in a sampling message.
    #[error("protocol revision {revision} cannot show content of type `{kind}` to the model")]
    Block {
        /// The block's `type`.
        kind: String,
        /// The revision that lacks it.
        revision: Revision,
    },
}

/// Lowers the params of an input request to `revision`. `elicitation_id` identifies a URL elicitation
/// in 2025-11-25, the only revision that requires an id for it.
///
/// ```
/// use gantry_protocol::{Method, RawJson, Revision, compat};
/// let visit = RawJson::from_static(r#"{"mode":"url","url":"https://a.example"}"#);
/// let lower = |revision| compat::lower_input_request(revision, &Method::Elicit, Some(&visit), "visit-1");
/// let error = lower(Revision::V2025_06_18).unwrap_err();
/// assert_eq!(error.to_string(), "protocol revision 2025-06-18 cannot send the user to a URL");
/// let lowered = lower(Revision::V2025_11_25).unwrap().unwrap();
/// assert_eq!(lowered.get("elicitationId"), Some(RawJson::string("visit-1")));
/// ```
pub fn lower_input_request(
    revision: Revision,
    method: &Method,
    params: Option<&RawJson>,
    elicitation_id: &str,
) -> Result<Option<RawJson>, Inexpressible> {
    if revision.is_stateless() {
        return Ok(params.cloned());
    }
    if *method == Method::Elicit && !revision.has_elicitation() {
        return Err(Inexpressible::Elicitation(revision));
    }
    let Some(params) = params else {
        return Ok(None);
    };
    let lowered = match method {
        Method::Elicit => lower_elicitation(revision, params, elicitation_id)?,
        Method::CreateMessage => lower_sampling(revision, params)?,
        _ => without(params, &[]).apply(),
    };
    Ok(Some(lowered))
}

/// Lifts the params of a request that a server of `revision` sent to an input request of the newest
/// form.
pub fn lift_input_request(
    revision: Revision,
    method: &Method,
    params: Option<&RawJson>,
) -> Option<RawJson> {
    let params = params?;
    if revision.is_stateless() {
        return Some(params.clone());
    }
    let unknown: &[&str] = match method {
        Method::Elicit => &["task", "elicitationId"],
        Method::CreateMessage => &["task"],
        _ => &[],
    };
    Some(without(params, unknown).apply())
}

const SCHEMA: &str = "requestedSchema";

/// Lowers the params of `elicitation/create`: forms and URLs.
pub(super) fn lower_elicitation(
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

/// Lowers the params of `sampling/createMessage`: one block a message and no tools before 2025-11-25.
pub(super) fn lower_sampling(
    revision: Revision,
    params: &RawJson,
) -> Result<RawJson, Inexpressible> {
    if revision.has_sampling_tools() {
        return Ok(without(params, &["task"]).apply());
    }
    if params.get("tools").is_some_and(|tools| tools.elements().next().is_some()) {
        return Err(Inexpressible::SamplingTools(revision));
    }
    let messages = match params.get("messages") {
        Some(messages) => try_map_elements(&messages, |message| lower_message(revision, message))?,
        None => None,
    };
    Ok(without(params, &["tools", "toolChoice"]).set_some("messages", messages).apply())
}

fn lower_message(revision: Revision, message: &RawJson) -> Result<Option<RawJson>, Inexpressible> {
    let Some(content) = message.get(CONTENT) else {
        return Ok(None);
    };
    if content.kind() != JsonKind::Array {
        return check_block(revision, &content).map(|()| None);
    }
    let mut blocks = content.elements();
    let (Some(only), None) = (blocks.next(), blocks.next()) else {
        let count = content.elements().count();
        return Err(Inexpressible::BlockCount { count, revision });
    };
    check_block(revision, &only)?;
    Ok(Some(message.edit().set(CONTENT, only).apply()))
}

fn check_block(revision: Revision, block: &RawJson) -> Result<(), Inexpressible> {
    let Some(kind) = block_type(block) else {
        return Ok(());
    };
    match kind.as_str() {
        "tool_use" | "tool_result" => Err(Inexpressible::SamplingTools(revision)),
        "audio" if !revision.has_audio() => Err(Inexpressible::Block { kind, revision }),
        _ => Ok(()),
    }
}

/// The content of a model's answer as one block; none when it is one, or cannot be made one.
pub(super) fn single_block(content: &RawJson) -> Option<RawJson> {
    let mut blocks = content.elements();
    match (blocks.next()?, blocks.next()) {
        (only, None) => Some(only),
        (_, Some(_)) => joined_text(content),
    }
}

fn joined_text(content: &RawJson) -> Option<RawJson> {
    let text = |block: RawJson| match block_type(&block)?.as_str() {
        "text" => block.get("text")?.to_text(),
        _ => None,
    };
    let texts: Option<Vec<String>> = content.elements().map(text).collect();
    Some(text_block(&texts?.join("\n")))
}

/// Lifts the result that a client of `revision` sent for an input request. `method` is that of the
/// request.
pub fn lift_answer(revision: Revision, _method: &Method, result: &RawJson) -> RawJson {
    match revision.is_stateless() {
        true => result.clone(),
        false => without(result, &[]).apply(),
    }
}

/// Lowers the result of an input request for a server of `revision`. `method` is that of the request.
///
/// A sampling result with several blocks, where only one is allowed, is joined if all are text. Any
/// other is forwarded unchanged: a result cannot be refused.
pub fn lower_answer(revision: Revision, method: &Method, result: &RawJson) -> RawJson {
    if revision.is_stateless() {
        return result.clone();
    }
    let edit = without(result, &[]);
    if *method != Method::CreateMessage || revision.has_sampling_tools() {
        return edit.apply();
    }
    let content = result.get("content").and_then(|content| single_block(&content));
    edit.set_some("content", content).apply()
}
