//! Questions and their answers.

use super::{json, same};
use crate::compat::{lift_answer, lift_input_request, lower_answer, lower_input_request};
use crate::method::Method::{self, CreateMessage, Elicit, RootsList};
use crate::revision::Revision::{
    self, V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28,
};

#[track_caller]
fn asks(revision: Revision, method: &Method, newest: &str, expected: Result<&str, &str>) {
    let found = lower_input_request(revision, method, Some(&json(newest)), "e1");
    let found = found.map(|params| params.map(|params| params.to_string()).unwrap_or_default());
    let found = found.map_err(|error| error.to_string());
    assert_eq!(found.as_deref(), expected.map_err(str::to_owned).as_ref().copied(), "{revision}");
}

fn form(field: &str) -> String {
    format!(
        r#"{{"message":"m","requestedSchema":{{"type":"object","properties":{{"f":{field}}}}}}}"#
    )
}

fn message(content: &str) -> String {
    format!(r#"{{"messages":[{{"role":"user","content":{content}}}],"maxTokens":9}}"#)
}

#[test]
fn forms_exist_since_2025_06_18() {
    let moded = r#"{"mode":"form","message":"m"}"#;
    asks(
        V2024_11_05,
        &Elicit,
        moded,
        Err("protocol revision 2024-11-05 cannot ask the user for input"),
    );
    asks(
        V2025_03_26,
        &Elicit,
        moded,
        Err("protocol revision 2025-03-26 cannot ask the user for input"),
    );
    asks(V2025_06_18, &Elicit, moded, Ok(r#"{"message":"m"}"#));
    asks(V2025_11_25, &Elicit, moded, Ok(moded));
    asks(V2026_07_28, &Elicit, moded, Ok(moded));
}

#[test]
fn urls_exist_since_2025_11_25() {
    let visit = r#"{"mode":"url","url":"https://a.example"}"#;
    asks(
        V2025_06_18,
        &Elicit,
        visit,
        Err("protocol revision 2025-06-18 cannot send the user to a URL"),
    );
    let named = r#"{"mode":"url","url":"https://a.example","elicitationId":"e1"}"#;
    asks(V2025_11_25, &Elicit, visit, Ok(named));
    asks(V2026_07_28, &Elicit, visit, Ok(visit));
}

#[test]
fn fields_fit_the_revision() {
    let titled = form(
        r#"{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g"}],"title":"F"}"#,
    );
    let legacy = form(r#"{"type":"string","title":"F","enum":["r","g"],"enumNames":["Red","g"]}"#);
    asks(V2025_06_18, &Elicit, &titled, Ok(&legacy));
    asks(V2025_06_18, &Elicit, &legacy, Ok(&legacy));
    let several = form(r#"{"type":"array","items":{"enum":["a"]}}"#);
    let reason = "protocol revision 2025-06-18 cannot ask for `f`, which takes several values";
    asks(V2025_06_18, &Elicit, &several, Err(reason));
    let open = form(r#"{"oneOf":[{"title":"a"}]}"#);
    let reason =
        "protocol revision 2025-06-18 cannot ask for `f`, which has a choice without a value";
    asks(V2025_06_18, &Elicit, &open, Err(reason));
    for rich in [titled, several, open] {
        asks(V2025_11_25, &Elicit, &rich, Ok(&rich));
    }
}

#[test]
fn sampling_messages_fit_the_revision() {
    let one = message(r#"{"type":"text","text":"a"}"#);
    let listed = message(r#"[{"type":"text","text":"a"}]"#);
    let two = message(r#"[{"type":"text"},{"type":"text"}]"#);
    let tool_use = message(r#"[{"type":"tool_use"}]"#);
    let audio = message(r#"{"type":"audio"}"#);
    for revision in [V2024_11_05, V2025_03_26, V2025_06_18] {
        asks(revision, &CreateMessage, &one, Ok(&one));
        asks(revision, &CreateMessage, &listed, Ok(&one));
        let reason =
            format!("protocol revision {revision} wants one content block in a message, not 2");
        asks(revision, &CreateMessage, &two, Err(&reason));
        let reason = format!("protocol revision {revision} cannot offer tools to the model");
        asks(revision, &CreateMessage, &tool_use, Err(&reason));
        asks(revision, &CreateMessage, r#"{"tools":[{"name":"t"}]}"#, Err(&reason));
        asks(revision, &CreateMessage, r#"{"tools":[],"toolChoice":{}}"#, Ok("{}"));
    }
    let reason = "protocol revision 2024-11-05 cannot show content of type `audio` to the model";
    asks(V2024_11_05, &CreateMessage, &audio, Err(reason));
    asks(V2025_03_26, &CreateMessage, &audio, Ok(&audio));
    for any in [&one, &listed, &two, &tool_use, &audio] {
        asks(V2025_11_25, &CreateMessage, any, Ok(any));
        asks(V2026_07_28, &CreateMessage, any, Ok(any));
    }
}

#[test]
fn roots_have_no_params_to_change() {
    for revision in Revision::ALL {
        assert_eq!(lower_input_request(revision, &RootsList, None, ""), Ok(None));
        assert_eq!(lift_input_request(revision, &RootsList, None), None);
        asks(revision, &RootsList, r#"{"_meta":{"a":1}}"#, Ok(r#"{"_meta":{"a":1}}"#));
    }
}

#[test]
fn questions_are_lifted() {
    let lifts = |revision, method: &Method, older: &str, expected: &str| {
        let found = lift_input_request(revision, method, Some(&json(older)));
        same(&revision, &found.expect("params stay params"), expected);
    };
    let visit = r#"{"mode":"url","url":"u","elicitationId":"e","task":{}}"#;
    lifts(V2025_11_25, &Elicit, visit, r#"{"mode":"url","url":"u"}"#);
    lifts(V2025_11_25, &CreateMessage, r#"{"maxTokens":1,"task":{}}"#, r#"{"maxTokens":1}"#);
    lifts(V2025_06_18, &Elicit, &form(r#"{"enum":["a"]}"#), &form(r#"{"enum":["a"]}"#));
    lifts(V2026_07_28, &Elicit, visit, visit);
}

#[test]
fn answers_keep_their_form() {
    let hop = r#"{"action":"accept","_meta":{"io.modelcontextprotocol/related-task":{}}}"#;
    same(&"lift", &lift_answer(V2025_11_25, &Elicit, &json(hop)), r#"{"action":"accept"}"#);
    same(&"lower", &lower_answer(V2025_11_25, &Elicit, &json(hop)), r#"{"action":"accept"}"#);
    same(&"newest", &lift_answer(V2026_07_28, &Elicit, &json(hop)), hop);

    let text = |text| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let answer = |content: &str| format!(r#"{{"model":"m","content":{content}}}"#);
    let (a, b, image) = (text("a"), text("b"), r#"{"type":"image"}"#);
    let cases = [
        (answer(&a), answer(&a)),
        (answer(&format!("[{a}]")), answer(&a)),
        (answer(&format!("[{a},{b}]")), answer(&text("a\\nb"))),
        (answer(&format!("[{a},{image}]")), answer(&format!("[{a},{image}]"))),
        (answer("[]"), answer("[]")),
    ];
    for (newest, lowered) in cases {
        same(&newest, &lower_answer(V2025_06_18, &CreateMessage, &json(&newest)), &lowered);
        same(&newest, &lower_answer(V2025_11_25, &CreateMessage, &json(&newest)), &newest);
    }
}
