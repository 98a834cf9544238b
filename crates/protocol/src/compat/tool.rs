//! The tools of `tools/list`.

use super::{array, schema};
use crate::json::RawJson;
use crate::revision::Revision;

const OUTPUT_SCHEMA: &str = "outputSchema";
/// Whether a tool may be called as a task (2025-11-25). Inside it is kept: it says as much of a
/// tool to the server of a later client, which decides by itself.
const EXECUTION: &str = "execution";
const TOOLS: &str = "tools";

/// The tools as `revision` says them; none when nothing changes.
pub(super) fn lower_list(revision: Revision, result: &RawJson) -> Option<RawJson> {
    array::map(&result.get(TOOLS)?, |tool| {
        let bare = if revision.has_tasks() { None } else { stripped(tool) };
        let tool = bare.as_ref().unwrap_or(tool);
        let changed = tool.get(OUTPUT_SCHEMA).and_then(|output| {
            if !revision.has_structured_content() {
                return Some(tool.edit().remove(OUTPUT_SCHEMA).apply());
            }
            let wrapped = schema::with_object_root(&output)?;
            Some(tool.edit().set(OUTPUT_SCHEMA, wrapped).apply())
        });
        changed.or(bare)
    })
}

/// The result with tools that say nothing of tasks, as a revision wants them that leaves those to
/// an extension.
pub(super) fn without_execution(result: &RawJson) -> RawJson {
    let bare = result.get(TOOLS).and_then(|tools| array::map(&tools, stripped));
    result.edit().set_some(TOOLS, bare).apply()
}

fn stripped(tool: &RawJson) -> Option<RawJson> {
    tool.get(EXECUTION)?;
    Some(tool.edit().remove(EXECUTION).apply())
}
