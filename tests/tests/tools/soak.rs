//! Very many calls one after the other: the gateway is afterwards as it was before.

use gantry_tests::processes::{self, descriptors, holds, memory, zombies};
use gantry_tests::tool_fixture::{Folder, ToolFixture};
use serde_json::json;

/// Calls after which everything has its size.
const WARM: usize = 2_000;
const CALLS: usize = 20_000;
/// Calls under way at once.
const ABREAST: usize = 8;

/// Makes so many calls and checks every answer.
async fn call(tool_fixture: &mut ToolFixture, count: usize) {
    let (mut begun, mut answered) = (0, 0);
    while answered < count {
        while begun < count && begun < answered + ABREAST {
            tool_fixture.begin_call("soak.echo", json!({"n": begun})).await;
            begun += 1;
        }
        let answer = tool_fixture.receive().await;
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answered += 1;
    }
}

/// What the gateway holds when no call is under way: memory in kilobytes, and descriptors.
async fn idle(tool_fixture: &ToolFixture) -> (u64, usize) {
    processes::until_none(tool_fixture.folder.mark()).await;
    processes::until("no zombie", || zombies(tool_fixture.id()).is_empty()).await;
    // Statistics are written a while after the calls; nobody holds the store open longer.
    processes::until("a closed store", || !holds(tool_fixture.id(), "gantry.db")).await;
    (memory(tool_fixture.id(), "VmRSS"), descriptors(tool_fixture.id()))
}

#[tokio::test]
async fn twenty_thousand_calls_leave_no_trace() {
    let folder = Folder::new();
    folder.manifest("soak.echo", json!({"command": env!("CARGO_BIN_EXE_echo-tool")}));
    let mut tool_fixture = ToolFixture::open(folder).await;
    call(&mut tool_fixture, WARM).await;
    let (memory, descriptors) = idle(&tool_fixture).await;
    call(&mut tool_fixture, CALLS - WARM).await;
    let (memory_after, descriptors_after) = idle(&tool_fixture).await;
    println!("{WARM} calls: {memory} kB; {CALLS} calls: {memory_after} kB");
    assert_eq!(descriptors_after, descriptors, "descriptors");
    // Three tenths for the allocator's moods; a leak of 100 bytes a call would be 1.8 MB more.
    let limit = memory + memory * 3 / 10;
    assert!(memory_after <= limit, "{memory} kB became {memory_after} kB");
}
