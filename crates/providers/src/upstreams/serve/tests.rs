//! What of a call is changed on its way.

use gantry_gateway::{Caller, Input};

use super::super::fixture::raw;
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
        assert_eq!(renamed(&method, &raw(params), "x").as_str(), expected, "{method}");
    }
}

#[test]
fn what_the_client_brought_along_goes_its_own_way() {
    let params = raw(r#"{"name":"x","inputResponses":{"old":1},"requestState":"old","v":1}"#);
    let mut call = Call::new(Method::ToolsCall, params.clone(), Arc::new(Caller::new("someone")));
    let (responses, state) = (Some(raw(r#"{"new":1}"#)), Some(raw(r#""new""#)));
    call.input = Input { responses: responses.clone(), state: state.clone() };
    let request = request(&call, params);
    assert_eq!(request.params.as_str(), r#"{"name":"x","v":1}"#);
    assert_eq!((request.input.entries, request.input.state), (responses, state));
}
