//! Results: the members every result of the newest revision has, and those of single methods.

use super::content::{CONTENT, STRUCTURED, block_type};
use super::output_schema::with_object_root;
use super::{content, map_elements, without};
use crate::json::{Edit, RawJson};
use crate::method::Method;
use crate::result::{CACHE_SCOPE, COMPLETE, RESULT_TYPE, ResultObject, TTL};
use crate::revision::Revision;

/// Lowers a result to `revision`.
///
/// ```
/// use gantry_protocol::{Method, RawJson, Revision, compat};
/// let result = RawJson::from_static(r#"{"resultType":"complete","content":[]}"#);
/// let lowered = compat::lower_result(Revision::V2025_06_18, &Method::ToolsCall, &result);
/// assert_eq!(lowered.as_str(), r#"{"content":[]}"#);
/// ```
pub fn lower_result(revision: Revision, method: &Method, result: &RawJson) -> RawJson {
    if *method == Method::Batch {
        return lower_batch(revision, result);
    }
    if revision.is_stateless() {
        return match method {
            Method::ToolsList => complete(method, &without_execution(result)),
            _ => complete(method, result),
        };
    }
    let edit = without(result, &[RESULT_TYPE, TTL, CACHE_SCOPE]);
    match method {
        Method::ToolsCall => content::lower_call(revision, result, edit),
        Method::PromptsGet => content::lower_messages(revision, result, edit),
        Method::ToolsList => edit.set_some("tools", lower_tools(revision, result)),
        _ => edit,
    }
    .apply()
}

/// Lowers the result of `gantry/batch` with the result of each call in it.
fn lower_batch(revision: Revision, result: &RawJson) -> RawJson {
    const RESULTS: &str = "results";
    let lower = |entry: &RawJson| {
        let result = entry.get("result")?;
        let is_read = result.get("contents").is_some();
        let method = if is_read { Method::ResourcesRead } else { Method::ToolsCall };
        let lowered = lower_result(revision, &method, &result);
        (lowered != result).then(|| entry.edit().set("result", lowered).apply())
    };
    let entries = result.get(RESULTS).and_then(|entries| map_elements(&entries, lower));
    let edit = match revision.is_stateless() {
        true => result.edit(),
        false => without(result, &[RESULT_TYPE]),
    };
    edit.set_some(RESULTS, entries).apply()
}

/// Lowers a result, without a second pass over the text if its members already fit `revision`.
pub fn lower(revision: Revision, method: &Method, result: ResultObject) -> ResultObject {
    let knows_all = match method {
        Method::ToolsCall => revision.has_structured_content(),
        Method::PromptsGet => revision.has_resource_links(),
        method => is_plain(method),
    };
    if knows_all && fits_revision(revision, &result) {
        return result;
    }
    match revision.is_stateless() && is_plain(method) && result.is_bare() {
        true => result.completed(),
        false => lower_result(revision, method, &result).into(),
    }
}

/// Lifts a result of a server of `revision`, without a second pass over the text if nothing has to
/// change. One of an older server without `resultType` is complete.
pub fn lift(revision: Revision, method: &Method, result: ResultObject) -> ResultObject {
    match is_plain(method) && fits_revision(revision, &result) {
        true => result,
        false => lift_result(revision, method, &result).into(),
    }
}

/// Whether the result has exactly the envelope members of `revision`, as far as is known without
/// reading it again.
fn fits_revision(revision: Revision, result: &ResultObject) -> bool {
    if revision.is_stateless() { result.is_complete() } else { result.is_bare() }
}

/// Whether results of the method need no treatment of their own.
fn is_plain(method: &Method) -> bool {
    *method != Method::Batch && !is_cacheable(method)
}

/// Lifts a result of a server of `revision`.
///
/// An older server cannot ask for input in a result, whatever it puts into `resultType`.
pub fn lift_result(revision: Revision, method: &Method, result: &RawJson) -> RawJson {
    if revision.is_stateless() {
        return complete(method, result);
    }
    let mut edit = without(result, &[]);
    if result.get(RESULT_TYPE) != Some(COMPLETE) {
        edit = edit.set(RESULT_TYPE, COMPLETE);
    }
    cacheable(method, result, edit).apply()
}

/// Fills in what the newest revision demands and a server may have left out.
fn complete(method: &Method, result: &RawJson) -> RawJson {
    let edit = result.edit();
    match result.get(RESULT_TYPE) {
        None => cacheable(method, result, edit.set(RESULT_TYPE, COMPLETE)),
        Some(kind) if kind == COMPLETE => cacheable(method, result, edit),
        // A result that asks for input, or one of an extension, is not to be kept.
        Some(_) => edit,
    }
    .apply()
}

/// Without cache members a result is stale at once and private.
fn cacheable<'a>(method: &Method, result: &RawJson, mut edit: Edit<'a>) -> Edit<'a> {
    if !is_cacheable(method) {
        return edit;
    }
    let (mut ttl, mut scope) = (false, false);
    for member in result.members() {
        ttl |= member.is(TTL);
        scope |= member.is(CACHE_SCOPE);
    }
    if !ttl {
        edit = edit.set(TTL, RawJson::from_static("0"));
    }
    if !scope {
        edit = edit.set(CACHE_SCOPE, RawJson::from_static("\"private\""));
    }
    edit
}

fn is_cacheable(method: &Method) -> bool {
    matches!(
        method,
        Method::Discover
            | Method::ToolsList
            | Method::PromptsList
            | Method::ResourcesList
            | Method::ResourceTemplatesList
            | Method::ResourcesRead
    )
}

const OUTPUT_SCHEMA: &str = "outputSchema";
/// Whether a tool may be called as a task (2025-11-25). Lifting keeps it: it carries the same hint to
/// the server side of a client of a later revision, where the server decides.
const EXECUTION: &str = "execution";
const TOOLS: &str = "tools";

/// Lowers the tools of `tools/list`; none when nothing changes.
pub(super) fn lower_tools(revision: Revision, result: &RawJson) -> Option<RawJson> {
    map_elements(&result.get(TOOLS)?, |tool| {
        let bare = if revision.has_tasks() { None } else { strip_execution(tool) };
        let tool = bare.as_ref().unwrap_or(tool);
        let changed = tool.get(OUTPUT_SCHEMA).and_then(|output| {
            if !revision.has_structured_content() {
                return Some(tool.edit().remove(OUTPUT_SCHEMA).apply());
            }
            let wrapped = with_object_root(&output)?;
            Some(tool.edit().set(OUTPUT_SCHEMA, wrapped).apply())
        });
        changed.or(bare)
    })
}

/// Removes `execution` from all tools, for a revision where tasks are an extension.
pub(super) fn without_execution(result: &RawJson) -> RawJson {
    let bare = result.get(TOOLS).and_then(|tools| map_elements(&tools, strip_execution));
    result.edit().set_some(TOOLS, bare).apply()
}

fn strip_execution(tool: &RawJson) -> Option<RawJson> {
    tool.get(EXECUTION)?;
    Some(tool.edit().remove(EXECUTION).apply())
}

const JSON: RawJson = RawJson::from_static("\"json\"");

/// The result of `tools/call`, lowered already, with a block of type `json` in the place of the
/// text that is nothing but the structured content of `original`. Any other block stays.
///
/// ```
/// use gantry_protocol::{RawJson, compat};
/// let wrapped = r#"{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}"#;
/// let result = RawJson::from_static(wrapped);
/// let content = compat::with_json_block(&result, &result).get("content").unwrap();
/// assert_eq!(content.as_str(), r#"[{"type":"json","json":{"a":1}}]"#);
/// ```
pub fn with_json_block(original: &RawJson, lowered: &RawJson) -> RawJson {
    let (Some(value), Some(content)) = (original.get(STRUCTURED), lowered.get(CONTENT)) else {
        return lowered.clone();
    };
    // Once for all blocks, of which a server may send any number beside a long string.
    let (text, said) = (value.compact(), value.to_text());
    let replaced = map_elements(&content, |block| {
        let is_text = block_type(block).as_deref() == Some("text");
        let shown = block.get("text").filter(|_| is_text)?.to_text()?;
        let same = shown == text.as_str() || said.as_ref() == Some(&shown);
        let edit = block.edit().set("type", JSON).remove("text").set("json", value.clone());
        same.then(|| edit.apply())
    });
    lowered.edit().set_some(CONTENT, replaced).apply()
}
