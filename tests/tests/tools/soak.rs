//! Very many calls one after the other: the gateway is afterwards as it was before.

use gantry_tests::foundry::{Folder, Foundry};
use gantry_tests::processes::{self, descriptors, holds, memory, zombies};
use serde_json::json;

/// Calls after which everything has its size.
const WARM: usize = 2_000;
const CALLS: usize = 20_000;
/// Calls under way at once.
const ABREAST: usize = 8;

/// Makes so many calls and checks every answer.
async fn call(foundry: &mut Foundry, count: usize) {
    let (mut begun, mut answered) = (0, 0);
    while answered < count {
        while begun < count && begun < answered + ABREAST {
            foundry.begin_call("soak.echo", json!({"n": begun})).await;
            begun += 1;
        }
        let answer = foundry.receive().await;
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answered += 1;
    }
}

/// What the gateway holds when no call is under way: memory in kilobytes, and descriptors.
async fn idle(foundry: &Foundry) -> (u64, usize) {
    processes::until_none(foundry.folder.mark()).await;
    processes::until("no zombie", || zombies(foundry.id()).is_empty()).await;
    // Statistics are written a while after the calls; nobody holds the store open longer.
    processes::until("a closed store", || !holds(foundry.id(), "gantry.db")).await;
    (memory(foundry.id(), "VmRSS"), descriptors(foundry.id()))
}

#[tokio::test]
async fn twenty_thousand_calls_leave_no_trace() {
    let folder = Folder::new();
    folder.manifest("soak.echo", json!({"command": env!("CARGO_BIN_EXE_echo-tool")}));
    let mut foundry = Foundry::open(folder).await;
    call(&mut foundry, WARM).await;
    let (memory, descriptors) = idle(&foundry).await;
    call(&mut foundry, CALLS - WARM).await;
    let (memory_after, descriptors_after) = idle(&foundry).await;
    println!("{WARM} calls: {memory} kB; {CALLS} calls: {memory_after} kB");
    assert_eq!(descriptors_after, descriptors, "descriptors");
    // Three tenths for the allocator's moods; a leak of 100 bytes a call would be 1.8 MB more.
    let limit = memory + memory * 3 / 10;
    assert!(memory_after <= limit, "{memory} kB became {memory_after} kB");
}
