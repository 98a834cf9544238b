//! A server on the web that has become another between two requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::backoff::Backoff;
use crate::client::Client;
use crate::connection::tests::site::{Reply, Rule, Seen, Site, error, newer, older, result};
use crate::connection::tests::{SOON, call, complete, raw};
use crate::error::ClientError;
use crate::request::InputRequired;
use crate::request_handler::NoopHandler;
use crate::settings::{Era, Settings};

/// A status and an error, if there is one, by which a server refuses.
type InputRefusal = (u16, Value);

/// A server that changes when it is told to.
struct Changing {
    site: Site,
    client: Client,
    is_changed: Arc<AtomicBool>,
}

impl Changing {
    async fn open(
        settings: Settings,
        before: Rule,
        after: impl Fn(&Seen) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        let is_changed = Arc::new(AtomicBool::new(false));
        let changed = is_changed.clone();
        let site = Site::open(move |seen| match changed.load(Ordering::SeqCst) {
            true => after(seen),
            false => before(seen),
        });
        let site = site.await;
        Self { client: site.client(settings), site, is_changed }
    }

    /// Has it greeted, and changes it.
    async fn change(&mut self) {
        complete(self.client.request(&call("t"), &NoopHandler).await);
        self.is_changed.store(true, Ordering::SeqCst);
        self.trail();
    }

    /// What was asked of it since the last look.
    fn trail(&mut self) -> String {
        let seen = std::iter::from_fn(|| self.site.seen.try_recv().ok());
        let methods: Vec<_> = seen.map(|seen| seen.method().to_owned()).collect();
        let beside = ["GET", "DELETE", "notifications/initialized"];
        let asked = methods.iter().filter(|method| !beside.contains(&method.as_str()));
        asked.map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    fn revision(&self) -> String {
        self.client.known().expect("it was greeted").revision.to_string()
    }
}

/// Whether a request is one of 2026-07-28.
fn stands_alone(seen: &Seen) -> bool {
    seen.header("mcp-protocol-version") == Some("2026-07-28")
}

fn refuse(seen: &Seen, (status, told): &InputRefusal) -> Option<Reply> {
    let body = if told.is_null() { Value::Null } else { error(seen, told) };
    Some((*status, "", body))
}

fn unsupported(revision: &str) -> Value {
    json!({"code": -32022, "message": "m", "data": {"supported": [revision]}})
}

fn coded(code: i64) -> Value {
    json!({"code": code, "message": "m"})
}

#[tokio::test]
async fn one_that_was_rolled_back_is_greeted_anew() {
    let cases = [
        ((400, unsupported("2025-06-18")), "tools/call server/discover initialize tools/call"),
        ((200, unsupported("2025-06-18")), "tools/call server/discover initialize tools/call"),
        ((400, Value::Null), "tools/call server/discover server/discover initialize tools/call"),
        ((404, Value::Null), "tools/call server/discover server/discover initialize tools/call"),
        ((405, Value::Null), "tools/call server/discover server/discover initialize tools/call"),
        ((400, coded(-32000)), "tools/call server/discover server/discover initialize tools/call"),
    ];
    for (refusal, expected) in cases {
        let case = format!("{refusal:?}");
        let rolled_back = move |seen: &Seen| match stands_alone(seen) {
            true => refuse(seen, &refusal),
            false => older(seen),
        };
        let mut server = Changing::open(Settings::default(), newer, rolled_back).await;
        server.change().await;
        complete(server.client.request(&call("t"), &NoopHandler).await);
        assert_eq!(server.trail(), expected, "{case}");
        assert_eq!(server.revision(), "2025-06-18", "{case}");
        complete(server.client.request(&call("t"), &NoopHandler).await);
        assert_eq!(server.trail(), "tools/call", "{case}");
    }
}

#[tokio::test]
async fn one_that_gave_up_the_handshake_is_greeted_anew() {
    let newest = unsupported("2026-07-28");
    let asked = "tools/call server/discover server/discover tools/call";
    let cases = [
        ((400, newest.clone()), asked),
        ((400, coded(-32020)), asked),
        ((400, coded(-32602)), asked),
        ((405, Value::Null), asked),
        // Taken for a session that is lost, and found out by the handshake.
        ((404, newest), "tools/call initialize server/discover tools/call"),
    ];
    for (refusal, expected) in cases {
        let case = format!("{refusal:?}");
        let upgraded = move |seen: &Seen| match stands_alone(seen) {
            true => newer(seen),
            false => refuse(seen, &refusal),
        };
        let mut server = Changing::open(Settings::default(), older, upgraded).await;
        server.change().await;
        complete(server.client.request(&call("t"), &NoopHandler).await);
        assert_eq!(server.trail(), expected, "{case}");
        assert_eq!(server.revision(), "2026-07-28", "{case}");
    }
}

#[tokio::test]
async fn what_shows_no_change_is_told_and_changes_nothing() {
    let checked = "tools/call server/discover";
    let cases: [(Rule, InputRefusal, &str); 12] = [
        (newer, (400, Value::Null), checked),
        (newer, (400, coded(-32000)), checked),
        (newer, (400, coded(-32602)), "tools/call"),
        (newer, (404, coded(-32601)), "tools/call"),
        (newer, (400, coded(-32021)), "tools/call"),
        (newer, (429, Value::Null), "tools/call"),
        (newer, (500, Value::Null), "tools/call"),
        (newer, (200, coded(-32000)), "tools/call"),
        (older, (400, coded(-32602)), checked),
        (older, (200, coded(-32020)), "tools/call"),
        (older, (200, coded(-32022)), "tools/call"),
        (older, (500, unsupported("2026-07-28")), "tools/call"),
    ];
    for (rule, refusal, expected) in cases {
        let case = format!("{refusal:?}");
        let refusing = move |seen: &Seen| match seen.method() {
            "tools/call" => refuse(seen, &refusal),
            _ => rule(seen),
        };
        let mut server = Changing::open(Settings::default(), rule, refusing).await;
        server.change().await;
        let answer = server.client.request(&call("t"), &NoopHandler).await;
        let told = matches!(answer, Err(ClientError::Answered(_) | ClientError::Http(_)));
        assert!(told, "{case}: {answer:?}");
        assert_eq!(server.trail(), expected, "{case}");
        assert_eq!(server.client.health().restarts, 0, "{case}");
    }
}

#[tokio::test]
async fn an_era_that_is_given_is_not_doubted() {
    let cases: [(Era, Rule); 2] = [(Era::Modern, newer), (Era::Legacy, older)];
    for (era, rule) in cases {
        let refusing = |seen: &Seen| refuse(seen, &(400, unsupported("2031-01-01")));
        let settings = Settings { era, ..Settings::default() };
        let mut server = Changing::open(settings, rule, refusing).await;
        server.change().await;
        let answer = server.client.request(&call("t"), &NoopHandler).await;
        assert!(matches!(answer, Err(ClientError::Answered(_))), "{era:?}: {answer:?}");
        assert_eq!(server.trail(), "tools/call", "{era:?}");
    }
}

#[tokio::test]
async fn a_call_that_goes_on_after_questions_is_not_begun_anew() {
    let rolled_back = |seen: &Seen| match stands_alone(seen) {
        true => refuse(seen, &(400, unsupported("2025-06-18"))),
        false => older(seen),
    };
    let (state, entries) = (raw(&json!("s")), raw(&json!({})));
    let inputs = [
        InputRequired { state: Some(state), entries: None },
        InputRequired { state: None, entries: Some(entries) },
    ];
    for input in inputs {
        let mut server = Changing::open(Settings::default(), newer, rolled_back).await;
        server.change().await;
        let mut further = call("t");
        further.input = input;
        let answer = server.client.request(&further, &NoopHandler).await;
        assert!(matches!(answer, Err(ClientError::Outdated(_))), "{answer:?}");
        server.site.next("initialize").await;
        complete(server.client.request(&call("t"), &NoopHandler).await);
        assert_eq!(server.trail(), "tools/call");
    }
}

#[tokio::test]
async fn one_that_refuses_for_ever_is_asked_twice() {
    let refusing = |seen: &Seen| match seen.method() {
        "tools/call" => refuse(seen, &(400, unsupported("2026-07-28"))),
        _ => newer(seen),
    };
    let backoff = Backoff { first: SOON, at_most: SOON };
    let settings = Settings { backoff, ..Settings::default() };
    let mut server = Changing::open(settings, newer, refusing).await;
    server.change().await;
    let answer = server.client.request(&call("t"), &NoopHandler).await;
    assert!(matches!(answer, Err(ClientError::Outdated(_))), "{answer:?}");
    assert!(server.trail().starts_with("tools/call server/discover tools/call"));
    // From now on there are waits, so that nothing turns in a circle.
    let answer = server.client.request(&call("t"), &NoopHandler).await;
    assert!(matches!(answer, Err(ClientError::Unreachable(_))), "{answer:?}");
    assert_eq!(server.client.state().name(), "backing off");
}

#[tokio::test]
async fn a_subscription_that_is_refused_tells_it_too() {
    let listening = |seen: &Seen| match seen.method() {
        "server/discover" => {
            let found = json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": true}}});
            Some((200, "", result(seen, &found)))
        }
        _ => newer(seen),
    };
    let rolled_back = |seen: &Seen| match stands_alone(seen) {
        true => refuse(seen, &(400, Value::Null)),
        false => older(seen),
    };
    let soon = Backoff { first: Duration::from_millis(1), at_most: Duration::from_millis(1) };
    let settings = Settings { backoff: soon, ..Settings::default() };
    let mut server = Changing::open(settings, listening, rolled_back).await;
    server.change().await;
    // In between there are as many refusals as there is time for.
    let greeted = timeout(SOON, server.site.next("initialize")).await;
    assert!(greeted.is_ok(), "it is greeted anew");
}
