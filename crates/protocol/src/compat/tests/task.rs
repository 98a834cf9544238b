//! Tasks, lowered, lifted and named.

use super::{json, same};
use crate::compat::{lift_task, lower_task, with_related_task};

const NEWEST: &str =
    r#"{"taskId":"a","status":"working","createdAt":"t","ttlMs":null,"pollIntervalMs":5}"#;
const OLD: &str =
    r#"{"taskId":"a","status":"working","createdAt":"t","ttl":null,"pollInterval":5}"#;

#[test]
fn both_forms() {
    let cases = [
        (NEWEST, OLD),
        (r#"{"status":"input_required","inputRequests":{}}"#, r#"{"status":"input_required"}"#),
        (r#"{"status":"completed","result":{"isError":false}}"#, r#"{"status":"completed"}"#),
        (r#"{"status":"completed","result":{"isError":true}}"#, r#"{"status":"failed"}"#),
        (r#"{"status":"failed","error":{"code":1}}"#, r#"{"status":"failed"}"#),
    ];
    for (newest, old) in cases {
        same(&newest, &lower_task(&json(newest)), old);
    }
    same(&"lifted", &lift_task(&json(OLD)), NEWEST);
}

#[test]
fn a_message_names_its_task() {
    let related = r#""io.modelcontextprotocol/related-task":{"taskId":"a"}"#;
    let cases = [
        ("{}", format!(r#"{{"_meta":{{{related}}}}}"#)),
        (r#"{"_meta":{"x":1}}"#, format!(r#"{{"_meta":{{"x":1,{related}}}}}"#)),
    ];
    for (given, expected) in cases {
        same(&given, &with_related_task(&json(given), "a"), &expected);
    }
}
