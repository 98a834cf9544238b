//! Tasks of the program before and after it was killed.

use gantry_tests::tasks::{about, begin, settled_at};
use gantry_tests::test_server::soon;
use serde_json::json;

use crate::program::{Program, state};
use crate::status::get;

#[tokio::test]
async fn tasks_outlive_the_process() {
    let home = state("tasks");
    let (program, address) = Program::serve(&home).await;
    let created = begin("countdown", json!({"from": 1})).ask(address).await;
    let ended = created["result"]["taskId"].clone();
    let result = settled_at(address, &ended, "completed").await["result"].clone();
    // A task is forgotten when its end is written down, a little after it is seen.
    let written =
        async { while !get(address, "GET", "/metrics").await.1.contains("\ngantry_tasks 0\n") {} };
    soon("the end of a task on disk", written).await;
    let created = begin("countdown", json!({"from": 20})).ask(address).await;
    let lost = created["result"]["taskId"].clone();
    program.signal(rustix::process::Signal::KILL);
    assert_eq!(program.end().await.code, None);

    let (program, address) = Program::serve(&home).await;
    let found = settled_at(address, &ended, "completed").await;
    assert_eq!(found["result"], result, "{found}");
    let found = about("tasks/get", lost).ask(address).await;
    assert_eq!(found["result"]["status"], "failed", "{found}");
    let message = found["result"]["error"]["message"].as_str().expect("a text");
    assert!(message.contains("may have run"), "{found}");
    program.stop().await;
}
