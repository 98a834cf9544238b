//! How many calls run at once, and who waits.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use gantry_tests::request::call;
use gantry_tests::test_server::soon;
use serde_json::{Value, json};

use super::fixture;

#[tokio::test]
async fn calls_beyond_wait_or_are_told_to_come_back() {
    let limits = json!({"concurrency": {"perServer": {"far": 1}, "queue": 1}});
    let fixture = fixture("places", "silent", limits).await;
    // It is never answered, until its client leaves.
    let (address, busy) = (fixture.address, call("far_odd", json!({})));
    let first = tokio::spawn(async move { busy.ask(address).await });
    fixture.until("far", "busy", |status: &Value| status["in_flight"] == 1).await;
    // One waits; which of the two it is does not matter.
    let well = call("far_well", json!({}));
    let mut others: FuturesUnordered<_> = [(); 2].map(|()| well.ask(address)).into_iter().collect();
    let refused = soon("a refusal", others.next()).await.expect("one of two");
    let text = refused["error"]["message"].as_str().unwrap_or_default();
    assert_eq!(
        text,
        "the limit `server far 1 at once` is reached, and 1 calls wait already; try again in 1s"
    );
    assert_eq!(refused["error"]["data"]["retryAfterMs"], 1000, "{refused}");
    first.abort();
    let served = soon("the other", others.next()).await.expect("one is left");
    assert_eq!(served["result"]["content"][0]["text"], "well", "{served}");
    fixture.close().await;
}
