//! The short script: what every client asks of each server in `tests/servers`.
//! `python/peers.py` and `node/peers.mjs` hold the same steps.

use serde_json::json;

use crate::answers::CallNotification;
use crate::peer::Peer;
use crate::steps::{Verdict, expect, expect_names};

pub(crate) const STEPS: [&str; 4] =
    ["peers: list", "peers: call", "peers: progress", "peers: question"];

pub(crate) async fn list(peer: &mut Peer) -> Verdict {
    expect_names("tools", &["add", "ask_model", "echo", "progress"], &peer.tools().await?)?;
    expect_names("resources", &["peer://note"], &peer.resources().await?)?;
    expect_names("prompts", &["greet"], &peer.prompts().await?)
}

pub(crate) async fn call(peer: &mut Peer) -> Verdict {
    let outcome = peer.call("add", json!({ "a": 40, "b": 2 })).await?;
    expect(outcome.text.contains("42"), || format!("add gave {:?}", outcome.text))
}

pub(crate) async fn progress(peer: &mut Peer) -> Verdict {
    peer.call("progress", json!({})).await?;
    for step in [1.0, 2.0, 3.0] {
        peer.notice(
            |notice| matches!(notice, CallNotification::Progress(_, found) if *found == step),
        )
        .await?;
    }
    Ok(())
}

pub(crate) async fn question(peer: &mut Peer) -> Verdict {
    let outcome = peer.call("ask_model", json!({})).await?;
    expect(outcome.text == "a kind of crane", || format!("ask_model gave {:?}", outcome.text))
}
