//! Results: the members every result of the newest revision has, and those of single methods.

use super::border::without;
use super::{array, content, tool};
use crate::json::{Edit, RawJson};
use crate::method::Method;
use crate::result::{CACHE_SCOPE, COMPLETE, RESULT_TYPE, ResultObject, TTL};
use crate::revision::Revision;

/// A result of the newest form as `revision` says it.
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
            Method::ToolsList => complete(method, &tool::without_execution(result)),
            _ => complete(method, result),
        };
    }
    let edit = without(result, &[RESULT_TYPE, TTL, CACHE_SCOPE]);
    match method {
        Method::ToolsCall => content::lower_call(revision, result, edit),
        Method::PromptsGet => content::lower_messages(revision, result, edit),
        Method::ToolsList => edit.set_some("tools", tool::lower_list(revision, result)),
        _ => edit,
    }
    .apply()
}

/// The result of a batch, with the result of each of its calls as `revision` says it.
fn lower_batch(revision: Revision, result: &RawJson) -> RawJson {
    const RESULTS: &str = "results";
    let lower = |entry: &RawJson| {
        let result = entry.get("result")?;
        let is_read = result.get("contents").is_some();
        let method = if is_read { Method::ResourcesRead } else { Method::ToolsCall };
        let lowered = lower_result(revision, &method, &result);
        (lowered != result).then(|| entry.edit().set("result", lowered).apply())
    };
    let entries = result.get(RESULTS).and_then(|entries| array::map(&entries, lower));
    let edit = match revision.is_stateless() {
        true => result.edit(),
        false => without(result, &[RESULT_TYPE]),
    };
    edit.set_some(RESULTS, entries).apply()
}

/// A result of the newest form as `revision` says it, which is not read again if it need not be
/// changed.
pub fn lower(revision: Revision, method: &Method, result: ResultObject) -> ResultObject {
    let knows_all = match method {
        Method::ToolsCall => revision.has_structured_content(),
        Method::PromptsGet => revision.has_resource_links(),
        method => is_plain(method),
    };
    if knows_all && is_said(revision, &result) {
        return result;
    }
    match revision.is_stateless() && is_plain(method) && result.is_bare() {
        true => result.completed(),
        false => lower_result(revision, method, &result).into(),
    }
}

/// A result that came from a server of `revision`, as far as it has to be changed for the newest
/// form. One that does not say that it is complete is.
pub fn lift(revision: Revision, method: &Method, result: ResultObject) -> ResultObject {
    match is_plain(method) && is_said(revision, &result) {
        true => result,
        false => lift_result(revision, method, &result).into(),
    }
}

/// Whether a result says of itself what `revision` wants said and nothing else, as far as is known
/// without reading it again.
fn is_said(revision: Revision, result: &ResultObject) -> bool {
    if revision.is_stateless() { result.is_complete() } else { result.is_bare() }
}

/// Whether the results of a method have nothing that other results have not.
fn is_plain(method: &Method) -> bool {
    *method != Method::Batch && !is_cacheable(method)
}

/// A result that came from a server of `revision`, in the newest form.
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

/// Where nothing is said, a result is stale at once and for nobody else.
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
