//! Stopping the gateway while tools run: they may finish, and none outlives it.

use gantry_tests::processes;
use gantry_tests::request::call;
use gantry_tests::tool_fixture::{Folder, ToolFixture};
use rustix::process::Signal;
use serde_json::json;
use tokio::net::TcpStream;

async fn until_closed(tool_fixture: &ToolFixture) {
    while TcpStream::connect(tool_fixture.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_tool_under_way_may_finish() {
    let folder = Folder::new();
    folder.shell("slow.tool", "echo '{\"progress\": 1}' >&3; : <gate; echo '{\"a\": 1}'");
    folder.latch("gate");
    let mut tool_fixture = ToolFixture::open(folder).await;
    let request = call("slow.tool", json!({})).set("/params/_meta/progressToken", json!("t"));
    let mut answer = request.send(tool_fixture.address).await;
    answer.message().await.expect("the tool runs");
    tool_fixture.signal(Signal::TERM);
    until_closed(&tool_fixture).await;
    let _open = tool_fixture.folder.open("gate");
    let last = answer.messages().await.pop().expect("an answer");
    assert_eq!(last["result"]["structuredContent"], json!({"a": 1}), "{last}");
    assert_eq!(tool_fixture.end().await.code(), Some(0));
    processes::until_none(tool_fixture.folder.mark()).await;
}

/// A gateway with eight tools under way that have children and hear no signal.
async fn stubborn() -> ToolFixture {
    let folder = Folder::new();
    let stay = "trap '' TERM INT HUP; sleep 1000 & echo $$ >>started; wait; sleep 1000";
    folder.shell_with("slow.tool", stay, json!({"timeout": "600s"}));
    let mut tool_fixture = ToolFixture::open(folder).await;
    for _ in 0..8 {
        tool_fixture.begin_call("slow.tool", json!({})).await;
    }
    let started = tool_fixture.folder.tools("started");
    let count = || std::fs::read_to_string(&started).unwrap_or_default().lines().count();
    processes::until("the tools", || count() == 8).await;
    tool_fixture
}

#[tokio::test]
async fn a_tool_that_will_not_end_does_not_outlive_the_gateway() {
    let mut tool_fixture = stubborn().await;
    tool_fixture.signal(Signal::TERM);
    assert_eq!(tool_fixture.end().await.code(), Some(0), "{}", tool_fixture.log());
    processes::until_none(tool_fixture.folder.mark()).await;
}

#[tokio::test]
async fn nor_does_it_when_the_gateway_is_told_twice() {
    let mut tool_fixture = stubborn().await;
    tool_fixture.signal(Signal::TERM);
    until_closed(&tool_fixture).await;
    tool_fixture.signal(Signal::TERM);
    assert_eq!(tool_fixture.end().await.code(), Some(130), "{}", tool_fixture.log());
    processes::until_none(tool_fixture.folder.mark()).await;
}
