//! Providers hear what is watched, once for each change, and only of what is theirs.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use gantry_protocol::RawJson;
use gantry_protocol::json::JsonLimits;

use crate::{
    CallContext, Caller, Gateway, Interest, Listing, Outcome, Provider, Publisher, Resolved,
    ResourceEntry, ServerInfo, Subscription, TemplateEntry,
};

/// A provider that writes down what it hears.
#[derive(Clone, Default)]
struct RecordingProvider(Arc<Mutex<Vec<String>>>);

impl Provider for RecordingProvider {
    fn name(&self) -> &str {
        "recorder"
    }

    fn serve(&self, _: &Resolved, _: &CallContext) -> BoxFuture<'static, Outcome> {
        unreachable!("nothing is called here")
    }

    fn watched(&self, uris: &BTreeSet<String>) {
        let uris: Vec<_> = uris.iter().map(String::as_str).collect();
        self.0.lock().unwrap().push(uris.join(" "));
        assert!(!uris.contains(&"a:panic"), "reported of something frightful");
    }
}

impl RecordingProvider {
    /// What was heard since the last time.
    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

fn raw(text: &str) -> RawJson {
    RawJson::parse(text.to_owned(), JsonLimits::default()).unwrap()
}

/// Resources by URI, and a template that covers all that begin so.
fn listing(uris: &[&str], covered: &'static str) -> Listing {
    let resource = |uri: &&str| {
        let definition = raw(&format!(r#"{{"uri":"{uri}","name":"it"}}"#));
        Arc::new(ResourceEntry::new(definition).unwrap())
    };
    let template = raw(&format!(r#"{{"uriTemplate":"{covered}{{x}}","name":"them"}}"#));
    let template = Arc::new(TemplateEntry::new(template).unwrap());
    Listing {
        resources: uris.iter().map(resource).collect(),
        templates: vec![(template, Arc::new(move |uri: &str| uri.starts_with(covered)))],
        ..Listing::default()
    }
}

/// A gateway with two providers.
fn house() -> (Arc<Gateway>, [(RecordingProvider, Publisher); 2]) {
    let gateway = Gateway::builder(ServerInfo::new("watching", "1")).build();
    let attach = |uris: &[&str], covered| {
        let recorder = RecordingProvider::default();
        let publisher = gateway.attach(Arc::new(recorder.clone()));
        publisher.publish(listing(uris, covered));
        (recorder, publisher)
    };
    let both = [attach(&["a:1", "a:2", "a:panic"], "a:more/"), attach(&["b:1"], "b:more/")];
    (gateway, both)
}

fn subscribe(gateway: &Gateway, interest: Interest) -> Subscription {
    gateway.subscribe(interest, &Arc::new(Caller::new("someone")))
}

fn watching(uris: &[&str]) -> Interest {
    let interest = Interest::default();
    uris.iter().for_each(|uri| assert!(interest.resources_watched.add(uri, 10).is_ok()));
    interest
}

#[test]
fn each_provider_hears_of_its_own() {
    let (gateway, [(a, _), (b, _)]) = house();
    let interest = watching(&["a:1", "b:1", "c:1", "a:more/x"]);
    assert_eq!(a.heard(), [""; 0], "nobody listens yet");
    let watched = interest.resources_watched.clone();
    let subscription = subscribe(&gateway, interest);
    assert_eq!((a.heard(), b.heard()), (vec!["a:1 a:more/x".into()], vec!["b:1".into()]));
    assert_eq!([watched.add("a:2", 10), watched.add("a:2", 10)], [Ok(true), Ok(false)]);
    assert_eq!((a.heard(), b.heard()), (vec!["a:1 a:2 a:more/x".into()], vec![]));
    watched.remove("a:1");
    watched.remove("a:1");
    watched.remove("c:1");
    assert_eq!((a.heard(), b.heard()), (vec!["a:2 a:more/x".into()], vec![]));
    drop(subscription);
    assert_eq!((a.heard(), b.heard()), (vec![String::new()], vec![String::new()]));
    assert_eq!(watched.add("a:1", 10), Ok(true));
    assert_eq!(a.heard(), [""; 0], "nobody listens any more");
}

#[test]
fn what_several_watch_is_told_once() {
    let (gateway, [(a, _), _]) = house();
    let first = subscribe(&gateway, watching(&["a:1"]));
    let shared = watching(&["a:1", "a:2"]);
    let second = subscribe(&gateway, shared.clone());
    let third = subscribe(&gateway, shared);
    assert_eq!(a.heard(), ["a:1", "a:1 a:2"]);
    drop(first);
    drop(third);
    assert_eq!(a.heard(), [""; 0], "another still watches both");
    drop(second);
    assert_eq!(a.heard(), [""]);
}

#[test]
fn what_is_listed_changes_what_is_heard() {
    let (gateway, [(a, one), (b, two)]) = house();
    let _subscription = subscribe(&gateway, watching(&["a:1", "late:1"]));
    assert_eq!(a.heard(), ["a:1"]);
    two.publish(listing(&["late:1"], "b:more/"));
    assert_eq!((a.heard(), b.heard()), (vec![], vec!["late:1".into()]));
    two.publish(listing(&["late:1", "b:2"], "b:more/"));
    assert_eq!(b.heard(), [""; 0], "the same is watched as before");
    one.withdraw();
    assert_eq!((a.heard(), b.heard()), (vec![String::new()], vec![]));
    one.publish(listing(&["a:1"], "a:"));
    assert_eq!(a.heard(), [""; 0], "it was withdrawn");
}

#[test]
fn a_provider_that_panics_stops_nobody() {
    let (gateway, [(a, _), (b, _)]) = house();
    let _subscription = subscribe(&gateway, watching(&["a:panic", "b:1"]));
    assert_eq!((a.heard(), b.heard()), (vec!["a:panic".into()], vec!["b:1".into()]));
    let _another = subscribe(&gateway, watching(&["b:more/1"]));
    assert_eq!(b.heard(), ["b:1 b:more/1"]);
}

#[test]
fn the_last_word_is_right_however_many_change_it() {
    let (gateway, [(a, _), _]) = house();
    let keeps = subscribe(&gateway, watching(&["a:1"]));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..200 {
                    let uri = format!("a:more/{}", round % 7);
                    drop(subscribe(&gateway, watching(&[&uri])));
                }
            });
        }
    });
    assert_eq!(a.heard().last().map(String::as_str), Some("a:1"));
    drop(keeps);
    assert_eq!(a.heard(), [""]);
}
