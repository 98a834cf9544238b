//! A server that ends whenever it is called is left alone, and taken back when it is well.

use gantry_tests::test_server::soon;
use gantry_tests::upstream_fixture::UpstreamFixture;
use serde_json::json;

use super::fixture;

/// Calls the tool that ends the server until its breaker is open.
async fn open(fixture: &UpstreamFixture) {
    let failing = async {
        while fixture.status("far").await["breaker"] != "open" {
            assert!(fixture.call("far_odd", json!({})).await.is_err());
        }
    };
    soon("an open breaker", failing).await;
}

#[tokio::test]
async fn one_that_fails_is_left_alone_until_it_begins_anew() {
    let limits = json!({"breaker": {"failures": 3, "wait": "1h", "longest": "1h"}});
    let fixture = fixture("open", "dies", limits).await;
    assert_eq!(fixture.status("far").await["breaker"], "closed");
    open(&fixture).await;
    let told = fixture.call("far_well", json!({})).await.expect_err("it is left alone");
    assert!(told.starts_with("the server `far` has failed 3 times in a row"), "{told}");
    let restarted = fixture.admin("POST", "/api/servers/far/restart").await;
    assert_eq!(restarted["breaker"], "closed", "{restarted}");
    fixture.until_listed("far").await;
    assert_eq!(fixture.call("far_well", json!({})).await.as_deref(), Ok("well"));
    fixture.close().await;
}

#[tokio::test]
async fn one_that_is_well_again_is_taken_back() {
    let limits = json!({"breaker": {"failures": 3, "wait": 50, "longest": 100}});
    let fixture = fixture("close", "dies", limits).await;
    open(&fixture).await;
    let healed = async { while fixture.call("far_well", json!({})).await.is_err() {} };
    soon("a good answer", healed).await;
    assert_eq!(fixture.status("far").await["breaker"], "closed");
    fixture.close().await;
}
