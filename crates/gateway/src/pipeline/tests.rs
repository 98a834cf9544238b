//! The order of the stages, and what each does to a call that fails in it.

mod late;
mod probe;
mod statistics;
mod traces;

use std::sync::Arc;
use std::time::Duration;

use gantry_protocol::{ClientCapabilities, Method, RawJson};

use self::probe::{Fixture, call_tool, ended, raw};
use super::STAGES;
use crate::{Call, CallEvent, Caller, ErrorKind, Reply, Settings, TokenLease};

/// A call that ends in one stage: what was seen until then, and what it came to.
struct Case {
    stage: &'static str,
    tool: &'static str,
    arguments: &'static str,
    calls_in_flight: usize,
    seen: &'static str,
    outcome: &'static str,
}

/// Each case breaks the rules of a later stage too, where one can: the earlier one must win.
const CASES: [Case; 11] = [
    Case::new(
        "metrics and observers",
        "good",
        "{}",
        "request-filter call-filter begun provider permit observer",
        "ok",
    ),
    Case {
        calls_in_flight: 0,
        ..Case::new("in flight", "locked", "{}", "observer", "LimitExceeded")
    },
    Case::new("request filters", "locked", "{}", "request-filter observer", "Refused"),
    Case::new("resolve", "absent", "{}", "request-filter observer", "ToolNotFound"),
    Case::new(
        "defaults",
        "defaulted",
        r#"{"n":"no number"}"#,
        "request-filter call-filter observer",
        "Refused",
    ),
    Case::new(
        "call filters",
        "warded",
        r#"{"n":"no number"}"#,
        "request-filter call-filter observer",
        "Refused",
    ),
    Case::new(
        "arguments",
        "hangs",
        r#"{"n":"no number"}"#,
        "request-filter call-filter permit observer",
        "ValidationError",
    ),
    Case::new(
        "begun",
        "unrecorded",
        "{}",
        "request-filter call-filter begun permit observer",
        "Internal",
    ),
    Case::new(
        "deadline",
        "hangs",
        "{}",
        "request-filter call-filter begun provider permit observer",
        "TimeoutError",
    ),
    Case::new(
        "provider",
        "fails",
        "{}",
        "request-filter call-filter begun provider permit observer",
        "ToolExecutionError",
    ),
    Case::new(
        "result",
        "lies",
        "{}",
        "request-filter call-filter begun provider permit observer",
        "ValidationError",
    ),
];

impl Case {
    const fn new(
        stage: &'static str,
        tool: &'static str,
        arguments: &'static str,
        seen: &'static str,
        outcome: &'static str,
    ) -> Self {
        Self { stage, tool, arguments, calls_in_flight: 1, seen, outcome }
    }
}

#[tokio::test(start_paused = true)]
async fn a_face_has_the_same_stages() {
    for case in CASES {
        let settings = Settings { calls_in_flight: case.calls_in_flight, ..Settings::default() };
        let main = Fixture::new(settings);
        let virtual_server = main.virtual_server();
        let outcome = virtual_server.run(call_tool(case.tool, case.arguments)).await;
        assert_eq!(main.seen(), case.seen, "{}", case.stage);
        assert_eq!(ended(&outcome), case.outcome, "{}", case.stage);
    }
}

#[tokio::test(start_paused = true)]
async fn a_face_shares_limits_and_numbers_but_no_tools() {
    let main = Fixture::new(Settings { calls_in_flight: 1, ..Settings::default() });
    let virtual_server = main.virtual_server();
    main.publisher.withdraw();
    assert_eq!(ended(&main.run(call_tool("good", "{}")).await), "ToolNotFound");
    let mut hangs = virtual_server.gateway.start(call_tool("hangs", "{}"));
    assert!(tokio::time::timeout(Duration::from_secs(1), hangs.next_event()).await.is_err());
    assert_eq!(main.gateway.calls_in_flight(), 1);
    assert_eq!(ended(&main.run(call_tool("good", "{}")).await), "LimitExceeded");
    drop(hangs);
    assert_eq!(ended(&virtual_server.run(call_tool("good", "{}")).await), "ok");
    let counted = main.gateway.statistics();
    assert_eq!(counted.iter().find(|it| it.name == "good").map(|it| it.calls), Some(1));
    assert_eq!(virtual_server.gateway.identity().info.get("name").unwrap().as_str(), r#""face""#);
}

#[tokio::test(start_paused = true)]
async fn the_stages_stand_in_their_order() {
    assert_eq!(CASES.map(|case| case.stage), STAGES);
    for case in CASES {
        let settings = Settings { calls_in_flight: case.calls_in_flight, ..Settings::default() };
        let fixture = Fixture::new(settings);
        let outcome = fixture.run(call_tool(case.tool, case.arguments)).await;
        assert_eq!(fixture.seen(), case.seen, "{}", case.stage);
        assert_eq!(ended(&outcome), case.outcome, "{}", case.stage);
        assert_eq!(fixture.witnessed(), [case.outcome], "{}", case.stage);
        assert_eq!(fixture.gateway.metrics().total(), 1, "{} is metered", case.stage);
        assert_eq!(fixture.gateway.calls_in_flight(), 0, "{} gives its place back", case.stage);
    }
}

#[tokio::test(start_paused = true)]
async fn lists_pass_the_limits_but_need_no_target() {
    let fixture = Fixture::new(Settings::default());
    let caller = Arc::new(Caller::new("someone"));
    let call = Call::new(Method::ToolsList, RawJson::EMPTY_OBJECT, caller);
    assert_eq!(ended(&fixture.run(call).await), "page");
    assert_eq!(fixture.seen(), "request-filter observer");
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_the_failure_of_its_call_alone() {
    let fixture = Fixture::new(Settings { calls_in_flight: 1, ..Settings::default() });
    for tool in ["panics", "panics_at_once"] {
        let outcome = fixture.run(call_tool(tool, "{}")).await;
        assert_eq!(ended(&outcome), "ToolExecutionError", "{tool}");
        let Ok(Reply::Result(result)) = outcome else { panic!("a tool's failure is a result") };
        assert!(!result.as_str().contains("secret"), "the panic's text is private: {result:?}");
    }
    assert_eq!(fixture.gateway.metrics().total(), 2);
    assert_eq!(ended(&fixture.run(call_tool("good", "{}")).await), "ok");
}

#[tokio::test(start_paused = true)]
async fn a_call_given_up_is_metered_and_witnessed() {
    let fixture = Fixture::new(Settings { calls_in_flight: 1, ..Settings::default() });
    let mut running = fixture.gateway.start(call_tool("hangs", "{}"));
    let waiting = tokio::time::timeout(Duration::from_millis(1), running.next_event()).await;
    assert!(waiting.is_err(), "the call hangs");
    drop(running);
    assert_eq!(fixture.witnessed(), ["Cancelled"]);
    assert_eq!(fixture.gateway.metrics().total(), 1);
    assert_eq!(fixture.gateway.calls_in_flight(), 0);
    assert_eq!(ended(&fixture.run(call_tool("good", "{}")).await), "ok", "its place is free again");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_counts_the_tools_time_only() {
    const DAY: Duration = Duration::from_secs(24 * 3600);
    let cases = [
        // Work before and after the question, in tenths of the deadline, and how it ends.
        (4, 4, "ok"),
        (9, 0, "ok"),
        (4, 8, "TimeoutError"),
        (11, 0, "TimeoutError"),
    ];
    for (before, after, expected) in cases {
        let settings = Settings { deadline: Duration::from_secs(10), ..Settings::default() };
        let fixture = Fixture::new(settings);
        let arguments = format!(r#"{{"before":{before},"after":{after}}}"#);
        let mut asked = false;
        let mut running = fixture.gateway.start(asking(call_tool("asks", &arguments)));
        let outcome = loop {
            match running.next_event().await {
                CallEvent::InputRequests(input_requests) => {
                    asked = true;
                    // Nobody steps a call that is set aside; its clock must stand still anyway.
                    tokio::time::sleep(DAY).await;
                    for input_request in input_requests {
                        let _ = input_request.answer.send(Ok(raw(r#"{"roots":[]}"#)));
                    }
                }
                CallEvent::Done(outcome) => break outcome,
                CallEvent::Notification(notification) => panic!("{notification:?}"),
            }
        };
        assert_eq!(ended(&outcome), expected, "{before} and {after} tenths");
        assert_eq!(asked, before < 10, "{before} and {after} tenths");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_open_while_stepped_stops_the_clock() {
    let settings = Settings { deadline: Duration::from_secs(10), ..Settings::default() };
    let fixture = Fixture::new(settings);
    let mut running = fixture.gateway.start(asking(call_tool("asks", r#"{"before":4,"after":4}"#)));
    let CallEvent::InputRequests(mut input_requests) = running.next_event().await else {
        panic!("it asks")
    };
    let waited = tokio::time::timeout(Duration::from_secs(500), running.next_event()).await;
    assert!(waited.is_err(), "the client's time is not the tool's: {waited:?}");
    let input_request = input_requests.remove(0);
    input_request.answer.send(Ok(raw(r#"{"roots":[]}"#))).expect("the call waits");
    let CallEvent::Done(outcome) = running.next_event().await else { panic!("it ends") };
    assert_eq!(ended(&outcome), "ok");
}

#[tokio::test(start_paused = true)]
async fn a_provider_may_ask_by_reply_so_often_and_no_more() {
    for (rounds, needed, expected) in [(3, 3, "ok"), (3, 4, "ToolExecutionError"), (0, 0, "ok")] {
        let fixture = Fixture::new(Settings { input_rounds: rounds, ..Settings::default() });
        let arguments = format!(r#"{{"rounds":{needed}}}"#);
        let mut running = fixture.gateway.start(asking(call_tool("inquires", &arguments)));
        let outcome = loop {
            match running.next_event().await {
                CallEvent::InputRequests(input_requests) => {
                    input_requests.into_iter().for_each(|input_request| {
                        let _ = input_request.answer.send(Ok(raw(r#"{"roots":[]}"#)));
                    });
                }
                CallEvent::Done(outcome) => break outcome,
                CallEvent::Notification(notification) => panic!("{notification:?}"),
            }
        };
        assert_eq!(ended(&outcome), expected, "{needed} of {rounds} rounds");
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_only_wants_to_be_called_again_is_after_longer_and_longer_pauses() {
    // The seconds there are, how often it sends the call away, how often it is called.
    let cases = [
        (1, 0, 1, "ok"),
        (1, 3, 4, "ok"),
        (1, 4, 4, "TimeoutError"),
        (30, 4, 5, "ok"),
        (30, 1_000, 14, "TimeoutError"),
        (300, 40, 41, "ok"),
    ];
    for (seconds, needed, calls, expected) in cases {
        let deadline = Duration::from_secs(seconds);
        let fixture = Fixture::new(Settings { deadline, input_rounds: 1, ..Settings::default() });
        let outcome = fixture.run(call_tool("sheds", &format!(r#"{{"rounds":{needed}}}"#))).await;
        assert_eq!(ended(&outcome), expected, "{needed} in {seconds} s");
        assert_eq!(fixture.seen().matches("provider").count(), calls, "{needed} in {seconds} s");
    }
    let fixture = Fixture::new(Settings::default());
    let mut call = call_tool("sheds", r#"{"rounds":1}"#);
    call.takes_input_requests = true;
    assert_eq!(ended(&fixture.run(call).await), "input required", "such a client waits itself");
}

#[tokio::test(start_paused = true)]
async fn questions_that_the_client_cannot_answer_are_not_handed_over() {
    for takes_input_requests in [true, false] {
        let fixture = Fixture::new(Settings::default());
        let mut call = call_tool("inquires", r#"{"rounds":1}"#);
        call.takes_input_requests = takes_input_requests;
        let outcome = fixture.run(call).await;
        let Err(error) = outcome else { panic!("{takes_input_requests}: {outcome:?}") };
        assert!(matches!(error.kind, ErrorKind::MissingCapability { .. }), "{error:?}");
    }
    let fixture = Fixture::new(Settings::default());
    let mut call = asking(call_tool("inquires", r#"{"rounds":1}"#));
    call.takes_input_requests = true;
    assert_eq!(ended(&fixture.run(call.clone()).await), "input required");
    let mut running = fixture.gateway.start(call);
    running.run_by_itself();
    let next_event = running.next_event().await;
    assert!(
        matches!(next_event, CallEvent::InputRequests(_)),
        "with no reply left to carry them: {next_event:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_nobody_answers_ends_the_call() {
    let fixture = Fixture::new(Settings::default());
    let mut running = fixture.gateway.start(asking(call_tool("asks", r#"{"before":0,"after":0}"#)));
    let CallEvent::InputRequests(input_requests) = running.next_event().await else {
        panic!("it asks")
    };
    drop(input_requests);
    let CallEvent::Done(outcome) = running.next_event().await else { panic!("it ends") };
    assert_eq!(ended(&outcome), "Cancelled");
}

/// The same call by a client that answers questions about its folders.
fn asking(mut call: Call) -> Call {
    let capabilities = ClientCapabilities::read(raw(r#"{"roots":{}}"#));
    call.caller = Arc::new(Caller { capabilities, ..Caller::new("someone") });
    call
}

/// Two readers could act on different values.
#[tokio::test(start_paused = true)]
async fn a_member_that_stands_in_the_arguments_twice_is_refused() {
    let cases = [
        (r#"{"n":1}"#, "ok"),
        (r#"{"n":1,"n":2}"#, "InvalidParams"),
        (r#"{"n":1,"more":{"deep":[{"a":1,"\u0061":2}]}}"#, "InvalidParams"),
        (r#"{"n":1,"more":[{"a":1},{"a":2}]}"#, "ok"),
        ("[]", "InvalidParams"),
    ];
    for (arguments, expected) in cases {
        let fixture = Fixture::new(Settings::default());
        let outcome = fixture.run(call_tool("good", arguments)).await;
        assert_eq!(ended(&outcome), expected, "{arguments}");
        assert_eq!(fixture.seen().contains("provider"), expected == "ok", "{arguments}");
    }
}

/// A credential that ends while a call filter waits is good for nothing, however the call came.
#[tokio::test(start_paused = true)]
async fn a_call_whose_credential_ends_while_it_waits_is_refused() {
    for ends in [false, true] {
        let fixture = Fixture::new(Settings::default());
        let lease = Arc::new(TokenLease::default());
        let caller = Caller { lease: Some(lease.clone()), ..Caller::new("someone") };
        let call = Call { caller: Arc::new(caller), ..call_tool("good", "{}") };
        let revocation = async {
            // The call filter waits for a day.
            tokio::time::sleep(Duration::from_secs(3600)).await;
            if ends {
                lease.end();
            }
        };
        let (outcome, ()) = tokio::join!(fixture.run(call), revocation);
        assert_eq!(ended(&outcome), if ends { "Refused" } else { "ok" });
        assert_eq!(fixture.seen().contains("provider"), !ends);
    }
}
