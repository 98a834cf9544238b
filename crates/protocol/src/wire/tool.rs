//! The tools of `tools/list`.

use super::{array, schema};
use crate::json::RawJson;
use crate::revision::Revision;

const OUTPUT_SCHEMA: &str = "outputSchema";

/// The tools as `revision` says them; none when nothing changes.
pub(super) fn lower_list(revision: Revision, result: &RawJson) -> Option<RawJson> {
    array::map(&result.get("tools")?, |tool| {
        let output = tool.get(OUTPUT_SCHEMA)?;
        if !revision.has_structured_content() {
            return Some(tool.edit().remove(OUTPUT_SCHEMA).apply());
        }
        let wrapped = schema::with_object_root(&output)?;
        Some(tool.edit().set(OUTPUT_SCHEMA, wrapped).apply())
    })
}

/// The tools in the newest form; none when nothing changes. `execution` (2025-11-25) speaks of
/// tasks, which no longer are part of the protocol.
pub(super) fn lift_list(result: &RawJson) -> Option<RawJson> {
    array::map(&result.get("tools")?, |tool| {
        tool.get("execution")?;
        Some(tool.edit().remove("execution").apply())
    })
}
