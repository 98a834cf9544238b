//! Content blocks: a type that a revision does not know becomes text, so that the model still sees it.

use super::map_elements;
use crate::json::{Edit, JsonKind, ObjectWriter, RawJson};
use crate::revision::Revision;

pub(super) const STRUCTURED: &str = "structuredContent";
pub(super) const CONTENT: &str = "content";

/// The result of `tools/call`.
pub(super) fn lower_call<'a>(revision: Revision, result: &'a RawJson, edit: Edit<'a>) -> Edit<'a> {
    let structured = result.get(STRUCTURED);
    if revision.has_structured_content() {
        // Up to 2025-11-25 it must be an object.
        let wrapped = structured.filter(|value| !value.is_object());
        let wrapped = wrapped.map(|value| ObjectWriter::new().raw("result", &value).finish());
        return edit.set_some(STRUCTURED, wrapped);
    }
    let content = result.get(CONTENT);
    let lowered = content.as_ref().and_then(|content| lower_content(revision, content));
    let content = lowered.as_ref().or(content.as_ref());
    match structured {
        Some(value) if !content.is_some_and(has_text) => {
            edit.remove(STRUCTURED).set(CONTENT, with_text(content, value.compact().as_str()))
        }
        Some(_) => edit.remove(STRUCTURED).set_some(CONTENT, lowered),
        None => edit.set_some(CONTENT, lowered),
    }
}

/// The result of `prompts/get`.
pub(super) fn lower_messages<'a>(
    revision: Revision,
    result: &'a RawJson,
    edit: Edit<'a>,
) -> Edit<'a> {
    if revision.has_resource_links() {
        return edit;
    }
    let lowered = result.get("messages").and_then(|messages| {
        map_elements(&messages, |message| {
            let content = lower_content(revision, &message.get(CONTENT)?)?;
            Some(message.edit().set(CONTENT, content).apply())
        })
    });
    edit.set_some("messages", lowered)
}

/// One block or an array of them; none when the revision knows them all.
fn lower_content(revision: Revision, content: &RawJson) -> Option<RawJson> {
    match content.kind() {
        JsonKind::Array => map_elements(content, |block| lower_block(revision, block)),
        _ => lower_block(revision, content),
    }
}

fn lower_block(revision: Revision, block: &RawJson) -> Option<RawJson> {
    let text = match block_type(block)?.as_str() {
        "resource_link" if !revision.has_resource_links() => describe_link(block),
        "audio" if !revision.has_audio() => describe_audio(revision, block),
        _ => return None,
    };
    let text = text_block(&text);
    let kept = |key| block.get(key);
    Some(
        text.edit()
            .set_some("annotations", kept("annotations"))
            .set_some("_meta", kept("_meta"))
            .apply(),
    )
}

/// The `type` of a content block.
pub(super) fn block_type(block: &RawJson) -> Option<String> {
    block.get("type")?.to_text()
}

/// A content block holding `text`.
pub(super) fn text_block(text: &str) -> RawJson {
    ObjectWriter::with_capacity(text.len() + 32).value("type", "text").value("text", text).finish()
}

fn describe_link(block: &RawJson) -> String {
    let text = |key| block.get(key).and_then(|value| value.to_text());
    let uri = text("uri").unwrap_or_default();
    match text("title").or_else(|| text("name")) {
        Some(title) => format!("{title}: {uri}"),
        None => uri,
    }
}

fn describe_audio(revision: Revision, block: &RawJson) -> String {
    let kind = block.get("mimeType").and_then(|value| value.to_text());
    let kind = kind.as_deref().unwrap_or("unknown type");
    format!("audio ({kind}) left out: protocol revision {revision} cannot carry it")
}

fn has_text(content: &RawJson) -> bool {
    content.elements().any(|block| block_type(&block).as_deref() == Some("text"))
}

fn with_text(content: Option<&RawJson>, text: &str) -> RawJson {
    let mut blocks: Vec<_> = content.into_iter().flat_map(RawJson::elements).collect();
    blocks.push(text_block(text));
    RawJson::array(&blocks)
}
