//! Limits on calls, seen from outside the real binary: every kind of client is told in its way.

mod breaker;
mod places;
mod refusals;
mod turns;

use gantry_tests::request::message;
use gantry_tests::upstream_fixture::{UpstreamFixture, scripted};
use serde_json::{Value, json};

/// A gateway with one server, `far`, of that conduct, and these limits.
async fn fixture(name: &str, conduct: &str, limits: Value) -> UpstreamFixture {
    let fixture = UpstreamFixture::with(&format!("quotas-{name}"), config(conduct, limits)).await;
    fixture.until_listed("far").await;
    fixture
}

#[expect(clippy::needless_pass_by_value, reason = "tests write their limits in place")]
fn config(conduct: &str, limits: Value) -> Value {
    // A call that is not answered is over in good time.
    let far = scripted(&[conduct], json!({"timeout": "20s"}));
    json!({"mcpServers": {"far": far}, "limits": limits})
}

/// A session of a client with handshake, over HTTP.
async fn session(fixture: &UpstreamFixture) -> String {
    let answer = gantry_tests::request::initialize("2025-11-25").send(fixture.address).await;
    let session = answer.header("mcp-session-id").expect("a session").to_owned();
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert_eq!(message(ready).of(&session).send(fixture.address).await.status, 202);
    session
}
