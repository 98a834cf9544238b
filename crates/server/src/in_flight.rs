//! Calls under way, which their clients may take back.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use foldhash::HashMap;
use gantry_protocol::{Id, Method, Notification};
use tokio_util::sync::CancellationToken;

/// The calls of one client that are under way.
#[derive(Debug)]
pub(crate) struct InFlightRequests {
    /// Ends them all.
    all: CancellationToken,
    calls: Mutex<Calls>,
}

#[derive(Debug, Default)]
struct Calls {
    last: u64,
    by_id: HashMap<Id, (u64, CancellationToken)>,
}

/// A call under way. It is known by its id until this is dropped, or until the client takes it back.
#[derive(Debug)]
pub(crate) struct InFlightGuard {
    book: Arc<InFlightRequests>,
    id: Id,
    /// Tells it from a later call of the same id.
    number: u64,
    token: CancellationToken,
}

impl InFlightRequests {
    /// No calls yet. `all` ends those that will come.
    pub(crate) fn new(all: CancellationToken) -> Arc<Self> {
        Arc::new(Self { all, calls: Mutex::default() })
    }

    /// Takes a call in. An id in use is not taken twice.
    pub(crate) fn register(self: &Arc<Self>, id: &Id) -> Option<InFlightGuard> {
        let mut calls = self.calls();
        if calls.by_id.contains_key(id) {
            return None;
        }
        calls.last += 1;
        let (number, token) = (calls.last, self.all.child_token());
        calls.by_id.insert(id.clone(), (number, token.clone()));
        Some(InFlightGuard { book: self.clone(), id: id.clone(), number, token })
    }

    /// Gives up the call that a notification takes back, if it is one of these.
    pub(crate) fn hear(&self, notification: &Notification) {
        if notification.method == Method::Cancelled
            && let Some(params) = &notification.params
            && let Some(id) = params.get("requestId").and_then(Id::new)
            && let Some((_, token)) = self.calls().by_id.remove(&id)
        {
            token.cancel();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls().by_id.is_empty()
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InFlightGuard {
    /// Drives the call; none when it is taken back. A call that has been is never moved on, not even
    /// if what it waited for has come at the same moment: what nobody wants any more must not start.
    pub(crate) async fn drive<F: Future>(&self, mut call: Pin<&mut F>) -> Option<F::Output> {
        let mut withdrawn = pin!(self.token.cancelled());
        poll_fn(|context| {
            if self.token.is_cancelled() {
                return Poll::Ready(None);
            }
            match call.as_mut().poll(context) {
                Poll::Ready(output) => Poll::Ready(Some(output)),
                Poll::Pending => withdrawn.as_mut().poll(context).map(|()| None),
            }
        })
        .await
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let mut calls = self.book.calls();
        if calls.by_id.get(&self.id).is_some_and(|(number, _)| *number == self.number) {
            calls.by_id.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use gantry_protocol::RawJson;
    use tokio::sync::Semaphore;

    use super::*;

    fn id() -> Id {
        Id::new(RawJson::from_static("1")).unwrap()
    }

    fn take_back(book: &InFlightRequests) {
        let params = Some(RawJson::from_static(r#"{"requestId":1}"#));
        book.hear(&Notification { method: Method::Cancelled, params });
    }

    #[tokio::test]
    async fn a_call_is_driven_to_its_end() {
        let book = InFlightRequests::new(CancellationToken::new());
        let call = book.register(&id()).unwrap();
        let turns = Semaphore::new(0);
        {
            let waiting = pin!(turns.acquire());
            let mut driven = pin!(call.drive(waiting));
            assert!(driven.as_mut().now_or_never().is_none());
            turns.add_permits(1);
            assert!(driven.await.expect("nobody took it back").is_ok());
        }
        assert!(book.register(&id()).is_none(), "the id is in use");
        drop(call);
        assert!(book.is_empty());
    }

    #[tokio::test]
    async fn a_call_whose_turn_comes_too_late_does_not_start() {
        let all = CancellationToken::new();
        let ends: [fn(&InFlightRequests, &CancellationToken); 2] =
            [|book, _| take_back(book), |_, all| all.cancel()];
        for end in ends {
            let book = InFlightRequests::new(all.clone());
            let call = book.register(&id()).unwrap();
            let turns = Semaphore::new(0);
            let waiting = pin!(async {
                let _turn = turns.acquire().await;
                unreachable!("it has started");
            });
            let mut driven = pin!(call.drive(waiting));
            assert!(driven.as_mut().now_or_never().is_none());
            end(&book, &all);
            turns.add_permits(1);
            assert!(driven.await.is_none());
        }
    }

    #[test]
    fn the_end_of_a_call_leaves_a_later_one_of_its_id_alone() {
        let book = InFlightRequests::new(CancellationToken::new());
        let first = book.register(&id()).unwrap();
        take_back(&book);
        let second = book.register(&id()).expect("the id is free again");
        drop(first);
        assert!(!book.is_empty());
        take_back(&book);
        assert!(second.token.is_cancelled());
    }
}
