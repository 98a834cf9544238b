//! Lifting and lowering survive any value, and lowering twice is lowering once.
#![no_main]

use gantry_protocol::{JsonLimits, Method, RawJson, Revision, compat, headers};
use libfuzzer_sys::fuzz_target;

const METHODS: [Method; 7] = [
    Method::ToolsCall,
    Method::ToolsList,
    Method::PromptsGet,
    Method::Complete,
    Method::Elicit,
    Method::CreateMessage,
    Method::Progress,
];

fuzz_target!(|data: &[u8]| {
    let Some((&choice, text)) = data.split_first() else {
        return;
    };
    let Ok(raw) = RawJson::parse(text.to_vec(), JsonLimits::default()) else {
        return;
    };
    let revision = Revision::ALL[usize::from(choice) % Revision::ALL.len()];
    let method = &METHODS[usize::from(choice >> 4) % METHODS.len()];

    let lowered = compat::lower_result(revision, method, &raw);
    assert_eq!(compat::lower_result(revision, method, &lowered), lowered);
    let lifted = compat::lift_result(revision, method, &raw);
    assert_eq!(compat::lift_result(revision, method, &lifted), lifted);
    let lowered = compat::lower_params(revision, method, &raw);
    assert_eq!(compat::lower_params(revision, method, &lowered), lowered);
    let lowered = compat::lower_notification(revision, method, &raw);
    assert_eq!(compat::lower_notification(revision, method, &lowered), lowered);
    if let Ok(Some(lowered)) = compat::lower_input_request(revision, method, Some(&raw), "id") {
        let twice = compat::lower_input_request(revision, method, Some(&lowered), "id");
        assert_eq!(twice, Ok(Some(lowered)));
    }
    let _ = compat::lift_params(revision, method, &raw);
    let _ = compat::lift_notification(revision, method, &raw);
    let _ = compat::lift_input_request(revision, method, Some(&raw));
    let _ = compat::lift_answer(revision, method, &raw);
    let _ = compat::lower_answer(revision, method, &raw);
    let lifted = compat::lift_client_capabilities(revision, &raw);
    assert_eq!(compat::lift_client_capabilities(revision, &lifted), lifted);
    let lowered = compat::lower_server_capabilities(revision, &raw);
    assert_eq!(compat::lower_server_capabilities(revision, &lowered), lowered);
    let _ = headers::argument_headers(&raw);
});
