//! A client that gives up: the whole group of the tool ends with the call.

use gantry_tests::processes::{self, marked};
use gantry_tests::request::call;
use gantry_tests::tool_fixture::{Folder, ToolFixture};
use serde_json::{Value, json};

/// Has a child and a grandchild, says that it runs, and would stay for ever.
const STAY: &str = "trap '' TERM HUP\n(sleep 1000 & sleep 1000) &\n\
    echo '{\"progress\": 1}' >&3\nwait; sleep 1000";

async fn tool_fixture() -> ToolFixture {
    let folder = Folder::new();
    folder.shell("slow.tool", STAY);
    folder.shell("quick.tool", "echo '{}'");
    ToolFixture::open(folder).await
}

fn staying() -> Value {
    json!({"name": "slow.tool", "arguments": {}, "_meta": {"progressToken": "t"}})
}

/// The tool with its child and grandchild.
fn all_there(tool_fixture: &ToolFixture) -> bool {
    marked(tool_fixture.folder.mark()).len() >= 3
}

#[tokio::test]
async fn a_cancelled_call_ends_its_tool() {
    let mut tool_fixture = tool_fixture().await;
    let id = tool_fixture.begin("tools/call", staying()).await;
    tool_fixture.hear("notifications/progress").await;
    processes::until("the family", || all_there(&tool_fixture)).await;
    let params = json!({"requestId": id, "reason": "enough"});
    let method = "notifications/cancelled";
    tool_fixture.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    processes::until_none(tool_fixture.folder.mark()).await;
    let next = tool_fixture.call("quick.tool", json!({})).await;
    assert_eq!(next["isError"], false, "{next}");
}

#[tokio::test]
async fn a_client_that_hangs_up_ends_its_tool() {
    let mut tool_fixture = tool_fixture().await;
    let request = call("slow.tool", json!({})).set("/params/_meta/progressToken", json!("t"));
    let mut answer = request.send(tool_fixture.address).await;
    answer.message().await.expect("the tool runs");
    processes::until("the family", || all_there(&tool_fixture)).await;
    drop(answer);
    processes::until_none(tool_fixture.folder.mark()).await;
    let next = tool_fixture.call("quick.tool", json!({})).await;
    assert_eq!(next["isError"], false, "{next}");
}

#[tokio::test]
async fn the_end_of_standard_input_ends_the_tools_of_its_client() {
    let mut tool_fixture = tool_fixture().await;
    tool_fixture.begin("tools/call", staying()).await;
    tool_fixture.hear("notifications/progress").await;
    tool_fixture.hang_up();
    assert_eq!(tool_fixture.end().await.code(), Some(0));
    processes::until_none(tool_fixture.folder.mark()).await;
}

/// The numbers of the calls that have started, as the tool wrote them down.
fn started(tool_fixture: &ToolFixture) -> Vec<usize> {
    let text = std::fs::read_to_string(tool_fixture.folder.tools("started")).unwrap_or_default();
    let line = |line: &str| serde_json::from_str::<Value>(line).ok()?["arguments"]["n"].as_u64();
    text.lines().filter_map(line).filter_map(|number| number.try_into().ok()).collect()
}

/// Calls that wait for their turn can be given up too, and never start.
#[tokio::test]
async fn a_call_that_waits_for_its_turn_can_be_cancelled() {
    let folder = Folder::new();
    folder.shell("slow.tool", "cat >>started; : <gate; echo '{}'");
    folder.latch("gate");
    let mut tool_fixture = ToolFixture::open(folder).await;
    let mut ids = Vec::new();
    for n in 0..100 {
        ids.push(tool_fixture.begin_call("slow.tool", json!({"n": n})).await);
    }
    processes::until("as many as may run", || started(&tool_fixture).len() == 64).await;
    let running = started(&tool_fixture);
    let waiting: Vec<usize> = (0..100).filter(|n| !running.contains(n)).collect();
    for n in &waiting {
        let params = json!({"requestId": ids[*n]});
        let method = "notifications/cancelled";
        tool_fixture.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }
    tool_fixture.ask("ping", json!({})).await;
    let _open = tool_fixture.folder.open("gate");
    for _ in &running {
        let answer = tool_fixture.receive().await;
        assert_eq!(answer["result"]["isError"], false, "{answer}");
    }
    tool_fixture.call("slow.tool", json!({"n": 100})).await;
    processes::until_none(tool_fixture.folder.mark()).await;
    let all = started(&tool_fixture);
    assert!(waiting.iter().all(|n| !all.contains(n)), "a cancelled call has started: {all:?}");
}
