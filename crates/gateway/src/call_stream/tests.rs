//! The queue is bounded: what does not fit waits or is left out.

use std::task::{Poll, Waker};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use gantry_protocol::RawJson;
use tokio::sync::oneshot;

use super::{CallNotification, EventQueue, QueuedEvent};
use crate::input_request::{InputRequest, PendingInputRequest};

fn notification(number: usize) -> CallNotification {
    CallNotification::Progress(RawJson::of(&number).unwrap())
}

/// Polls those who wait. Says how many are done.
fn poll(senders: &mut Vec<BoxFuture<'_, ()>>) -> usize {
    let before = senders.len();
    senders.retain_mut(|sender| sender.now_or_never().is_none());
    before - senders.len()
}

/// What the next notice carries.
fn next(event_queue: &EventQueue) -> Option<String> {
    match event_queue.poll(Waker::noop(), false) {
        Poll::Ready(QueuedEvent::Notification(CallNotification::Progress(params))) => {
            Some(params.as_str().to_owned())
        }
        Poll::Ready(item) => panic!("{item:?}"),
        Poll::Pending => None,
    }
}

fn all(event_queue: &EventQueue) -> Vec<String> {
    std::iter::from_fn(|| next(event_queue)).collect()
}

#[test]
fn offers_beyond_the_limit_are_left_out() {
    let event_queue = EventQueue::new(3);
    let taken: Vec<_> = (0..5).map(|number| event_queue.try_push(notification(number))).collect();
    assert_eq!(taken, [true, true, true, false, false]);
    assert_eq!(all(&event_queue), ["0", "1", "2"]);
    assert!(event_queue.try_push(notification(5)), "there is room again");
}

#[test]
fn a_limit_of_nothing_still_lets_one_pass() {
    let event_queue = EventQueue::new(0);
    assert!(event_queue.try_push(notification(0)));
    assert!(!event_queue.try_push(notification(1)));
}

#[tokio::test]
async fn a_sender_waits_for_room_and_none_is_forgotten() {
    let event_queue = EventQueue::new(2);
    let mut senders: Vec<_> =
        (0..10).map(|number| event_queue.push(notification(number)).boxed()).collect();
    assert_eq!(poll(&mut senders), 2);
    assert_eq!(poll(&mut senders), 0, "there is no room");
    let mut heard = Vec::new();
    while let Some(notification) = next(&event_queue) {
        heard.push(notification);
        assert!(poll(&mut senders) <= 1, "one place, one sender");
    }
    heard.sort();
    let expected: Vec<_> = (0..10).map(|number| number.to_string()).collect();
    assert_eq!(heard, expected);
    assert!(senders.is_empty());
}

#[tokio::test]
async fn a_sender_that_gives_up_leaves_its_place_to_the_next() {
    let event_queue = EventQueue::new(1);
    assert!(event_queue.try_push(notification(0)));
    let mut first = Box::pin(event_queue.push(notification(1)));
    let mut second = Box::pin(event_queue.push(notification(2)));
    assert!((&mut first).now_or_never().is_none());
    assert!((&mut second).now_or_never().is_none());
    assert_eq!(next(&event_queue).as_deref(), Some("0"));
    drop(first);
    assert!(second.now_or_never().is_some(), "woken in place of the first");
    assert_eq!(all(&event_queue), ["2"]);
}

#[test]
fn questions_follow_the_notices_said_before_them() {
    let event_queue = EventQueue::new(4);
    let ask = |key: &str| {
        let (answer, answered) = oneshot::channel();
        event_queue.push_input_request(PendingInputRequest {
            key: key.to_owned(),
            request: InputRequest::roots(),
            answer,
        });
        answered
    };
    let _first = ask("one");
    let _second = ask("two");
    assert!(event_queue.try_push(notification(7)));
    assert!(matches!(
        event_queue.poll(Waker::noop(), true),
        Poll::Ready(QueuedEvent::Notification(_))
    ));
    let Poll::Ready(QueuedEvent::InputRequests(input_requests)) =
        event_queue.poll(Waker::noop(), true)
    else {
        panic!("both questions at once")
    };
    let keys: Vec<_> =
        input_requests.iter().map(|input_request| input_request.key.as_str()).collect();
    assert_eq!(keys, ["one", "two"]);
    assert!(event_queue.poll(Waker::noop(), true).is_pending());
}

#[test]
fn what_must_not_be_lost_has_room_always() {
    let event_queue = EventQueue::new(1);
    assert!(event_queue.try_push(notification(0)));
    event_queue.push_beyond_limit(notification(1));
    assert!(!event_queue.try_push(notification(2)));
    assert_eq!(all(&event_queue), ["0", "1"]);
}
