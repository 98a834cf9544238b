//! The params of requests and notifications.

use super::without;
use crate::json::RawJson;
use crate::method::Method;
use crate::revision::Revision;

/// Lowers request params to `revision`.
///
/// Those for the newest revision stay as they are: the sender sets its own `_meta` keys.
pub fn lower_params(revision: Revision, method: &Method, params: &RawJson) -> RawJson {
    if revision.is_stateless() {
        return params.clone();
    }
    let unknown = match method {
        Method::Complete if revision < Revision::V2025_06_18 => &["context"],
        _ => single_revision_members(method),
    };
    without(params, unknown).apply()
}

/// Lifts request params of a client of `revision`.
pub fn lift_params(revision: Revision, method: &Method, params: &RawJson) -> RawJson {
    if revision.is_stateless() {
        return params.clone();
    }
    without(params, single_revision_members(method)).apply()
}

/// Members that only the newest revision defines, or only 2025-11-25 (`task`). Another revision would
/// misread them.
fn single_revision_members(method: &Method) -> &'static [&'static str] {
    match method {
        Method::ToolsCall => &["inputResponses", "requestState", "task"],
        Method::PromptsGet | Method::ResourcesRead => &["inputResponses", "requestState"],
        _ => &[],
    }
}

/// Lowers notification params to `revision`.
pub fn lower_notification(revision: Revision, method: &Method, params: &RawJson) -> RawJson {
    if revision.is_stateless() {
        return params.clone();
    }
    let unknown: &[&str] = match method {
        Method::Progress if !revision.has_progress_message() => &["message"],
        _ => &[],
    };
    without(params, unknown).apply()
}

/// Lifts notification params of a server of `revision`.
pub fn lift_notification(revision: Revision, _method: &Method, params: &RawJson) -> RawJson {
    match revision.is_stateless() {
        true => params.clone(),
        false => without(params, &[]).apply(),
    }
}
