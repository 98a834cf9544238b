//! Results, lowered and lifted.

use super::{json, same};
use crate::compat::{lift_result, lower_result};
use crate::method::Method::{
    self, Batch, Complete, Discover, Ping, PromptsGet, ResourcesRead, ToolsCall, ToolsList,
};
use crate::revision::Revision::{
    self, V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28,
};

#[track_caller]
fn lowers(revision: Revision, method: &Method, newest: &str, expected: &str) {
    same(&(revision, method), &lower_result(revision, method, &json(newest)), expected);
}

#[track_caller]
fn lifts(revision: Revision, method: &Method, older: &str, expected: &str) {
    same(&(revision, method), &lift_result(revision, method, &json(older)), expected);
}

#[test]
fn the_newest_revision_gets_what_it_demands() {
    let cases = [
        (Complete, r#"{"a":1}"#, r#"{"a":1,"resultType":"complete"}"#),
        (ToolsCall, r#"{"resultType":"complete"}"#, r#"{"resultType":"complete"}"#),
        (
            ToolsList,
            r#"{"tools":[]}"#,
            r#"{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#,
        ),
        (
            Discover,
            r#"{"resultType":"complete","cacheScope":"public"}"#,
            r#"{"resultType":"complete","cacheScope":"public","ttlMs":0}"#,
        ),
        (
            ResourcesRead,
            r#"{"resultType":"input_required","requestState":"s"}"#,
            r#"{"resultType":"input_required","requestState":"s"}"#,
        ),
        (Ping, "null", "null"),
    ];
    for (method, given, expected) in cases {
        lowers(V2026_07_28, &method, given, expected);
        lifts(V2026_07_28, &method, given, expected);
    }
}

#[test]
fn a_result_that_says_all_is_not_copied() {
    let result = json(r#"{"tools":[],"resultType":"complete","ttlMs":9,"cacheScope":"public"}"#);
    let lowered = lower_result(V2026_07_28, &ToolsList, &result);
    assert_eq!(lowered.bytes().as_ptr(), result.bytes().as_ptr());
    let older = json(r#"{"content":[{"type":"text","text":"a"}]}"#);
    let lowered = lower_result(V2024_11_05, &ToolsCall, &older);
    assert_eq!(lowered.bytes().as_ptr(), older.bytes().as_ptr());
}

#[test]
fn older_revisions_lose_the_envelope_of_the_newest() {
    let newest = r#"{"resultType":"complete","x":1,"ttlMs":5,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#;
    for revision in [V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25] {
        for method in [ToolsCall, ToolsList, ResourcesRead, Complete] {
            lowers(revision, &method, newest, r#"{"x":1}"#);
        }
    }
    lowers(
        V2025_11_25,
        &Complete,
        r#"{"_meta":{"a":1, "io.modelcontextprotocol/subscriptionId":4,"b":2},"resultType":"complete"}"#,
        r#"{"_meta":{"a":1,"b":2}}"#,
    );
    lowers(V2025_11_25, &Complete, r#"{"_meta":{}}"#, r#"{"_meta":{}}"#);
    lowers(V2025_11_25, &Complete, r#"{"_meta":null}"#, r#"{"_meta":null}"#);
}

#[test]
fn structured_content_fits_the_revision() {
    let object = r#"{"content":[],"structuredContent":{"a": 1.0}}"#;
    let number = r#"{"content":[],"structuredContent":1.10}"#;
    for revision in [V2025_06_18, V2025_11_25] {
        lowers(revision, &ToolsCall, object, object);
        lowers(
            revision,
            &ToolsCall,
            number,
            r#"{"content":[],"structuredContent":{"result":1.10}}"#,
        );
    }
    for revision in [V2024_11_05, V2025_03_26] {
        let text = r#"{"content":[{"type":"text","text":"{\"a\":1.0}"}]}"#;
        lowers(revision, &ToolsCall, object, text);
        let absent = r#"{"structuredContent":[true]}"#;
        lowers(revision, &ToolsCall, absent, r#"{"content":[{"type":"text","text":"[true]"}]}"#);
        let said = r#"{"content":[{"type":"text","text":"a"}],"structuredContent":[]}"#;
        lowers(revision, &ToolsCall, said, r#"{"content":[{"type":"text","text":"a"}]}"#);
        let image = r#"{"content":[{"type":"image"}],"structuredContent":1}"#;
        let both = r#"{"content":[{"type":"image"},{"type":"text","text":"1"}]}"#;
        lowers(revision, &ToolsCall, image, both);
    }
}

#[test]
fn unknown_content_becomes_text() {
    let link = r#"{"type":"resource_link","uri":"file:///a","name":"a","title":"The A","annotations":{"priority":1}}"#;
    let named = r#"{"type":"text","text":"The A: file:///a","annotations":{"priority":1}}"#;
    let audio = r#"{"type":"audio","data":"AA==","mimeType":"audio/wav"}"#;
    let noted = r#"{"type":"text","text":"audio (audio/wav) left out: protocol revision 2024-11-05 cannot carry it"}"#;
    let image = r#"{"type":"image","data":"AA==","mimeType":"image/png"}"#;
    let call = |blocks: &[&str]| format!(r#"{{"content":[{}]}}"#, blocks.join(","));
    let prompt = |block| format!(r#"{{"messages":[{{"role":"user","content":{block}}}]}}"#);
    let cases = [
        (V2024_11_05, [named, noted, image]),
        (V2025_03_26, [named, audio, image]),
        (V2025_06_18, [link, audio, image]),
        (V2025_11_25, [link, audio, image]),
    ];
    for (revision, lowered) in cases {
        lowers(revision, &ToolsCall, &call(&[link, audio, image]), &call(&lowered));
        for (block, lowered) in [link, audio, image].into_iter().zip(lowered) {
            lowers(revision, &PromptsGet, &prompt(block), &prompt(lowered));
        }
    }
    let bare = r#"{"type":"resource_link","uri":"file:///a"}"#;
    let text = r#"{"type":"text","text":"file:///a"}"#;
    lowers(V2024_11_05, &ToolsCall, &call(&[bare]), &call(&[text]));
}

#[test]
fn output_schemas_fit_the_revision() {
    let tools = |schema: &str| format!(r#"{{"tools":[{{"name":"t","outputSchema":{schema}}}]}}"#);
    let bare = r#"{"tools":[{"name":"t"}]}"#;
    let cases = [
        (r#"{"type":"object"}"#, r#"{"type":"object"}"#),
        (
            r#"{"type":"string"}"#,
            r#"{"type":"object","properties":{"result":{"type":"string"}},"required":["result"]}"#,
        ),
        (
            r##"{"$schema":"s","type":"array","items":{"$ref":"#/$defs/i"},"$defs":{"i":{}}}"##,
            r##"{"$schema":"s","$defs":{"i":{}},"type":"object","properties":{"result":{"type":"array","items":{"$ref":"#/$defs/i"}}},"required":["result"]}"##,
        ),
        (
            r##"{"type":"array","items":{"$ref":"#"},"default":{"$ref":"#"}}"##,
            r##"{"type":"object","properties":{"result":{"type":"array","items":{"$ref":"#/properties/result"},"default":{"$ref":"#"}}},"required":["result"]}"##,
        ),
        (
            r##"{"$id":"urn:a","type":"array","items":{"$ref":"#/$defs/i"},"$defs":{"i":{}}}"##,
            r##"{"type":"object","properties":{"result":{"$id":"urn:a","type":"array","items":{"$ref":"#/$defs/i"},"$defs":{"i":{}}}},"required":["result"]}"##,
        ),
        (
            r##"{"$ref":"#/$defs/i","$defs":{"i":{}}}"##,
            r##"{"$defs":{"i":{}},"type":"object","anyOf":[{"$ref":"#/$defs/i"},{"properties":{"result":{"$ref":"#/$defs/i"}},"required":["result"]}]}"##,
        ),
        (
            "true",
            r#"{"type":"object","anyOf":[true,{"properties":{"result":true},"required":["result"]}]}"#,
        ),
    ];
    for (newest, lowered) in cases {
        for revision in [V2025_06_18, V2025_11_25] {
            lowers(revision, &ToolsList, &tools(newest), &tools(lowered));
        }
        for revision in [V2024_11_05, V2025_03_26] {
            lowers(revision, &ToolsList, &tools(newest), bare);
        }
    }
}

#[test]
fn older_results_are_lifted() {
    let complete = r#"{"x":1,"resultType":"complete"}"#;
    let cacheable = r#"{"x":1,"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#;
    for revision in [V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25] {
        lifts(revision, &ToolsCall, r#"{"x":1}"#, complete);
        lifts(revision, &ToolsCall, r#"{"x":1,"resultType":"input_required"}"#, complete);
        lifts(revision, &ToolsList, r#"{"x":1}"#, cacheable);
        lifts(revision, &ResourcesRead, r#"{"x":1}"#, cacheable);
    }
    lifts(
        V2025_11_25,
        &ToolsList,
        r#"{"tools":[{"name":"a","execution":{"taskSupport":"optional"}},{"name":"b"}]}"#,
        r#"{"tools":[{"name":"a","execution":{"taskSupport":"optional"}},{"name":"b"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#,
    );
    lifts(
        V2025_11_25,
        &ToolsCall,
        r#"{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"1"}}}"#,
        r#"{"resultType":"complete"}"#,
    );
}

#[test]
fn each_result_of_a_batch_fits_the_revision() {
    let newest = r#"{"results":[{"id":"a","status":"ok","result":{"content":[],"structuredContent":1.10,"resultType":"complete"}},{"id":"b","status":"ok","result":{"contents":[],"resultType":"complete","ttlMs":1}},{"id":"c","status":"skipped","reason":"r"}],"resultType":"complete"}"#;
    let older = r#"{"results":[{"id":"a","status":"ok","result":{"content":[],"structuredContent":{"result":1.10}}},{"id":"b","status":"ok","result":{"contents":[]}},{"id":"c","status":"skipped","reason":"r"}]}"#;
    lowers(V2025_11_25, &Batch, newest, older);
    let complete = r#"{"results":[{"id":"b","status":"ok","result":{"contents":[],"resultType":"complete","ttlMs":1,"cacheScope":"private"}}],"resultType":"complete"}"#;
    let missing = r#"{"results":[{"id":"b","status":"ok","result":{"contents":[],"ttlMs":1}}],"resultType":"complete"}"#;
    lowers(V2026_07_28, &Batch, complete, complete);
    let filled = complete
        .replace(r#""resultType":"complete","ttlMs":1"#, r#""ttlMs":1,"resultType":"complete""#);
    lowers(V2026_07_28, &Batch, missing, &filled);
}

#[test]
fn only_one_revision_hears_which_tools_may_be_tasks() {
    let task = r#"{"tools":[{"name":"a","execution":{"taskSupport":"required"}},{"name":"b"}]}"#;
    let bare = r#"{"tools":[{"name":"a"},{"name":"b"}]}"#;
    lowers(V2025_11_25, &ToolsList, task, task);
    for revision in [V2024_11_05, V2025_03_26, V2025_06_18] {
        lowers(revision, &ToolsList, task, bare);
    }
    let newest = r#"{"tools":[{"name":"a"},{"name":"b"}],"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#;
    lowers(V2026_07_28, &ToolsList, task, newest);
}

/// A server chooses how many texts stand beside a string that is its structured content.
#[test]
fn many_texts_beside_a_long_string_take_linear_time() {
    let block = r#"{"type":"text","text":"1"}"#;
    let content = vec![block; 4_000].join(",");
    let long = "\\u00e9".repeat(200_000);
    let result = json(&format!(r#"{{"content":[{content}],"structuredContent":"{long}"}}"#));
    let started = std::time::Instant::now();
    assert_eq!(crate::compat::with_json_block(&result, &result), result);
    let took = started.elapsed();
    assert!(took < std::time::Duration::from_secs(5), "{took:?}");
}
