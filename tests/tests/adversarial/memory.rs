//! What a message of a server costs while it passes: a small multiple of its bytes.

use gantry_tests::processes;
use gantry_tests::request::call;
use gantry_tests::upstream_fixture::{UpstreamFixture, beside};
use serde_json::json;

/// Bytes of memory that one byte of a message may take.
const EACH: u64 = 8;

/// Passes one large message on; gives the bytes of memory for each of its bytes.
async fn each(attack: &str) -> u64 {
    let entry = json!({"command": beside("adversarial-server"), "args": [attack]});
    let fixture = UpstreamFixture::open(&format!("memory-{attack}"), json!({"odd": entry})).await;
    fixture.until_listed("odd").await;
    let before = processes::memory(fixture.id(), "VmHWM");
    let text = call("odd_odd", json!({})).send(fixture.address).await.text().await;
    let grown = processes::memory(fixture.id(), "VmHWM") - before;
    fixture.close().await;
    let size = text.len() as u64;
    assert!(size > 20 << 20, "{attack}: {}", &text[..text.len().min(500)]);
    grown * 1024 / size
}

#[tokio::test]
async fn messages_of_servers_take_a_small_multiple_of_their_bytes() {
    for attack in ["large-text", "large-values"] {
        let each = each(attack).await;
        assert!(each <= EACH, "{attack}: {each} bytes for each byte");
    }
}
