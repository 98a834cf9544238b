//! Many more calls than there are places for programs: each waits its turn, none is lost, and
//! nothing is left afterwards.

use std::collections::HashSet;
use std::fs;

use gantry_tests::processes::{self, descriptors, holds, leaders, zombies};
use gantry_tests::tool_fixture::{Folder, ToolFixture};
use gantry_tests::transport::ClientTransport;
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// Programs that may run at once.
const PLACES: usize = 64;
const CLIENTS: usize = 4;
const CALLS: usize = 1000;
/// By how much a call may be overtaken, or may overtake. Programs that run at the same time write
/// themselves down in any order; one that is passed over for long has been forgotten.
const SLACK: usize = 4 * PLACES;

/// Writes down its beginning, waits at the gate, gives its number back.
const TOOL: &str = "read line; echo \"+ $line\" >>log; : <gate; echo \"- $line\" >>log; \
                    printf '%s' \"$line\"";

async fn client(tool_fixture: &ToolFixture) -> ClientTransport {
    let mut transport = ClientTransport::sse(tool_fixture.address).await;
    let hello = json!({"protocolVersion": "2024-11-05", "capabilities": {},
        "clientInfo": {"name": "crowd", "version": "0"}});
    let hello = json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello});
    transport.send(hello.to_string()).await;
    transport.receive().await.expect("the handshake");
    transport
        .send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string())
        .await;
    transport
}

async fn begin(transport: &mut ClientTransport, n: usize) {
    let params = json!({"name": "crowd.tool", "arguments": {"n": n}});
    let call = json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params});
    transport.send(call.to_string()).await;
}

/// The log of the tool: whether a program begins or ends, and the number of its call.
fn log(tool_fixture: &ToolFixture) -> Vec<(bool, usize)> {
    let text = fs::read_to_string(tool_fixture.folder.tools("log")).unwrap_or_default();
    let entry = |line: &str| {
        let (sign, input) = line.split_once(' ')?;
        let input: Value = serde_json::from_str(input).ok()?;
        Some((sign == "+", usize::try_from(input["arguments"]["n"].as_u64()?).ok()?))
    };
    text.lines().filter_map(entry).collect()
}

/// The most programs that ran at once.
fn most_at_once(log: &[(bool, usize)]) -> usize {
    let mut running: usize = 0;
    let counts = log.iter().map(|(begins, _)| {
        running = if *begins { running + 1 } else { running - 1 };
        running
    });
    counts.max().unwrap_or_default()
}

/// Takes all answers and gives their ids; now and then the programs alive are counted.
async fn gather(mut transport: ClientTransport, count: usize, mark: String) -> Vec<usize> {
    let mut ids = Vec::new();
    while ids.len() < count {
        let answer = transport.receive().await.expect("an answer");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        let n = serde_json::from_str(text).map(|it: Value| it["arguments"]["n"].clone());
        let n = n.unwrap_or_else(|error| panic!("{error} in {answer}"));
        assert_eq!(n, answer["id"], "each gets its own answer: {answer}");
        ids.push(n.as_u64().and_then(|n| n.try_into().ok()).expect("a number"));
        if ids.len() % 25 == 0 {
            let alive = leaders(&mark).len();
            assert!(alive <= PLACES, "{alive} programs run at once");
        }
    }
    ids
}

#[tokio::test]
async fn a_thousand_calls_share_the_places() {
    let folder = Folder::new();
    folder.shell_with("crowd.tool", TOOL, json!({"timeout": "600s"}));
    folder.shell("warm.tool", "echo '{}'");
    folder.latch("gate");
    let mut tool_fixture = ToolFixture::open(folder).await;
    tool_fixture.call("warm.tool", json!({})).await;
    drop(client(&tool_fixture).await);
    // The record of calls is opened a moment after the first of them.
    let is_idle = || zombies(tool_fixture.id()).is_empty() && holds(tool_fixture.id(), "/audit/20");
    processes::until("an idle gateway", is_idle).await;
    let before = descriptors(tool_fixture.id());

    let mut doors = Vec::new();
    for _ in 0..CLIENTS {
        doors.push(client(&tool_fixture).await);
    }
    for n in 0..CALLS {
        begin(&mut doors[n % CLIENTS], n).await;
    }
    processes::until("as many as may run", || log(&tool_fixture).len() >= PLACES).await;
    assert_eq!(log(&tool_fixture).len(), PLACES, "the others wait");
    assert_eq!(leaders(tool_fixture.folder.mark()).len(), PLACES);

    let _open = tool_fixture.folder.open("gate");
    let mark = tool_fixture.folder.mark().to_owned();
    let mut gathering = JoinSet::new();
    for transport in doors {
        gathering.spawn(gather(transport, CALLS / CLIENTS, mark.clone()));
    }
    let answered: Vec<usize> = gathering.join_all().await.into_iter().flatten().collect();
    let distinct: HashSet<usize> = answered.iter().copied().collect();
    assert_eq!((answered.len(), distinct.len()), (CALLS, CALLS), "none is lost, none comes twice");

    let log = log(&tool_fixture);
    assert!(most_at_once(&log) <= PLACES, "{} at once", most_at_once(&log));
    let begun = log.iter().filter(|(begins, _)| *begins).map(|(_, n)| *n);
    for (place, n) in begun.enumerate() {
        assert!(place.abs_diff(n) <= SLACK, "call {n} came to its turn as number {place}");
    }
    processes::until_none(&mark).await;
    let as_before =
        || descriptors(tool_fixture.id()) <= before && zombies(tool_fixture.id()).is_empty();
    processes::until("as few descriptors as before, and no zombie", as_before).await;
}
