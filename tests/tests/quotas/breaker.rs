//! A server that ends whenever it is called is left alone, and taken back when it is well.

use gantry_tests::house::soon;
use gantry_tests::yard::Yard;
use serde_json::json;

use super::yard;

/// Calls the tool that ends the server until its breaker is open.
async fn open(yard: &Yard) {
    let failing = async {
        while yard.status("far").await["breaker"] != "open" {
            assert!(yard.call("far_odd", json!({})).await.is_err());
        }
    };
    soon("an open breaker", failing).await;
}

#[tokio::test]
async fn one_that_fails_is_left_alone_until_it_begins_anew() {
    let limits = json!({"breaker": {"failures": 3, "wait": "1h", "longest": "1h"}});
    let yard = yard("open", "dies", limits).await;
    assert_eq!(yard.status("far").await["breaker"], "closed");
    open(&yard).await;
    let told = yard.call("far_well", json!({})).await.expect_err("it is left alone");
    assert!(told.starts_with("the server `far` has failed 3 times in a row"), "{told}");
    let restarted = yard.admin("POST", "/api/servers/far/restart").await;
    assert_eq!(restarted["breaker"], "closed", "{restarted}");
    yard.until_listed("far").await;
    assert_eq!(yard.call("far_well", json!({})).await.as_deref(), Ok("well"));
    yard.close().await;
}

#[tokio::test]
async fn one_that_is_well_again_is_taken_back() {
    let limits = json!({"breaker": {"failures": 3, "wait": 50, "longest": 100}});
    let yard = yard("close", "dies", limits).await;
    open(&yard).await;
    let healed = async { while yard.call("far_well", json!({})).await.is_err() {} };
    soon("a good answer", healed).await;
    assert_eq!(yard.status("far").await["breaker"], "closed");
    yard.close().await;
}
