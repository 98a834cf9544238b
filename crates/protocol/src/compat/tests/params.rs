//! Params of requests and notifications.

use super::{json, same};
use crate::compat::{lift_notification, lift_params, lower_notification, lower_params};
use crate::method::Method::{
    Complete, LogMessage, Progress, PromptsGet, ResourceUpdated, ResourcesRead, ToolsCall,
};
use crate::revision::Revision::{V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

const HOP: &str = r#"{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/logLevel":"info","progressToken":1}}"#;

#[test]
fn what_belongs_to_one_hop_stays_there() {
    let kept = r#"{"name":"t","_meta":{"progressToken":1}}"#;
    for revision in [V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25] {
        for method in [ToolsCall, PromptsGet, Complete] {
            same(&revision, &lower_params(revision, &method, &json(HOP)), kept);
            same(&revision, &lift_params(revision, &method, &json(HOP)), kept);
        }
    }
    same(&V2026_07_28, &lower_params(V2026_07_28, &ToolsCall, &json(HOP)), HOP);
    same(&V2026_07_28, &lift_params(V2026_07_28, &ToolsCall, &json(HOP)), HOP);
}

#[test]
fn only_the_newest_revision_takes_input_in_params() {
    let retry = json(r#"{"uri":"a","inputResponses":{"k":{}},"requestState":"s"}"#);
    for method in [ToolsCall, PromptsGet, ResourcesRead] {
        for revision in [V2024_11_05, V2025_11_25] {
            same(&method, &lower_params(revision, &method, &retry), r#"{"uri":"a"}"#);
            same(&method, &lift_params(revision, &method, &retry), r#"{"uri":"a"}"#);
        }
    }
    let task = json(r#"{"name":"t","task":{"ttl":1},"arguments":{"task":1}}"#);
    let plain = r#"{"name":"t","arguments":{"task":1}}"#;
    same(&"task", &lift_params(V2025_11_25, &ToolsCall, &task), plain);
    same(&"task", &lower_params(V2025_11_25, &ToolsCall, &task), plain);
}

#[test]
fn completion_has_a_context_since_2025_06_18() {
    let with = r#"{"ref":{},"context":{"arguments":{"a":"b"}}}"#;
    let cases = [
        (V2024_11_05, r#"{"ref":{}}"#),
        (V2025_03_26, r#"{"ref":{}}"#),
        (V2025_06_18, with),
        (V2025_11_25, with),
        (V2026_07_28, with),
    ];
    for (revision, expected) in cases {
        same(&revision, &lower_params(revision, &Complete, &json(with)), expected);
    }
}

#[test]
fn progress_has_a_message_since_2025_03_26() {
    let with = r#"{"progress":1,"message":"half"}"#;
    let cases = [(V2024_11_05, r#"{"progress":1}"#), (V2025_03_26, with), (V2026_07_28, with)];
    for (revision, expected) in cases {
        same(&revision, &lower_notification(revision, &Progress, &json(with)), expected);
        same(&revision, &lower_notification(revision, &LogMessage, &json(with)), with);
    }
}

#[test]
fn subscriptions_are_not_named_to_older_revisions() {
    let named = r#"{"uri":"a","_meta":{"io.modelcontextprotocol/subscriptionId":"7"}}"#;
    for revision in [V2024_11_05, V2025_11_25] {
        let lowered = lower_notification(revision, &ResourceUpdated, &json(named));
        same(&revision, &lowered, r#"{"uri":"a"}"#);
        let lifted = lift_notification(revision, &ResourceUpdated, &json(named));
        same(&revision, &lifted, r#"{"uri":"a"}"#);
    }
    same(&"newest", &lower_notification(V2026_07_28, &ResourceUpdated, &json(named)), named);
    same(&"newest", &lift_notification(V2026_07_28, &ResourceUpdated, &json(named)), named);
}

#[test]
fn params_in_which_nothing_changes_are_not_copied() {
    let params = json(r#"{"name":"t","arguments":{},"_meta":{"progressToken":1}}"#);
    for found in [
        lower_params(V2025_11_25, &ToolsCall, &params),
        lift_params(V2024_11_05, &ToolsCall, &params),
        lower_notification(V2025_11_25, &Progress, &params),
        lift_notification(V2025_11_25, &Progress, &params),
    ] {
        assert_eq!(found.bytes().as_ptr(), params.bytes().as_ptr());
    }
}
