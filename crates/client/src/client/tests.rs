//! What is kept, forgotten and passed on, without a server.

mod correct;
mod floods;
mod renewal;
mod retries;
mod session;

use std::time::Duration;

use gantry_process::Program;
use tokio::sync::mpsc;
use tokio::time::advance;

use super::Client;
use super::conn_state::Log;
use super::list_cache::Cache;
use crate::event::EventForwarder;
use crate::event::{ChangedList, Event};
use crate::request::{List, Listed};
use crate::settings::Settings;
use crate::target::Target;

fn listed(seconds: u64) -> Listed {
    Listed { ttl: Duration::from_secs(seconds), ..Listed::default() }
}

#[tokio::test(start_paused = true)]
async fn a_list_is_kept_for_as_long_as_it_may_be() {
    let cache = Cache::default();
    cache.store(List::Tools, cache.version_of(List::Tools), &listed(10));
    cache.store(List::Prompts, cache.version_of(List::Prompts), &listed(0));
    let kept = || [List::Tools, List::Prompts].map(|list| cache.fresh(list).is_some());
    assert_eq!(kept(), [true, false]);
    cache.store(List::Templates, cache.version_of(List::Templates), &listed(10));
    cache.forget(List::Templates);
    assert!(cache.fresh(List::Templates).is_none());
    advance(Duration::from_secs(10)).await;
    assert_eq!(kept(), [false, false]);
}

#[tokio::test(start_paused = true)]
async fn what_changed_is_not_kept() {
    let cases = [
        (Event::ListChanged(ChangedList::Tools), [false, true, true]),
        (Event::ListChanged(ChangedList::Resources), [true, false, true]),
        (Event::ListChanged(ChangedList::Prompts), [true, true, false]),
        (Event::Reconnected, [false, false, false]),
    ];
    let lists = [List::Tools, List::Templates, List::Prompts];
    for (event, expected) in cases {
        let cache = Cache::default();
        let versions = lists.map(|list| cache.version_of(list));
        for (list, version) in lists.into_iter().zip(versions) {
            cache.store(list, version, &listed(10));
        }
        cache.invalidate(&event);
        assert_eq!(lists.map(|list| cache.fresh(list).is_some()), expected, "{event:?}");
        // What was on its way when the change was told is stale when it comes.
        cache.invalidate(&event);
        for (list, version) in lists.into_iter().zip(versions) {
            cache.store(list, version, &listed(10));
        }
        assert_eq!(lists.map(|list| cache.fresh(list).is_some()), expected, "{event:?}");
    }
}

#[test]
fn the_log_loses_whole_lines_from_its_beginning() {
    let cases = [
        (100, "one\ntwo", "one\ntwo\n--- over\n"),
        (15, "one\ntwo", "two\n--- over\n"),
        (9, "a line that is far too long\n", "--- over\n"),
        (3, "ü", ""),
    ];
    for (limit, words, expected) in cases {
        let mut log = Log::new(limit);
        log.add(words, "over");
        assert_eq!(log.text(), expected, "{limit}");
    }
}

#[tokio::test]
async fn a_listener_that_falls_behind_is_told_to_look_again() {
    let (listener, mut heard) = mpsc::channel(1);
    let mut relay = EventForwarder::new(listener);
    let changed = || Event::ListChanged(ChangedList::Tools);
    relay.tell(changed());
    relay.tell(changed());
    assert!(matches!(heard.recv().await, Some(Event::ListChanged(_))));
    relay.settle().await;
    assert!(matches!(heard.recv().await, Some(Event::Reconnected)));
}

#[tokio::test]
async fn a_program_that_cannot_be_greeted_leaves_its_words() {
    let program = Program {
        program: "/bin/sh".into(),
        args: vec!["-c".to_owned(), "echo first; echo the key is missing >&2; exit 3".to_owned()],
        env: Vec::new(),
        directory: None,
        memory: None,
    };
    let (events, _heard) = mpsc::channel(1);
    let client = Client::new(Target::Program(program), Settings::default(), events);
    let error = client.peer().await.expect_err("there is nobody to greet");
    assert!(error.to_string().contains("the key is missing"), "{error}");
    assert!(client.log().contains("the key is missing\n"), "{}", client.log());
    assert_eq!(client.state().name(), "backing off");
    client.stop().await;
    assert_eq!(client.state().name(), "disabled");
}
