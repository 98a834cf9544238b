//! The queue is bounded: what does not fit waits or is left out.

use std::task::{Poll, Waker};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gantry_protocol::RawJson;
use tokio::sync::oneshot;

use super::{Item, Notice, Outbox};
use crate::ask::{Ask, Question};

fn notice(number: usize) -> Notice {
    Notice::Progress(RawJson::of(&number).unwrap())
}

/// Polls those who wait. Says how many are done.
fn poll(senders: &mut Vec<BoxFuture<'_, ()>>) -> usize {
    let before = senders.len();
    senders.retain_mut(|sender| sender.now_or_never().is_none());
    before - senders.len()
}

/// What the next notice carries.
fn next(outbox: &Outbox) -> Option<String> {
    match outbox.poll(Waker::noop(), false) {
        Poll::Ready(Item::Notice(Notice::Progress(params))) => Some(params.as_str().to_owned()),
        Poll::Ready(item) => panic!("{item:?}"),
        Poll::Pending => None,
    }
}

fn all(outbox: &Outbox) -> Vec<String> {
    std::iter::from_fn(|| next(outbox)).collect()
}

#[test]
fn offers_beyond_the_limit_are_left_out() {
    let outbox = Outbox::new(3);
    let taken: Vec<_> = (0..5).map(|number| outbox.offer(notice(number))).collect();
    assert_eq!(taken, [true, true, true, false, false]);
    assert_eq!(all(&outbox), ["0", "1", "2"]);
    assert!(outbox.offer(notice(5)), "there is room again");
}

#[test]
fn a_limit_of_nothing_still_lets_one_pass() {
    let outbox = Outbox::new(0);
    assert!(outbox.offer(notice(0)));
    assert!(!outbox.offer(notice(1)));
}

#[tokio::test]
async fn a_sender_waits_for_room_and_none_is_forgotten() {
    let outbox = Outbox::new(2);
    let mut senders: Vec<_> = (0..10).map(|number| outbox.send(notice(number)).boxed()).collect();
    assert_eq!(poll(&mut senders), 2);
    assert_eq!(poll(&mut senders), 0, "there is no room");
    let mut heard = Vec::new();
    while let Some(notice) = next(&outbox) {
        heard.push(notice);
        assert!(poll(&mut senders) <= 1, "one place, one sender");
    }
    heard.sort();
    let expected: Vec<_> = (0..10).map(|number| number.to_string()).collect();
    assert_eq!(heard, expected);
    assert!(senders.is_empty());
}

#[tokio::test]
async fn a_sender_that_gives_up_leaves_its_place_to_the_next() {
    let outbox = Outbox::new(1);
    assert!(outbox.offer(notice(0)));
    let mut first = Box::pin(outbox.send(notice(1)));
    let mut second = Box::pin(outbox.send(notice(2)));
    assert!((&mut first).now_or_never().is_none());
    assert!((&mut second).now_or_never().is_none());
    assert_eq!(next(&outbox).as_deref(), Some("0"));
    drop(first);
    assert!(second.now_or_never().is_some(), "woken in place of the first");
    assert_eq!(all(&outbox), ["2"]);
}

#[test]
fn questions_follow_the_notices_said_before_them() {
    let outbox = Outbox::new(4);
    let ask = |key: &str| {
        let (answer, answered) = oneshot::channel();
        outbox.ask(Question { key: key.to_owned(), ask: Ask::roots(), answer });
        answered
    };
    let _first = ask("one");
    let _second = ask("two");
    assert!(outbox.offer(notice(7)));
    assert!(matches!(outbox.poll(Waker::noop(), true), Poll::Ready(Item::Notice(_))));
    let Poll::Ready(Item::Questions(questions)) = outbox.poll(Waker::noop(), true) else {
        panic!("both questions at once")
    };
    let keys: Vec<_> = questions.iter().map(|question| question.key.as_str()).collect();
    assert_eq!(keys, ["one", "two"]);
    assert!(outbox.poll(Waker::noop(), true).is_pending());
}

#[test]
fn what_must_not_be_lost_has_room_always() {
    let outbox = Outbox::new(1);
    assert!(outbox.offer(notice(0)));
    outbox.insist(notice(1));
    assert!(!outbox.offer(notice(2)));
    assert_eq!(all(&outbox), ["0", "1"]);
}
