//! What is counted of each tool.

use std::time::Duration;

use super::probe::{Fixture, call_tool};
use crate::{Gateway, Listing, Settings};

/// The tools that have counters, each with its calls and its errors.
fn counted(gateway: &Gateway) -> Vec<String> {
    let statistics = gateway.statistics();
    let lines = statistics.iter().map(|tool| {
        assert_eq!(tool.calls, tool.latency.count());
        let errors = tool.errors.iter().map(|(name, count)| format!(" {name}={count}"));
        format!("{} {}{}", tool.name, tool.calls, errors.collect::<String>())
    });
    lines.collect()
}

#[tokio::test(start_paused = true)]
async fn calls_and_errors_are_counted_by_tool() {
    let fixture = Fixture::new(Settings::default());
    let calls = ["good", "good", "absent", "locked", "warded", "fails", "hangs", "lies", "panics"];
    for name in calls {
        fixture.run(call_tool(name, "{}")).await.ok();
    }
    fixture.run(call_tool("hangs", r#"{"n":"no number"}"#)).await.ok();
    let expected = [
        "fails 1 ToolExecutionError=1",
        "good 2",
        "hangs 2 TimeoutError=1 ValidationError=1",
        "lies 1 ValidationError=1",
        "panics 1 ToolExecutionError=1",
        "warded 1 PermissionError=1",
    ];
    assert_eq!(counted(&fixture.gateway), expected, "a name that is not listed has no row");
}

#[tokio::test(start_paused = true)]
async fn a_call_given_up_is_counted() {
    let fixture = Fixture::new(Settings::default());
    let mut running = fixture.gateway.start(call_tool("hangs", "{}"));
    // The call filter of this fixture takes a day.
    let day = Duration::from_secs(24 * 3600 + 1);
    assert!(tokio::time::timeout(day, running.next_event()).await.is_err(), "the call hangs");
    drop(running);
    assert_eq!(counted(&fixture.gateway), ["hangs 1 Cancelled=1"]);
}

#[tokio::test(start_paused = true)]
async fn questions_handed_over_are_not_an_end() {
    let fixture = Fixture::new(Settings::default());
    let mut call = super::asking(call_tool("inquires", r#"{"rounds":1}"#));
    call.takes_input_requests = true;
    fixture.run(call).await.expect("questions");
    assert_eq!(counted(&fixture.gateway), [] as [&str; 0]);
}

#[tokio::test(start_paused = true)]
async fn standby_is_counted_when_the_provider_tells_of_it() {
    let fixture = Fixture::new(Settings::default());
    for name in ["good", "waited", "waited"] {
        fixture.run(call_tool(name, "{}")).await.expect("a result");
    }
    let statistics = fixture.gateway.statistics();
    let found: Vec<_> = statistics
        .iter()
        .map(|tool| (tool.name.as_str(), tool.standby_hits, tool.standby_misses))
        .collect();
    assert_eq!(found, [("good", 0, 0), ("waited", 2, 0)]);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_goes_and_comes_back_keeps_its_counts() {
    let fixture = Fixture::new(Settings::default());
    fixture.run(call_tool("good", "{}")).await.expect("a result");
    let entry = fixture.gateway.catalog().snapshot().tool("good").cloned().expect("a tool");
    fixture.publisher.publish(Listing::default());
    fixture.run(call_tool("good", "{}")).await.expect_err("it is gone");
    assert_eq!(counted(&fixture.gateway), ["good 1"]);
    fixture.publisher.publish(Listing { tools: vec![entry], ..Listing::default() });
    fixture.run(call_tool("good", "{}")).await.expect("a result");
    assert_eq!(counted(&fixture.gateway), ["good 2"]);
}
