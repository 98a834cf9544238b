//! Callers share a tool fairly: one with a long line does not keep the others waiting.

use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use gantry::{Failure, Tool};
use gantry_tests::request::{Request, call, list};
use gantry_tests::test_server::{TestServer, soon};
use gantry_tests::upstream_fixture::{UpstreamFixture, said};
use serde_json::{Value, json};

/// Whose calls have reached the tool, in that order.
type Turns = Arc<Mutex<Vec<String>>>;

/// Adds a tool that remembers whose turn it is, and then waits at the gate.
fn add_tool(test_server: &TestServer) -> Turns {
    let (turns, latch) = (Turns::default(), test_server.latch.clone());
    let remembered = turns.clone();
    let schema = json!({"type": "object", "properties": {"who": {"type": "string"}}});
    let tool = Tool::new("turn", "Takes turns.").input_schema(schema);
    let tool = tool.run(move |arguments: Value, _| {
        let who = arguments["who"].as_str().unwrap_or_default().to_owned();
        turns.lock().expect("nobody panics with it").push(who);
        let latch = latch.clone();
        async move {
            latch.pass().await;
            Ok::<_, Failure>("done")
        }
    });
    test_server.server.handlers().add_tool(tool).expect("the name is free");
    remembered
}

/// One call of the tool at a time, and so many of a caller may wait.
fn config(test_server: &TestServer, queue: usize) -> Value {
    let places = json!({"perTool": {"far_turn": 1}, "queue": queue, "wait": "1h"});
    let far = json!({"url": format!("http://{}/mcp", test_server.address)});
    let limits = json!({"default": "off", "concurrency": places});
    json!({"auth": "token", "limits": limits, "mcpServers": {"far": far}})
}

/// A call of who holds a token.
fn turn(who: &str, token: &str) -> Request {
    call("far_turn", json!({"who": who})).by(token)
}

async fn told(request: &Request, fixture: &UpstreamFixture) -> Result<String, String> {
    said(&request.ask(fixture.address).await)
}

/// What a caller is told whose line is full.
fn is_full(told: &Result<String, String>, queue: usize) -> bool {
    let words = format!("the limit `tool 1 at once` is reached, and {queue} calls wait");
    told.as_ref().is_err_and(|text| text.starts_with(&words))
}

#[tokio::test]
async fn a_few_calls_take_turns_with_many_that_were_there_before() {
    let test_server = TestServer::open().await;
    let turns = add_tool(&test_server);
    let fixture = UpstreamFixture::with("quotas-turns", config(&test_server, 8)).await;
    let (ada, bea) = (fixture.token("ada").await, fixture.token("bea").await);
    let offered = async {
        while !list().by(&ada).ask(fixture.address).await.to_string().contains("far_turn") {}
    };
    soon("the tool", offered).await;

    // One runs, and the one that is told so is the last of ten: eight wait.
    let call = turn("ada", &ada);
    let mut many: FuturesUnordered<_> = (0..10).map(|_| told(&call, &fixture)).collect();
    let refused = soon("a refusal", many.next()).await.expect("one of ten");
    assert!(is_full(&refused, 8), "{refused:?}");
    soon("the first call", test_server.latch.started(1)).await;
    // From now on no more than two may wait, so that another can tell when her two do.
    fixture.save(config(&test_server, 2));
    soon("the new limit", async { while !is_full(&told(&call, &fixture).await, 2) {} }).await;
    let call = turn("bea", &bea);
    let mut few: FuturesUnordered<_> = (0..3).map(|_| told(&call, &fixture)).collect();
    let refused = soon("a refusal", few.next()).await.expect("one of three");
    assert!(is_full(&refused, 2), "{refused:?}");

    test_server.latch.open();
    let (many, few): (Vec<_>, Vec<_>) =
        soon("the others", async { tokio::join!(many.collect(), few.collect()) }).await;
    let done = Ok("done".to_owned());
    assert_eq!((many, few), (vec![done.clone(); 9], vec![done; 2]));
    let turns = turns.lock().expect("nobody panics with it").join(" ");
    assert_eq!(turns, "ada ada bea ada bea ada ada ada ada ada ada");
    fixture.close().await;
    test_server.close().await;
}
