//! A client's answers to a server's questions. They hardly differ between revisions.

use super::border::without;
use super::sampling;
use crate::json::RawJson;
use crate::method::Method;
use crate::revision::Revision;

/// An answer that came from a client of `revision`, in the newest form. `method` is the question's.
pub fn lift_answer(revision: Revision, _method: &Method, result: &RawJson) -> RawJson {
    match revision.is_stateless() {
        true => result.clone(),
        false => without(result, &[]).apply(),
    }
}

/// An answer of the newest form as a server of `revision` reads it. `method` is the question's.
///
/// A model's answer of several blocks, where only one may stand, is joined when all are text; any
/// other is passed on as it is, since there is no way to refuse an answer.
pub fn lower_answer(revision: Revision, method: &Method, result: &RawJson) -> RawJson {
    if revision.is_stateless() {
        return result.clone();
    }
    let edit = without(result, &[]);
    if *method != Method::CreateMessage || revision.has_sampling_tools() {
        return edit.apply();
    }
    let content = result.get("content").and_then(|content| sampling::single_block(&content));
    edit.set_some("content", content).apply()
}
