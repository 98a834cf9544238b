//! Questions to the model: one block a message, and no tools, before 2025-11-25.

use super::array;
use super::border::without;
use super::content::{block_type, text_block};
use super::input_request::Inexpressible;
use crate::json::{JsonKind, RawJson};
use crate::revision::Revision;

const CONTENT: &str = "content";

/// The params of `sampling/createMessage` as `revision` says them.
pub(super) fn lower(revision: Revision, params: &RawJson) -> Result<RawJson, Inexpressible> {
    if revision.has_sampling_tools() {
        return Ok(without(params, &["task"]).apply());
    }
    if params.get("tools").is_some_and(|tools| tools.elements().next().is_some()) {
        return Err(Inexpressible::SamplingTools(revision));
    }
    let messages = match params.get("messages") {
        Some(messages) => array::try_map(&messages, |message| lower_message(revision, message))?,
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
