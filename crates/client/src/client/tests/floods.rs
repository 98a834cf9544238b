//! Programs that say more than they may: they have to wait, it is told, and they are disconnected
//! if they go on.

use std::time::Duration;

use gantry_process::Program;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::client::Client;
use crate::connection::tests::SOON;
use crate::event::State;
use crate::settings::{Era, FloodLimits, Settings};
use crate::target::Target;

const HELLO: &str = r#"
    read -r hello
    printf '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}\n'
    read -r initialized
"#;

fn client(script: &str, flood: FloodLimits) -> Client {
    let target = Target::Program(Program {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), format!("{HELLO}{script}")],
        env: vec![("PATH".into(), std::env::var("PATH").unwrap())],
        directory: None,
        memory: None,
    });
    let settings = Settings { era: Era::Legacy, flood, ..Settings::default() };
    Client::new(target, settings, mpsc::channel(1).0)
}

/// The first state of these that the client comes to, and its reason.
async fn reached(client: &Client, names: &[&str]) -> (String, String) {
    let mut states = client.states();
    let reached = states.wait_for(|state| names.contains(&state.name()));
    let state = timeout(SOON, reached).await.expect("in time").expect("it is kept").clone();
    (state.name().to_owned(), state.reason().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn one_that_goes_on_is_told_of_and_disconnected() {
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#;
    let cases = [
        (format!("yes '{notice}'"), "limits.messages"),
        ("yes garbage".to_owned(), "limits.messages"),
        (format!("yes '[{notice},1]'"), "limits.messages"),
        (r#"yes '{"jsonrpc":"2.0","id":77,"result":{}}'"#.to_owned(), "limits.messages"),
        ("yes noise >&2".to_owned(), "limits.stderr"),
    ];
    for (script, limit) in cases {
        let disconnect_after = Duration::from_secs(2);
        let flood = FloodLimits { messages: 100, stderr: 10_000, burst: 1, disconnect_after };
        let client = client(&script, flood);
        let (_, reason) = reached(&client, &["degraded"]).await;
        assert!(reason.contains(limit), "{script}: {reason}");
        let (_, reason) = reached(&client, &["backing off"]).await;
        assert!(reason.contains("disconnected") && reason.contains(limit), "{script}: {reason}");
        client.stop().await;
    }
}

#[tokio::test]
async fn one_that_falls_silent_is_ready_again() {
    let notice = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#;
    let script = format!("yes '{notice}' | head -n 300; read -r end");
    let flood = FloodLimits { messages: 100, burst: 1, ..FloodLimits::default() };
    let client = client(&script, flood);
    reached(&client, &["degraded"]).await;
    assert_eq!(reached(&client, &["ready", "backing off"]).await.0, State::Ready.name());
    client.stop().await;
}
