//! Tasks: an extension of the newest revision, a part of 2025-11-25.

use crate::json::{ObjectWriter, RawJson};
use crate::meta::key;

/// Each member: its name in the newest revision and in 2025-11-25.
const NAMES: [(&str, &str); 7] = [
    ("taskId", "taskId"),
    ("status", "status"),
    ("statusMessage", "statusMessage"),
    ("createdAt", "createdAt"),
    ("lastUpdatedAt", "lastUpdatedAt"),
    ("ttlMs", "ttl"),
    ("pollIntervalMs", "pollInterval"),
];

/// Lowers a task to 2025-11-25: without input requests and result, and `failed` if its tool returned
/// an error.
///
/// ```
/// use gantry_protocol::{RawJson, compat};
/// let task = RawJson::from_static(
///     r#"{"taskId":"a","status":"completed","ttlMs":9,"result":{"isError":true}}"#,
/// );
/// assert_eq!(compat::lower_task(&task).as_str(), r#"{"taskId":"a","status":"failed","ttl":9}"#);
/// ```
pub fn lower_task(task: &RawJson) -> RawJson {
    let is_error = task.at(&["result", "isError"]).is_some_and(|it| it.as_str() == "true");
    NAMES
        .into_iter()
        .fold(ObjectWriter::new(), |object, (newest, old)| match task.get(newest) {
            Some(_) if newest == "status" && is_error => object.value(old, "failed"),
            value => object.raw_some(old, value.as_ref()),
        })
        .finish()
}

/// Lifts a task of 2025-11-25, where the result is not part of the task.
pub fn lift_task(task: &RawJson) -> RawJson {
    let lift = |object: ObjectWriter, (newest, old): (&str, &str)| {
        object.raw_some(newest, task.get(old).as_ref())
    };
    NAMES.into_iter().fold(ObjectWriter::new(), lift).finish()
}

/// The object with the related-task key in its `_meta`, as 2025-11-25 requires.
pub fn with_related_task(object: &RawJson, task: &str) -> RawJson {
    let related = ObjectWriter::new().value("taskId", task).finish();
    let meta = object.get(key::META).filter(RawJson::is_object);
    let meta = meta.unwrap_or(RawJson::EMPTY_OBJECT);
    let meta = meta.edit().set(key::RELATED_TASK, related).apply();
    object.edit().set(key::META, meta).apply()
}
