//! What of a call is changed on its way.

use gantry_gateway::{Caller, Input};
use gantry_protocol::ParamsHead;

use super::super::tests::fixture::raw;
use super::*;

#[test]
fn only_the_name_of_the_target_is_changed() {
    let cases = [
        (
            Method::ToolsCall,
            r#"{ "name":"s_x", "arguments":{"big":12345678901234567890,"f":1.50}, "v":1 }"#,
            r#"{ "name":"x", "arguments":{"big":12345678901234567890,"f":1.50}, "v":1 }"#,
        ),
        (Method::ToolsCall, r#"{"name":"x"}"#, r#"{"name":"x"}"#),
        (Method::PromptsGet, r#"{"name":"s_x","arguments":{}}"#, r#"{"name":"x","arguments":{}}"#),
        (Method::ResourcesRead, r#"{"uri":"gantry://s/x","y":1}"#, r#"{"uri":"x","y":1}"#),
        (
            Method::Complete,
            r#"{"ref":{"type":"ref/prompt","name":"s_x"},"argument":{"name":"s_x","value":""}}"#,
            r#"{"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"s_x","value":""}}"#,
        ),
        (
            Method::Complete,
            r#"{"argument":{},"ref":{"uri":"gantry://s/x","type":"ref/resource"}}"#,
            r#"{"argument":{},"ref":{"uri":"x","type":"ref/resource"}}"#,
        ),
    ];
    for (method, params, expected) in cases {
        let call = Call::new(method.clone(), raw(params), Arc::new(Caller::new("someone")));
        let request = request(&call, "x");
        assert_eq!(request.params.as_str(), expected, "{method}");
        // What is said to be known must be so.
        if let Some(head) = request.head {
            let read = ParamsHead::read(&request.params);
            assert_eq!(format!("{head:?}"), format!("{read:?}"), "{method}");
        }
    }
}

#[test]
fn what_the_client_brought_along_goes_its_own_way() {
    let params = raw(r#"{"name":"x","inputResponses":{"old":1},"requestState":"old","v":1}"#);
    let mut call = Call::new(Method::ToolsCall, params, Arc::new(Caller::new("someone")));
    let (responses, state) = (Some(raw(r#"{"new":1}"#)), Some(raw(r#""new""#)));
    call.input = Input { responses: responses.clone(), state: state.clone() };
    let request = request(&call, "x");
    assert_eq!(request.params.as_str(), r#"{"name":"x","v":1}"#);
    assert_eq!((request.input.entries, request.input.state), (responses, state));
}

#[test]
fn a_page_that_the_user_declined_is_not_asked_for_again() {
    let page = r#"{"v":{"method":"elicitation/create","params":{"mode":"url"}}}"#;
    let form = r#"{"v":{"method":"elicitation/create","params":{"mode":"form"}}}"#;
    let cases = [
        (page, None, false),
        (page, Some(r#"{"v":{"action":"accept"}}"#), false),
        (page, Some(r#"{"v":{"action":"decline"}}"#), true),
        (page, Some(r#"{"w":{"action":"decline"}}"#), false),
        (form, Some(r#"{"v":{"action":"cancel"}}"#), false),
    ];
    for (requests, answers, expected) in cases {
        let required = gantry_gateway::InputRequired { requests: Some(raw(requests)), state: None };
        let answers = answers.map(raw);
        assert_eq!(is_declined(&required, answers.as_ref()), expected, "{requests} {answers:?}");
    }
}

#[test]
fn a_server_that_demands_tasks_is_told_that_they_are_known() {
    let error = |data: &str| ClientError::Answered(RpcError::new(-32021, "").with_data(raw(data)));
    let tasks = r#"{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#;
    assert!(demands_tasks(&error(tasks)));
    assert!(!demands_tasks(&error(r#"{"requiredCapabilities":{"sampling":{}}}"#)));
    let told = with_tasks(&raw(r#"{"roots":{},"extensions":{"a/b":{"c":1}}}"#));
    let expected =
        r#"{"roots":{},"extensions":{"a/b":{"c":1},"io.modelcontextprotocol/tasks":{}}}"#;
    assert_eq!(told.as_str(), expected);
}
