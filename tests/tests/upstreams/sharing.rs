//! Who shares a process with whom.

use std::collections::BTreeSet;

use gantry_tests::upstream_fixture::{RawClient, UpstreamFixture, scripted};
use serde_json::json;

/// Two clients with sessions of their own, each calling twice: how many processes served them.
async fn served_by(share: &str, visitors: [&'static str; 2]) -> usize {
    let servers = json!({"odd": scripted(&["well"], json!({"share": share}))});
    let mut fixture = UpstreamFixture::open(&format!("share-{share}"), servers).await;
    fixture.until_listed("odd").await;
    let mut processes = BTreeSet::new();
    for revision in visitors {
        let mut raw_client = RawClient::posting(&fixture, revision).await;
        let first = raw_client.call(&mut fixture, "odd_who").await.expect("a number");
        let second = raw_client.call(&mut fixture, "odd_who").await.expect("a number");
        assert_eq!(first, second, "{share}: one client, one process");
        processes.insert(first);
    }
    let numbers = fixture.processes();
    for process in &processes {
        assert!(numbers.contains(&process.parse().expect("a number")), "{process} of {numbers:?}");
    }
    fixture.close().await;
    processes.len()
}

#[tokio::test]
async fn one_process_for_all() {
    assert_eq!(served_by("process", ["2025-11-25", "2025-06-18"]).await, 1);
}

#[tokio::test]
async fn one_for_each_user() {
    assert_eq!(served_by("user", ["2025-11-25", "2025-11-25"]).await, 1);
}

#[tokio::test]
async fn one_for_each_session() {
    assert_eq!(served_by("session", ["2025-11-25", "2025-11-25"]).await, 2);
}
