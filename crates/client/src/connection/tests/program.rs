//! Programs that misbehave, started for real.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gantry_process::Program;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{SOON, call, complete};
use crate::connection::{Connection, ConnectionInner, Transport};
use crate::error::ClientError;
use crate::request_handler::NoopHandler;
use crate::settings::{Era, Settings};
use crate::target::Target;
use crate::transport::Outgoing;

/// Says hello to whoever begins with a handshake.
const HELLO: &str = r#"
    reply() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
    hello() { reply "$1" '{"protocolVersion":"2025-06-18","capabilities":{}}'; read -r initialized; }
"#;

async fn open(script: &str, settings: Settings) -> Result<Arc<Connection>, ClientError> {
    let target = Target::Program(Program {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), format!("{HELLO}{script}")],
        env: vec![("PATH".into(), std::env::var("PATH").unwrap())],
        directory: None,
        memory: None,
    });
    let (events, _) = mpsc::channel(1);
    Connection::open(&target, Arc::new(settings), events).await.map(Arc::new)
}

fn legacy() -> Settings {
    let message = gantry_protocol::JsonLimits { size: 1000, depth: 16 };
    Settings { era: Era::Legacy, message, ..Settings::default() }
}

async fn ended(connection: &Connection) -> String {
    timeout(SOON, connection.ended()).await.expect("it ends in time")
}

#[tokio::test]
async fn one_that_dies_on_the_probe_is_started_again() {
    let script = r#"
        read -r first
        case "$first" in *server/discover*) echo what? >&2; exit 3;; esac
        hello 1; cat > /dev/null"#;
    let connection = open(script, Settings::default()).await.expect("it is greeted at last");
    assert_eq!(connection.peer().revision.as_str(), "2025-06-18");
    let process = connection.process().expect("it is a program");
    assert!(connection.memory().is_some_and(|memory| memory > 0));
    connection.close().await;
    assert!(!std::path::Path::new(&format!("/proc/{process}")).exists());
}

#[tokio::test]
async fn its_end_is_told_with_its_last_words() {
    let script = "read -r first; hello 1; read -r call; echo oh >&2; echo 'no more' >&2; exit 3";
    let connection = open(script, legacy()).await.expect("it is greeted");
    let answer = connection.request(call("t"), &NoopHandler).await;
    let reason = "the program ended with status 3; stderr: no more";
    assert!(matches!(&answer, Err(ClientError::Reset(told)) if told == reason), "{answer:?}");
    assert_eq!(ended(&connection).await, reason);
    assert_eq!(connection.log(), "oh\nno more\n");
}

/// The way to it is seen to be closed before its end is heard of.
#[tokio::test]
async fn who_writes_to_one_that_has_ended_is_told_why() {
    let (outgoing, _) = mpsc::channel(1);
    let way = Transport::Pipe {
        outgoing: Outgoing::Queue(outgoing),
        program: None,
        stop: CancellationToken::new(),
    };
    let inner = ConnectionInner::new(Arc::new(legacy()), way, mpsc::channel(1).0);
    let reason = "the program ended with status 7";
    let end = async { inner.pending_requests.end(reason) };
    let (sent, ()) = tokio::join!(inner.say(Bytes::from_static(b"{}")), end);
    assert!(matches!(&sent, Err(ClientError::Unreachable(told)) if told == reason), "{sent:?}");
}

#[tokio::test]
async fn what_is_no_message_is_noted_in_its_log() {
    let script = r#"
        echo 'Starting up...'
        read -r first; hello 1
        read -r call
        echo 'debug: called'
        head -c 100000 /dev/zero | tr '\0' x; echo
        reply 2 '{"content":[]}'; cat > /dev/null"#;
    let connection = open(script, legacy()).await.expect("it is greeted");
    complete(connection.request(call("t"), &NoopHandler).await);
    let log = connection.log();
    for expected in ["Starting up...", "debug: called", "longer than the limit of 1000 bytes"] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
}

#[tokio::test]
async fn one_that_cannot_be_greeted_says_why() {
    let cases = [
        ("echo 'no such module' >&2; exit 1", "stderr: no such module"),
        ("exec 1>&-; cat > /dev/null", "the program ended with status 0"),
        ("echo patience >&2; cat > /dev/null", "established within 2s; stderr: patience"),
    ];
    for (script, expected) in cases {
        let connect_within =
            if expected.contains("within") { Duration::from_secs(2) } else { SOON };
        let settings = Settings { connect_within, ..Settings::default() };
        let error = open(script, settings).await.expect_err(expected);
        assert!(error.is_unsent() && error.to_string().contains(expected), "{expected}: {error}");
    }
}

#[tokio::test]
async fn one_that_reads_nothing_holds_up_nobody_for_long() {
    let settings = Settings { queue: 2, silence: Duration::from_millis(200), ..legacy() };
    let connection =
        open("read -r first; hello 1; exec sleep 1000", settings).await.expect("hello");
    let big = "x".repeat(100_000);
    let request = || {
        let params = super::raw(&serde_json::json!({"name": "t", "arguments": {"big": big}}));
        crate::request::Request::new(gantry_protocol::Method::ToolsCall, params)
    };
    let calls = (0..8).map(|_| connection.request(request(), &NoopHandler));
    for answer in futures_util::future::join_all(calls).await {
        assert!(matches!(answer, Err(ClientError::Timeout(_))), "{answer:?}");
    }
    assert_eq!(connection.in_flight(), 0);
}
