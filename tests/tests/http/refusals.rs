//! Log lines that callers without a token can cause: a few, and the number of the rest.

use gantry_tests::processes::until;
use gantry_tests::request::list;
use serde_json::json;

use crate::gateway::Gateway;

#[tokio::test]
async fn refusals_are_logged_at_a_bounded_rate() {
    let config = json!({"http": {"refusalsLogged": 3}});
    let gateway = Gateway::start("refusals", config, ":").await;
    for _ in 0..100 {
        assert_eq!(list().send(gateway.address).await.status, 401);
        let foreign = list().replace("Host", "evil.example");
        assert_eq!(foreign.send(gateway.address).await.status, 403);
    }
    for line in ["authentication failed", "request rejected"] {
        until("the first lines", || gateway.log().matches(line).count() >= 3).await;
        let count = gateway.log().matches(line).count();
        // A slow machine may take more than one interval.
        assert!(count < 50, "{count} lines of `{line}`:\n{}", gateway.log());
        assert!(gateway.log().contains("suppressed=0"), "{}", gateway.log());
    }
}

#[tokio::test]
async fn metrics_are_for_who_has_a_token_unless_it_is_said() {
    for (config, expected) in [(json!({}), 401), (json!({"metrics": {"auth": "none"}}), 200)] {
        let gateway = Gateway::start("metrics", config, ":").await;
        assert_eq!(gateway.get("/metrics").await.status, expected);
        let request = gateway.authorized(gantry_tests::request::bodiless("GET").to("/metrics"));
        assert_eq!(request.send(gateway.address).await.status, 200);
    }
}
