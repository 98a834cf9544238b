//! Changes are gathered, told once, and never pile up.

use std::time::Duration;

use super::{Event, Events, Interest, UPDATES_KEPT};
use crate::TooManyWatched;
use crate::catalog::ListKind;

const SETTLE: Duration = Duration::from_millis(20);

fn everything() -> Interest {
    Interest { tools: true, prompts: true, resources: true, ..Interest::default() }
}

fn watching(uris: &[&str]) -> Interest {
    let interest = Interest::default();
    uris.iter().for_each(|uri| assert!(interest.resources_watched.add(uri, 10).is_ok()));
    interest
}

fn updated(uri: &str) -> Event {
    Event::ResourceUpdated { uri: uri.into(), metadata: None }
}

/// What comes until nothing more does.
async fn drain(subscription: &mut super::Subscription) -> Vec<Event> {
    let mut events = Vec::new();
    while let Ok(Some(event)) = tokio::time::timeout(SETTLE * 10, subscription.next()).await {
        events.push(event);
    }
    events
}

#[tokio::test(start_paused = true)]
async fn changes_close_together_are_told_once() {
    let events = Events::new(SETTLE);
    let mut subscription = events.subscribe(everything());
    for _ in 0..1000 {
        events.list_changed(ListKind::Tools);
        events.list_changed(ListKind::Templates);
        events.list_changed(ListKind::Resources);
    }
    let told = drain(&mut subscription).await;
    let (tools, resources) = (ListKind::Tools, ListKind::Resources);
    assert_eq!(told, [Event::ListChanged(tools), Event::ListChanged(resources)]);
    events.list_changed(ListKind::Tools);
    assert_eq!(drain(&mut subscription).await, [Event::ListChanged(tools)]);
}

#[tokio::test(start_paused = true)]
async fn a_change_while_others_settle_is_not_lost() {
    let events = Events::new(SETTLE);
    let mut subscription = events.subscribe(everything());
    events.list_changed(ListKind::Tools);
    // A sign of life interrupts the wait again and again.
    for _ in 0..3 {
        let interrupted = tokio::time::timeout(SETTLE / 4, subscription.next()).await;
        if let Ok(event) = interrupted {
            assert_eq!(event, Some(Event::ListChanged(ListKind::Tools)));
            return;
        }
        events.list_changed(ListKind::Tools);
    }
    assert_eq!(drain(&mut subscription).await, [Event::ListChanged(ListKind::Tools)]);
}

#[tokio::test(start_paused = true)]
async fn each_hears_only_what_it_wants() {
    let events = Events::new(SETTLE);
    let mut prompts = events.subscribe(Interest { prompts: true, ..Interest::default() });
    let mut one = events.subscribe(watching(&["test://one"]));
    events.list_changed(ListKind::Tools);
    events.list_changed(ListKind::Prompts);
    events.resource_updated("test://one".into(), None, None);
    events.resource_updated("test://two".into(), None, None);
    assert_eq!(drain(&mut prompts).await, [Event::ListChanged(ListKind::Prompts)]);
    assert_eq!(drain(&mut one).await, [updated("test://one")]);
    drop(events);
    assert_eq!(one.next().await, None, "nothing comes when the gateway is gone");
}

#[tokio::test(start_paused = true)]
async fn changes_before_the_subscription_are_old_news() {
    let events = Events::new(SETTLE);
    events.list_changed(ListKind::Tools);
    events.resource_updated("test://one".into(), None, None);
    let interest = Interest { tools: true, ..watching(&["test://one"]) };
    assert_eq!(drain(&mut events.subscribe(interest)).await, []);
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_fell_behind_looks_at_everything_again() {
    let events = Events::new(SETTLE);
    let interest = watching(&["test://one", "test://two"]);
    let watched = interest.resources_watched.clone();
    let mut subscription = events.subscribe(interest);
    for _ in 0..UPDATES_KEPT * 3 {
        events.resource_updated("test://other".into(), None, None);
    }
    assert_eq!(drain(&mut subscription).await, [updated("test://one"), updated("test://two")]);

    for _ in 0..UPDATES_KEPT * 3 {
        events.resource_updated("test://other".into(), None, None);
    }
    assert_eq!(subscription.next().await, Some(updated("test://one")));
    watched.remove("test://two");
    assert_eq!(drain(&mut subscription).await, [], "no longer watched");
}

#[test]
fn what_is_watched_is_bounded() {
    let interest = Interest::default();
    let watched = &interest.resources_watched;
    let added: Vec<_> = ["a", "b", "a", "c", "b"].map(|uri| watched.add(uri, 2)).into();
    assert_eq!(added, [Ok(true), Ok(true), Ok(false), Err(TooManyWatched(2)), Ok(false)]);
    assert!(watched.remove("a") && !watched.remove("a"));
    assert_eq!(watched.add("c", 2), Ok(true));
}

#[tokio::test(start_paused = true)]
async fn a_part_of_what_is_watched_is_heard_of_too() {
    let events = Events::new(SETTLE);
    let mut watched = events.subscribe(watching(&["file:///dir", "test://list/", "test://one"]));
    let uris = [
        ("file:///dir", true),
        ("file:///dir/", true),
        ("file:///dir/a/b", true),
        ("file:///dir#part", true),
        ("file:///dirt", false),
        ("file:///", false),
        ("test://list/1", true),
        ("test://list", false),
        ("test://one?x=1", true),
        ("test://on", false),
        ("", false),
    ];
    for (uri, expected) in uris {
        events.resource_updated(uri.into(), None, None);
        let heard = drain(&mut watched).await;
        assert_eq!(heard, Vec::from_iter(expected.then(|| updated(uri))), "{uri}");
    }
}
