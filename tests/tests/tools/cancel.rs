//! A client that gives up: the whole group of the tool ends with the call.

use gantry_tests::foundry::{Folder, Foundry};
use gantry_tests::processes::{self, marked};
use gantry_tests::request::call;
use serde_json::{Value, json};

/// Has a child and a grandchild, says that it runs, and would stay for ever.
const STAY: &str = "trap '' TERM HUP\n(sleep 1000 & sleep 1000) &\n\
    echo '{\"progress\": 1}' >&3\nwait; sleep 1000";

async fn foundry() -> Foundry {
    let folder = Folder::new();
    folder.shell("slow.tool", STAY);
    folder.shell("quick.tool", "echo '{}'");
    Foundry::open(folder).await
}

fn staying() -> Value {
    json!({"name": "slow.tool", "arguments": {}, "_meta": {"progressToken": "t"}})
}

/// The tool with its child and grandchild.
fn all_there(foundry: &Foundry) -> bool {
    marked(foundry.folder.mark()).len() >= 3
}

#[tokio::test]
async fn a_cancelled_call_ends_its_tool() {
    let mut foundry = foundry().await;
    let id = foundry.begin("tools/call", staying()).await;
    foundry.hear("notifications/progress").await;
    processes::until("the family", || all_there(&foundry)).await;
    let params = json!({"requestId": id, "reason": "enough"});
    let method = "notifications/cancelled";
    foundry.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    processes::until_none(foundry.folder.mark()).await;
    let next = foundry.call("quick.tool", json!({})).await;
    assert_eq!(next["isError"], false, "{next}");
}

#[tokio::test]
async fn a_client_that_hangs_up_ends_its_tool() {
    let mut foundry = foundry().await;
    let request = call("slow.tool", json!({})).set("/params/_meta/progressToken", json!("t"));
    let mut answer = request.send(foundry.address).await;
    answer.message().await.expect("the tool runs");
    processes::until("the family", || all_there(&foundry)).await;
    drop(answer);
    processes::until_none(foundry.folder.mark()).await;
    let next = foundry.call("quick.tool", json!({})).await;
    assert_eq!(next["isError"], false, "{next}");
}

#[tokio::test]
async fn the_end_of_standard_input_ends_the_tools_of_its_client() {
    let mut foundry = foundry().await;
    foundry.begin("tools/call", staying()).await;
    foundry.hear("notifications/progress").await;
    foundry.hang_up();
    assert_eq!(foundry.end().await.code(), Some(0));
    processes::until_none(foundry.folder.mark()).await;
}

/// The numbers of the calls that have started, as the tool wrote them down.
fn started(foundry: &Foundry) -> Vec<usize> {
    let text = std::fs::read_to_string(foundry.folder.tools("started")).unwrap_or_default();
    let line = |line: &str| serde_json::from_str::<Value>(line).ok()?["arguments"]["n"].as_u64();
    text.lines().filter_map(line).filter_map(|number| number.try_into().ok()).collect()
}

/// Calls that wait for their turn can be given up too, and never start.
#[tokio::test]
async fn a_call_that_waits_for_its_turn_can_be_cancelled() {
    let folder = Folder::new();
    folder.shell("slow.tool", "cat >>started; : <gate; echo '{}'");
    folder.gate("gate");
    let mut foundry = Foundry::open(folder).await;
    let mut ids = Vec::new();
    for n in 0..100 {
        ids.push(foundry.begin_call("slow.tool", json!({"n": n})).await);
    }
    processes::until("as many as may run", || started(&foundry).len() == 64).await;
    let running = started(&foundry);
    let waiting: Vec<usize> = (0..100).filter(|n| !running.contains(n)).collect();
    for n in &waiting {
        let params = json!({"requestId": ids[*n]});
        let method = "notifications/cancelled";
        foundry.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }
    foundry.ask("ping", json!({})).await;
    let _open = foundry.folder.open("gate");
    for _ in &running {
        let answer = foundry.receive().await;
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    foundry.call("slow.tool", json!({"n": 100})).await;
    processes::until_none(foundry.folder.mark()).await;
    let all = started(&foundry);
    assert!(waiting.iter().all(|n| !all.contains(n)), "a cancelled call has started: {all:?}");
}
