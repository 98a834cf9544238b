//! The params of requests and notifications.

use super::border::without;
use crate::json::RawJson;
use crate::method::Method;
use crate::revision::Revision;

/// Request params of the newest form as `revision` says them.
///
/// The newest revision gets them as they are: whoever sends them sets its own `_meta` keys.
pub fn lower_params(revision: Revision, method: &Method, params: &RawJson) -> RawJson {
    if revision.is_stateless() {
        return params.clone();
    }
    let unsaid = match method {
        Method::Complete if revision < Revision::V2025_06_18 => &["context"],
        _ => of_one_side(method),
    };
    without(params, unsaid).apply()
}

/// Request params that came from a client of `revision`, in the newest form.
pub fn lift_params(revision: Revision, method: &Method, params: &RawJson) -> RawJson {
    if revision.is_stateless() {
        return params.clone();
    }
    without(params, of_one_side(method)).apply()
}

/// Members that mean something to the newest revision alone, or to 2025-11-25 alone (`task`).
/// Carried across they would be taken for what they are not.
fn of_one_side(method: &Method) -> &'static [&'static str] {
    match method {
        Method::ToolsCall => &["inputResponses", "requestState", "task"],
        Method::PromptsGet | Method::ResourcesRead => &["inputResponses", "requestState"],
        _ => &[],
    }
}

/// Notification params of the newest form as `revision` says them.
pub fn lower_notification(revision: Revision, method: &Method, params: &RawJson) -> RawJson {
    if revision.is_stateless() {
        return params.clone();
    }
    let unsaid: &[&str] = match method {
        Method::Progress if !revision.has_progress_message() => &["message"],
        _ => &[],
    };
    without(params, unsaid).apply()
}

/// Notification params that came from a server of `revision`, in the newest form.
pub fn lift_notification(revision: Revision, _method: &Method, params: &RawJson) -> RawJson {
    match revision.is_stateless() {
        true => params.clone(),
        false => without(params, &[]).apply(),
    }
}
