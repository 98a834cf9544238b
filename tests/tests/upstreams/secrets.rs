//! A secret that the configuration names: the server has it, and nobody else sees it.

use std::process::Stdio;

use gantry_tests::workshop::{command, program};
use gantry_tests::yard::{Yard, scripted};
use serde_json::json;
use tokio::io::AsyncWriteExt;

const TEXT: &str = "hush-hush-0123";

/// The scripted server fails with its secret in the text.
#[tokio::test]
async fn a_secret_reaches_its_server_and_no_reader() {
    let entry = scripted(&["tells"], json!({"env": {"SCRIPTED_SECRET": "${keychain:search}"}}));
    let yard = Yard::open("keychain", json!({"odd": entry})).await;
    let missing = yard.until("odd", "told of", |status| status["reason"].is_string()).await;
    let reason = missing["reason"].as_str().expect("a reason");
    assert!(reason.contains("`gantry secret set search` keeps one"), "{missing}");

    // The file of secrets is one of the configuration's files: a change of it is seen at once.
    keep(&yard, "search").await;
    yard.until_listed("odd").await;
    let failed = yard.call("odd_odd", json!({})).await.expect_err("it tells");
    assert!(failed.contains("the key … is not valid"), "{failed}");
    let shown = [yard.log(), yard.status("odd").await.to_string(), failed];
    for text in shown {
        assert!(!text.contains(TEXT), "{text}");
    }
    yard.close().await;
}

async fn keep(yard: &Yard, name: &str) {
    let mut child = command(program())
        .args(["secret", "set", name])
        .env("XDG_STATE_HOME", &yard.bench.folder)
        .stdin(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("its input");
    input.write_all(TEXT.as_bytes()).await.expect("it reads");
    drop(input);
    assert!(child.wait().await.expect("it ends").success());
}
