//! Batches: what is refused, in which order calls run, what they take from each other and what
//! becomes of those that fail.

mod fixture;

use std::sync::Arc;
use std::time::{Duration, Instant};

use gantry_protocol::{ClientCapabilities, RawJson};
use serde_json::{Value, json};

use self::fixture::{Fixture, batch};
use super::reference::{Reference, fill, pointed};
use crate::{Call, CallEvent, CallNotification, Caller, Settings};

#[tokio::test(start_paused = true)]
async fn what_is_wrong_is_said_before_anything_runs() {
    let call =
        |id: &str, arguments: Value| json!({"id": id, "name": "echo", "arguments": arguments});
    let many: Vec<Value> = (0..6).map(|it| call(&format!("c{it}"), json!({}))).collect();
    let from = |id: &str| json!({"$from": id});
    let cases = [
        (json!({}), "`calls` must be an array"),
        (json!({"calls": {}}), "`calls` must be an array"),
        (json!({"calls": [7]}), "call 1 of the batch must have an `id`"),
        (json!({"calls": [call("a", json!({})), call("a b", json!({}))]}), "call 2 of the batch"),
        (json!({"calls": [call("a", json!({})), call("a", json!({}))]}), "have the id `a`"),
        (json!({"calls": many}), "may hold 5 calls"),
        (json!({"calls": [{"id": "a"}]}), "call `a`: it must have a `name`"),
        (json!({"calls": [{"id": "a", "name": 7}]}), "call `a`: it must have a `name`"),
        (json!({"calls": [{"id": "a", "uri": "u", "name": "n"}]}), "call `a`: it must have"),
        (json!({"calls": [{"id": "a", "uri": "u", "arguments": {}}]}), "without `arguments`"),
        (json!({"calls": [{"id": "a", "name": "n", "args": {}}]}), "`args` is not a member"),
        (json!({"calls": [{"id": "a", "name": "n", "after": "b"}]}), "`after` must be an array"),
        (json!({"calls": [{"id": "a", "name": "n", "after": [1]}]}), "`after` must be an array"),
        (json!({"calls": [{"id": "a", "name": "n", "after": ["x"]}]}), "needs `x`, which is not"),
        (json!({"calls": [call("a", json!({"text": from("x")}))]}), "`a` needs `x`"),
        (json!({"calls": [call("a", json!({"text": "${x./y}"}))]}), "`a` needs `x`"),
        (json!({"calls": [call("a", json!({"text": from("a")}))]}), "wait for each other: `a`"),
        (
            json!({"calls": [call("a", json!({"x": from("b")})), call("ok", json!({})),
                {"id": "b", "name": "echo", "after": ["a"]}]}),
            "wait for each other: `a`, `b`",
        ),
        (json!({"calls": [call("a", json!({"x": {"$from": 7}}))]}), "by its id, a string"),
        (json!({"calls": [call("a", json!({"x": {"$from": "a", "y": 1}}))]}), "not `y`"),
        (json!({"calls": [call("a", json!({"x": {"$from": "a", "path": "y"}}))]}), "begins with"),
        (
            json!({"calls": [call("a", json!([from("b"), from("b"), from("b")])), call("b", json!({}))]}),
            "refers too often",
        ),
        (json!({"calls": [], "onError": "panic"}), "`onError` is"),
    ];
    let settings = Settings { batch_calls: 5, batch_references: 2, ..Settings::default() };
    let fixture = Fixture::new(settings);
    for (plan, expected) in cases {
        let error = fixture.run(batch(&plan)).await.expect_err(expected);
        assert!(error.public.contains(expected), "{plan}: {}", error.public);
    }
    assert_eq!(fixture.seen(), "", "nothing ran");
}

/// The entries of a result, in words: `a:ok`.
fn summary(result: &Value) -> String {
    let entries = result["results"].as_array().expect("results");
    let words = entries.iter().map(|entry| {
        format!("{}:{}", entry["id"].as_str().unwrap(), entry["status"].as_str().unwrap())
    });
    words.collect::<Vec<_>>().join(" ")
}

#[tokio::test(start_paused = true)]
async fn calls_run_when_what_they_need_is_there() {
    let tool =
        |id: &str, name: &str, after: &[&str]| json!({"id": id, "name": name, "after": after});
    let cases = [
        (json!([]), "continue", "", ""),
        (
            json!([tool("a", "echo", &["b"]), tool("b", "echo", &[])]),
            "continue",
            "a:ok b:ok",
            "b a",
        ),
        (
            json!([
                tool("a", "fail", &[]),
                tool("b", "echo", &["a"]),
                tool("c", "echo", &["b"]),
                tool("d", "echo", &[])
            ]),
            "continue",
            "a:error b:skipped c:skipped d:ok",
            "a d",
        ),
        (
            json!([tool("a", "nothing", &[]), tool("b", "echo", &["a"]), tool("c", "echo", &[])]),
            "continue",
            "a:error b:skipped c:ok",
            "c",
        ),
        (
            json!([tool("a", "fail", &[]), tool("b", "slow", &[]), tool("c", "echo", &["b"])]),
            "stop",
            "a:error b:ok c:skipped",
            "a b",
        ),
        (
            json!([{"id": "a", "uri": "test://one"}, {"id": "b", "uri": "test://two"}]),
            "continue",
            "a:ok b:error",
            "a",
        ),
    ];
    for (mut calls, on_error, expected, seen) in cases {
        for call in calls.as_array_mut().unwrap() {
            if call.get("name").is_some() {
                call["arguments"] = json!({"id": call["id"]});
            }
        }
        let fixture = Fixture::new(Settings::default());
        let plan = json!({"calls": calls, "onError": on_error});
        let result = fixture.result(batch(&plan)).await;
        assert_eq!(summary(&result), expected, "{plan}");
        assert_eq!(fixture.seen(), seen, "{plan}");
        assert_eq!(result["resultType"], "complete");
    }
}

#[tokio::test(start_paused = true)]
async fn every_entry_says_why() {
    let plan = json!({"calls": [
        {"id": "fails", "name": "fail"},
        {"id": "absent", "name": "nothing"},
        {"id": "needs", "name": "echo", "after": ["fails"]},
        {"id": "fine", "name": "echo", "arguments": {"id": "fine"}},
        {"id": "misses", "name": "echo", "arguments": {"x": {"$from": "fine", "path": "/no"}}},
    ]});
    let result = Fixture::new(Settings::default()).result(batch(&plan)).await;
    let cases = [
        ("/results/0/result/isError", json!(true)),
        ("/results/1/error/error_type", json!("ToolNotFoundError")),
        ("/results/2/reason", json!("it needs `fails`, which failed")),
        ("/results/3/result/structuredContent/id", json!("fine")),
        ("/results/4/error/error_message", json!("the result of `fine` has nothing at `/no`")),
        ("/results/4/result", Value::Null),
    ];
    for (place, expected) in cases {
        assert_eq!(result.pointer(place).unwrap_or(&Value::Null), &expected, "{place} in {result}");
    }
}

/// Text that looks like many beginnings of references takes as long as it is large: no caller keeps
/// a thread from all others with it.
#[test]
fn beginnings_without_an_end_take_linear_time() {
    let cases = [
        ("${", ""),
        ("${", "}"),
        ("${a", "}"),
        ("${a./", ""),
        ("${a.", " }"),
        ("$${a./", ""),
        ("<a", " response>"),
    ];
    for (beginning, end) in cases {
        let text = RawJson::string(&format!("{}{end}", beginning.repeat(500_000)));
        let started = Instant::now();
        let filled = fill(&text, &mut |_| Ok(RawJson::NULL)).unwrap();
        assert_eq!(filled, None, "{beginning} {end}");
        // Looking for the end from each of them would take minutes.
        assert!(started.elapsed() < Duration::from_secs(10), "{beginning} {end}");
    }
}

#[test]
fn references_are_filled_in() {
    let answer = RawJson::from_static(
        r#"{"structuredContent":{"n":1.50,"a/b":{"~":[true,null]},"s":"q\"x"},"content":[{"text":"hi"}]}"#,
    );
    let cases = [
        (r#"{"x":{"$from":"a","path":"/structuredContent/n"}}"#, Some(r#"{"x":1.50}"#)),
        (r#"[0,{"$from":"a","path":"/content"}]"#, Some(r#"[0,[{"text":"hi"}]]"#)),
        (r#"{"$from":"a","path":"/structuredContent/a~1b/~0/0"}"#, Some("true")),
        (r#""<${a./content/0/text}>""#, Some(r#""<hi>""#)),
        (r#""${a./structuredContent/n}${a./structuredContent/s}""#, Some(r#""1.50q\"x""#)),
        (r#""$${a./content}""#, Some(r#""${a./content}""#)),
        (r#""${HOME} ${a.b} ${a} ${ $${x} ${.}""#, None),
        (r#"{"n": 1.0, "m" : [ 2 ]}"#, None),
        (
            r#"{ "k\u0031" : [1.0,"${a./content/0/text}"], "m":1e3 }"#,
            Some(r#"{"k1":[1.0,"hi"],"m":1e3}"#),
        ),
    ];
    for (given, expected) in cases {
        let mut find = |reference: &Reference| {
            assert_eq!(reference.id, "a", "{given}");
            Ok(pointed(&answer, &reference.path, &mut 0).expect("something is there"))
        };
        let filled = fill(&RawJson::from_static(given), &mut find).unwrap();
        assert_eq!(filled.as_ref().map(RawJson::as_str), expected, "{given}");
    }
    for path in
        ["/x", "/content/1", "/content/00", "/content/-1", "/content/+0", "/content/0/text/0"]
    {
        assert_eq!(pointed(&answer, path, &mut 0), None, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn results_do_not_grow_without_bound() {
    let first = json!({"id": "c0", "name": "echo", "arguments": {"x": "y".repeat(100)}});
    let double = |it: usize| {
        let before = json!({"$from": format!("c{}", it - 1), "path": "/structuredContent"});
        json!({"id": format!("c{it}"), "name": "echo", "arguments": {"x": before, "y": before}})
    };
    let calls: Vec<Value> = [first].into_iter().chain((1..60).map(double)).collect();
    let fixture = Fixture::new(Settings { batch_filled: 10_000, ..Settings::default() });
    let result = fixture.result(batch(&json!({"calls": calls}))).await;
    assert!(summary(&result).contains("c6:ok c7:error c8:skipped"), "{}", summary(&result));
    let error = &result["results"][7]["error"]["error_message"];
    assert!(error.as_str().unwrap().contains("larger than 10000 bytes"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn independent_calls_run_at_the_same_time_within_the_limit() {
    for (parallel, most) in [(0, 1), (1, 1), (3, 3), (20, 10)] {
        let slow = |it| json!({"id": format!("c{it}"), "name": "slow", "arguments": {"id": "c"}});
        let calls: Vec<Value> = (0..10).map(slow).collect();
        let fixture = Fixture::new(Settings { batch_parallel: parallel, ..Settings::default() });
        fixture.result(batch(&json!({"calls": calls}))).await;
        assert_eq!(fixture.most_at_once(), most, "with {parallel} places");
        assert_eq!(fixture.gateway.statistics()[0].calls, 10, "each passes the meter");
    }
}

#[tokio::test(start_paused = true)]
async fn progress_counts_the_calls_that_are_over() {
    let plan = json!({"calls": [
        {"id": "a", "name": "echo"}, {"id": "b", "name": "fail"},
        {"id": "c", "name": "echo", "after": ["b"]},
    ]});
    let fixture = Fixture::new(Settings::default());
    let mut call = batch(&plan);
    call.wants_progress = true;
    let mut running = fixture.gateway.start(call);
    let mut heard = Vec::new();
    loop {
        match running.next_event().await {
            CallEvent::Notification(CallNotification::Progress(params)) => {
                heard.push(params.as_str().to_owned());
            }
            CallEvent::Done(_) => break,
            next_event => panic!("{next_event:?}"),
        }
    }
    let expected =
        ["a ok", "b error", "c skipped"].into_iter().enumerate().map(|(place, message)| {
            format!(r#"{{"progress":{},"total":3,"message":"{message}"}}"#, place + 1)
        });
    assert_eq!(heard, expected.collect::<Vec<_>>());
}

/// The call of a client that can be asked for its folders.
fn asked(mut call: Call) -> Call {
    let capabilities = ClientCapabilities::read(RawJson::from_static(r#"{"roots":{}}"#));
    call.caller = Arc::new(Caller { capabilities, ..Caller::new("someone") });
    call
}

#[tokio::test(start_paused = true)]
async fn questions_carry_the_id_of_their_call() {
    let plan = json!({"calls": [
        {"id": "a", "name": "ask"}, {"id": "b", "name": "inquire"}, {"id": "c", "name": "echo"},
    ]});
    let fixture = Fixture::new(Settings::default());
    let mut call = asked(batch(&plan));
    call.takes_input_requests = true;
    let mut running = fixture.gateway.start(call);
    let mut asked = Vec::new();
    let result = loop {
        match running.next_event().await {
            CallEvent::InputRequests(input_requests) => {
                for input_request in input_requests {
                    asked.push(input_request.key.clone());
                    let answer = RawJson::string(&input_request.key);
                    input_request.answer.send(Ok(answer)).expect("someone waits");
                }
            }
            CallEvent::Done(outcome) => break fixture::read(outcome.expect("a result")),
            next_event => panic!("{next_event:?}"),
        }
    };
    asked.sort();
    assert_eq!(asked, ["a.folders", "b.folders"]);
    assert_eq!(summary(&result), "a:ok b:ok c:ok");
    assert_eq!(result["results"][0]["result"]["structuredContent"]["answer"], "a.folders");
}

#[tokio::test(start_paused = true)]
async fn questions_of_a_reply_wait_until_nothing_else_goes_on() {
    let plan = json!({"calls": [
        {"id": "a", "name": "ask", "arguments": {"id": "a"}},
        {"id": "b", "name": "slow", "arguments": {"id": "b"}},
        {"id": "c", "name": "ask", "after": ["b"], "arguments": {"id": "c"}},
    ]});
    for (takes_input_requests, expected) in
        [(false, ["a.folders"].as_slice()), (true, &["a.folders", "c.folders"])]
    {
        let fixture = Fixture::new(Settings::default());
        let mut call = asked(batch(&plan));
        call.takes_input_requests = takes_input_requests;
        let mut running = fixture.gateway.start(call);
        let CallEvent::InputRequests(input_requests) = running.next_event().await else {
            panic!("questions first")
        };
        let keys: Vec<_> = input_requests.iter().map(|it| it.key.as_str()).collect();
        assert_eq!(keys, expected);
        assert_eq!(fixture.seen(), if takes_input_requests { "b" } else { "" });
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_given_up_gives_up_its_calls() {
    let plan = json!({"calls": [
        {"id": "a", "name": "hang"}, {"id": "b", "name": "hang"},
        {"id": "c", "name": "echo", "after": ["a"], "arguments": {"id": "c"}},
    ]});
    let fixture = Fixture::new(Settings::default());
    let mut running = fixture.gateway.start(batch(&plan));
    assert!(tokio::time::timeout(Duration::from_secs(1), running.next_event()).await.is_err());
    assert_eq!(fixture.gateway.calls_in_flight(), 2);
    drop(running);
    assert_eq!(fixture.gateway.calls_in_flight(), 0);
    assert_eq!(fixture.seen(), "");
}

/// Each reference to the end of a large result is a search through all of it.
#[tokio::test]
async fn references_look_through_so_many_bytes() {
    let list = vec![1; 200_000];
    let many = vec![json!({"$from": "a", "path": "/structuredContent/list/199999"}); 500];
    let plan = json!({"calls": [
        {"id": "a", "name": "echo", "arguments": {"list": list}},
        {"id": "b", "name": "echo", "arguments": {"list": many[..2]}},
        {"id": "c", "name": "echo", "after": ["b"], "arguments": {"list": many}},
        {"id": "d", "name": "echo", "after": ["c"], "arguments": {"list": many[0]}},
    ]});
    let settings = Settings { batch_searched: 4 * 1024 * 1024, ..Settings::default() };
    let fixture = Fixture::new(settings);
    let result = fixture.result(batch(&plan)).await;
    assert_eq!(summary(&result), "a:ok b:ok c:error d:skipped");
    let error = result["results"][2]["error"].to_string();
    assert!(error.contains("look through more than 4194304 bytes"), "{error}");
}

/// The other form of a plan, as the calls that it means.
#[test]
fn requests_are_calls_too() {
    let resource = |id: Value, uri: &str| {
        json!({"resource_call": {"jsonrpc": "2.0", "id": id,
        "method": "resources/read", "params": {"uri": uri, "name": "any"}}})
    };
    let tool = |id: Value, arguments: Value| {
        json!({"tool_call": {"jsonrpc": "2.0", "id": id,
        "method": "tools/call", "params": {"tool_name": "t", "arguments": arguments}}})
    };
    let call = |id: &str, after: Value, arguments: Value| match after.is_null() {
        true => json!({"id": id, "name": "t", "arguments": arguments}),
        false => json!({"id": id, "name": "t", "arguments": arguments, "after": after}),
    };
    let cases = [
        (json!([]), Ok(json!([]))),
        (
            json!([
                resource(json!("A"), "file:///x"),
                tool(json!("B"), json!({"depends": "A", "text": "<A response>"}))
            ]),
            Ok(json!([{"id": "A", "uri": "file:///x"},
                call("B", json!(["A"]), json!({"text": "${A./contents/0/text}"}))])),
        ),
        (
            json!([
                tool(json!(1), json!({})),
                tool(
                    json!("b"),
                    json!({"depends": ["1"],
                "list": ["1 < 2, <1 response>, <2 response>, <1 response", 9007199254740993_u64]})
                )
            ]),
            Ok(json!([
                call("1", Value::Null, json!({})),
                call(
                    "b",
                    json!(["1"]),
                    json!({"list":
                ["1 < 2, ${1./content/0/text}, <2 response>, <1 response", 9007199254740993_u64]})
                )
            ])),
        ),
        (json!([{}]), Err("request 1 of `tool_calls` must be a `tool_call`")),
        (json!([tool(json!("a"), json!({})), {"tool_call": {}}]), Err("request 2 of `tool_calls`")),
        (json!([tool(json!(null), json!({}))]), Err("must have an `id`")),
    ];
    for (requests, expected) in cases {
        let plan = json!({"messages": [], "tool_calls": requests, "onError": "stop"});
        let found = super::in_calls(&RawJson::of(&plan).unwrap());
        match (found, expected) {
            (Ok(found), Ok(calls)) => {
                let expected = json!({"calls": calls, "onError": "stop"});
                assert_eq!(found.read::<Value>().unwrap(), expected, "{plan}");
            }
            (Err(error), Err(expected)) => {
                assert!(error.public.contains(expected), "{plan}: {}", error.public);
            }
            (found, _) => panic!("{plan}: {found:?}"),
        }
    }
}
