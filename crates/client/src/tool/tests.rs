//! Tools of a server that does not answer a call at once.

use std::time::Duration;

use futures_util::future::BoxFuture;
use gantry_protocol::{Level, RawJson};
use serde_json::{Value, json};

use super::RepeatTimer;
use crate::connection::tests::raw;
use crate::connection::tests::site::{Reply, Seen, Site, result};
use crate::error::ClientError;
use crate::request_handler::{InputRefusal, InputRequest, RequestHandler};
use crate::settings::Settings;

/// What a tool does until it has been called so often.
#[derive(Debug, Clone, Copy)]
enum Until {
    /// Wants to be called again.
    Sheds(u64),
    /// The same, in other words.
    AsksNothing(u64),
    Asks(u64),
}

/// Answers everything.
struct Obliging;

impl RequestHandler for Obliging {
    fn progress(&self, _params: RawJson) {}

    fn log(&self, _level: Level, _params: RawJson) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }

    fn ask(&self, _question: InputRequest) -> BoxFuture<'_, Result<RawJson, InputRefusal>> {
        Box::pin(async { Ok(raw(&json!({"roots": []}))) })
    }
}

fn serve(seen: &Seen, until: Until) -> Reply {
    let state = seen.body["params"]["requestState"].as_str();
    let round = state.map_or(0, |state| state.parse().unwrap());
    let (needed, requests) = match until {
        Until::Sheds(needed) => (needed, None),
        Until::AsksNothing(needed) => (needed, Some(json!({}))),
        Until::Asks(needed) => (needed, Some(json!({"folders": {"method": "roots/list"}}))),
    };
    let mut required =
        json!({"resultType": "input_required", "requestState": (round + 1).to_string()});
    if let Some(requests) = requests {
        required["inputRequests"] = requests;
    }
    let answer = match seen.method() {
        "server/discover" => {
            json!({"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}})
        }
        "tools/list" => json!({"resultType": "complete", "tools": [{"name": "t"}]}),
        _ if round < needed => required,
        _ => json!({"resultType": "complete", "content": []}),
    };
    (200, "", result(seen, &answer))
}

#[tokio::test]
async fn what_a_call_brings_when_it_is_made_again() {
    let folders = json!({"folders": {"roots": []}});
    let cases = [
        (Until::Sheds(0), 1, Value::Null, "ok"),
        (Until::Sheds(2), 3, Value::Null, "ok"),
        (Until::AsksNothing(2), 3, Value::Null, "ok"),
        (Until::Asks(2), 3, folders.clone(), "ok"),
        (Until::Asks(100), 17, folders, "more than 16 times"),
    ];
    for (until, calls, answers, expected) in cases {
        let mut site = Site::open(move |seen| Some(serve(seen, until))).await;
        let tool = site.client(Settings::default()).tools().await.unwrap().remove(0);
        let called = tool.call_on(RawJson::EMPTY_OBJECT, RawJson::EMPTY_OBJECT, &Obliging).await;
        let ended = called.map_or_else(|error| error.to_string(), |_| "ok".to_owned());
        assert!(ended.contains(expected), "{until:?}: {ended}");
        for round in 0..calls {
            let params = &site.next("tools/call").await.body["params"];
            let (state, brings) = match round {
                0 => (Value::Null, &Value::Null),
                _ => (json!(round.to_string()), &answers),
            };
            assert_eq!(params["requestState"], state, "{until:?} {round}");
            assert_eq!(&params["inputResponses"], brings, "{until:?} {round}");
        }
        assert!(site.seen.try_recv().is_err(), "{until:?} is called {calls} times");
    }
}

#[tokio::test(start_paused = true)]
async fn patience_ends_after_longer_and_longer_pauses() {
    // By chance a pause is as short as half of what it may be.
    for (seconds, expected) in [(1, 3..=4), (30, 13..=24), (600, 200..=405)] {
        let at_most = Duration::from_secs(seconds);
        let (mut patience, mut pauses) = (RepeatTimer::new(at_most), 0);
        let error = loop {
            match patience.pause().await {
                Ok(()) => pauses += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, ClientError::Timeout(time) if time == at_most), "{error:?}");
        assert!(expected.contains(&pauses), "{pauses} pauses in {seconds} s");
    }
}
