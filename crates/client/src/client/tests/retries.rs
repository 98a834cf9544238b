//! Requests that are made again, and those that must not be.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::backoff::Backoff;
use crate::client::Client;
use crate::connection::tests::call;
use crate::connection::tests::site::{Reply, Seen, Site, newer, older, result};
use crate::error::ClientError;
use crate::event::State;
use crate::request::{List, Request};
use crate::request_handler::NoopHandler;
use crate::settings::{RetrySettings, Settings};

const BUSY: Reply = (503, "", Value::Null);
const GATEWAY: Reply = (502, "", Value::Null);
const LATER: Reply = (429, "retry-after: 0\r\n", Value::Null);
const MUCH_LATER: Reply = (503, "retry-after: 11\r\n", Value::Null);
const LIMITED: Reply = (429, "", Value::Null);
const BROKEN: Reply = (500, "", Value::Null);
/// The connection is closed without a byte.
const CLOSED: Reply = (0, "", Value::Null);

fn settings(attempts: u32) -> Settings {
    let wait = Duration::from_millis(1);
    let backoff = Backoff { first: wait, at_most: wait };
    let retry = RetrySettings { attempts, backoff: backoff.clone(), ..RetrySettings::default() };
    Settings { retry, backoff, ..Settings::default() }
}

/// A server that answers calls, or lists, with these first, and then well. It counts them.
async fn failing(
    method: &'static str,
    usual: fn(&Seen) -> Option<Reply>,
    failures: Vec<Reply>,
) -> (Site, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let site = Site::open(move |seen| match seen.method() {
        it if it == method => {
            let number = counted.fetch_add(1, Ordering::Relaxed);
            let well = json!({"content": [], "tools": [], "resultType": "complete"});
            Some(failures.get(number).cloned().unwrap_or((200, "", result(seen, &well))))
        }
        _ => usual(seen).map(|(status, headers, mut body)| {
            if body["result"]["supportedVersions"].is_array() {
                body["result"]["capabilities"] = json!({"tools": {}});
            }
            (status, headers, body)
        }),
    })
    .await;
    (site, count)
}

fn repeatable(is_repeatable: bool) -> Request {
    Request { is_repeatable, ..call("t") }
}

#[tokio::test]
async fn only_what_may_be_repeated_is_made_again() {
    // What is answered first, and how many attempts a repeatable call and another one need to
    // succeed; none if they fail after the first.
    let cases = [
        (vec![BUSY], Some(2), None),
        (vec![GATEWAY, BUSY, CLOSED], Some(4), None),
        (vec![CLOSED], Some(2), None),
        (vec![LATER, LATER], Some(3), None),
        (vec![LIMITED], None, None),
        (vec![MUCH_LATER], None, None),
        (vec![BROKEN], None, None),
    ];
    for usual in [older as fn(&Seen) -> Option<Reply>, newer] {
        for (failures, repeated, other) in &cases {
            for (is_repeatable, expected) in [(true, repeated), (false, other)] {
                let (site, count) = failing("tools/call", usual, failures.clone()).await;
                let client = site.client(settings(4));
                let answer = client.request(&repeatable(is_repeatable), &NoopHandler).await;
                let case = format!("{failures:?} {is_repeatable}: {answer:?}");
                assert_eq!(answer.is_ok(), expected.is_some(), "{case}");
                assert_eq!(count.load(Ordering::Relaxed), expected.unwrap_or(1), "{case}");
            }
        }
    }
}

#[tokio::test]
async fn lists_are_asked_for_again() {
    for usual in [older as fn(&Seen) -> Option<Reply>, newer] {
        let (site, count) = failing("tools/list", usual, vec![BUSY, CLOSED]).await;
        site.client(settings(4)).list(List::Tools).await.unwrap();
        assert_eq!(count.load(Ordering::Relaxed), 3);
    }
}

#[tokio::test]
async fn attempts_come_to_an_end_and_are_told() {
    let (site, count) = failing("tools/call", older, vec![BUSY; 9]).await;
    let error =
        site.client(settings(3)).request(&repeatable(true), &NoopHandler).await.unwrap_err();
    let expected = "the server answered with HTTP status 503 (Service Unavailable) (3 attempts)";
    assert_eq!((error.to_string().as_str(), count.load(Ordering::Relaxed)), (expected, 3));
    let (site, count) = failing("tools/call", older, vec![CLOSED; 9]).await;
    let error =
        site.client(settings(2)).request(&repeatable(true), &NoopHandler).await.unwrap_err();
    let told = matches!(&error, ClientError::Reset(text) if text.ends_with("(2 attempts)"));
    assert!(told && count.load(Ordering::Relaxed) == 2, "{error:?}");
}

#[tokio::test]
async fn no_attempt_comes_after_the_deadline_nor_where_too_many_wait() {
    let (hour, minute) = (Duration::from_secs(3600), Duration::from_secs(60));
    for (first, waiting, expected) in [(hour, 64, 1), (minute / 60_000, 0, 1), (hour, 0, 1)] {
        let (site, count) = failing("tools/call", older, vec![BUSY; 9]).await;
        let mut settings = settings(4);
        settings.retry.backoff = Backoff { first, at_most: first };
        settings.retry.waiting = waiting;
        let request = Request { at_most: Some(minute), ..repeatable(true) };
        let answer = site.client(settings).request(&request, &NoopHandler).await;
        let made = count.load(Ordering::Relaxed);
        assert!(answer.is_err() && made == expected, "{first:?} {waiting}: {answer:?}");
    }
}

#[tokio::test]
async fn a_server_that_refuses_the_connection_is_called_when_it_is_there() {
    // The address is free again, and nobody listens there.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let away = Site::at(listener, older);
    let client = away.client(settings(1000));
    drop(away);
    let mut states = client.states();
    let calling = tokio::spawn({
        let client: Client = client.clone();
        async move { client.request(&repeatable(false), &NoopHandler).await }
    });
    let refused = |state: &State| matches!(state, State::BackingOff { .. });
    states.wait_for(refused).await.unwrap();
    let _site = Site::at(TcpListener::bind(address).await.unwrap(), older);
    calling.await.unwrap().unwrap();
}
