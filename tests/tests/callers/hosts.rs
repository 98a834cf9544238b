//! By which names the real binary may be called, and from which websites: as the configuration says,
//! also when that changes while it runs.

use gantry_tests::processes;
use gantry_tests::request::list;
use gantry_tests::test_server::soon;
use gantry_tests::upstream_fixture::UpstreamFixture;
use serde_json::{Value, json};

/// What a request gets that names this host and comes from this website.
async fn status(fixture: &UpstreamFixture, host: &str, origin: Option<&str>) -> u16 {
    let request = list().replace("Host", host);
    let request = match origin {
        Some(origin) => request.header("Origin", origin),
        None => request,
    };
    request.send(fixture.address).await.status
}

fn config(hosts: &[&str], origins: &[&str]) -> Value {
    json!({"mcpServers": {}, "allowedHosts": hosts, "allowedOrigins": origins})
}

#[tokio::test]
async fn only_names_that_are_allowed_are_answered_to() {
    let hosts = ["gantry.local", "one.example:8080"];
    let fixture = UpstreamFixture::with("hosts", config(&hosts, &["https://app.example"])).await;
    let own = fixture.address.to_string();
    let cases = [
        (own.as_str(), None, 200),
        ("localhost", None, 200),
        ("gantry.local", None, 200),
        ("Gantry.Local:8443", None, 200),
        ("one.example:8080", None, 200),
        ("one.example", None, 403),
        ("one.example:8081", None, 403),
        ("gantry.local.evil.example", None, 403),
        ("evil.example", None, 403),
        ("", None, 403),
        ("gantry.local", Some("https://gantry.local"), 200),
        (&own, Some("http://gantry.local:3000"), 200),
        (&own, Some("https://app.example"), 200),
        (&own, Some("http://app.example"), 403),
        (&own, Some("https://app.example:444"), 403),
        (&own, Some("https://evil.example"), 403),
        (&own, Some("https://gantry.local.evil.example"), 403),
        (&own, Some("null"), 403),
        // A website that may come is no name of ours.
        ("app.example", None, 403),
        ("evil.example", Some("https://gantry.local"), 403),
    ];
    for (host, origin, expected) in cases {
        assert_eq!(status(&fixture, host, origin).await, expected, "{host} {origin:?}");
    }
    fixture.close().await;
}

#[tokio::test]
async fn other_names_are_in_force_when_they_are_saved() {
    let fixture = UpstreamFixture::with("hosts-saved", config(&["old.example"], &[])).await;
    assert_eq!(status(&fixture, "old.example", None).await, 200);
    fixture.save(config(&["new.example"], &["https://app.example"]));
    let changed = async { while status(&fixture, "new.example", None).await != 200 {} };
    soon("the new name", changed).await;
    assert_eq!(status(&fixture, "old.example", None).await, 403);
    assert_eq!(status(&fixture, "new.example", Some("https://app.example")).await, 200);
    fixture.save(config(&["*"], &[]));
    processes::until("a complaint", || fixture.log().contains("the configuration is not valid"))
        .await;
    assert_eq!(status(&fixture, "new.example", None).await, 200, "the old ones stay in force");
    assert_eq!(status(&fixture, "old.example", None).await, 403);
    fixture.close().await;
}
