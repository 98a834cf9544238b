//! The table of requests in flight of one client, which `notifications/cancelled` cancels by id.
//!
//! A request leaves the table when its guard is dropped, however it ends, so that no id stays taken.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use foldhash::HashMap;
use gantry_protocol::{Id, Method, Notification, RpcError};
use tokio_util::sync::CancellationToken;

/// The requests in flight of one session or connection.
#[derive(Debug)]
pub(crate) struct InFlightRequests {
    /// The parent of all their tokens.
    all: CancellationToken,
    requests: Mutex<Requests>,
}

#[derive(Debug, Default)]
struct Requests {
    last: u64,
    by_id: HashMap<Id, (u64, CancellationToken)>,
}

/// A request in flight. It is in the table until this is dropped, or until the client cancels it.
#[derive(Debug)]
pub(crate) struct InFlightGuard {
    table: Arc<InFlightRequests>,
    id: Id,
    /// Distinguishes it from a later request with the same id.
    number: u64,
    token: CancellationToken,
}

impl InFlightRequests {
    /// An empty table. `all` cancels every request that will be in it.
    pub(crate) fn new(all: CancellationToken) -> Arc<Self> {
        Arc::new(Self { all, requests: Mutex::default() })
    }

    /// Adds a request; none if its id is in use.
    pub(crate) fn register(self: &Arc<Self>, id: &Id) -> Option<InFlightGuard> {
        let mut requests = self.requests();
        if requests.by_id.contains_key(id) {
            return None;
        }
        requests.last += 1;
        let (number, token) = (requests.last, self.all.child_token());
        requests.by_id.insert(id.clone(), (number, token.clone()));
        Some(InFlightGuard { table: self.clone(), id: id.clone(), number, token })
    }

    /// Cancels the request that a notification names, if it is one of these.
    pub(crate) fn handle_notification(&self, notification: &Notification) {
        if notification.method == Method::Cancelled
            && let Some(params) = &notification.params
            && let Some(id) = params.get("requestId").and_then(Id::new)
            && let Some((_, token)) = self.requests().by_id.remove(&id)
        {
            token.cancel();
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.requests().by_id.is_empty()
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InFlightGuard {
    /// Runs a call; none when it is cancelled.
    ///
    /// The token is checked before each poll: a call that was queued and whose permit comes at the
    /// same moment as its cancellation must not start.
    pub(crate) async fn run_until_cancelled<F: Future>(
        &self,
        mut call: Pin<&mut F>,
    ) -> Option<F::Output> {
        let mut cancelled = pin!(self.token.cancelled());
        poll_fn(|context| {
            if self.token.is_cancelled() {
                return Poll::Ready(None);
            }
            match call.as_mut().poll(context) {
                Poll::Ready(output) => Poll::Ready(Some(output)),
                Poll::Pending => cancelled.as_mut().poll(context).map(|()| None),
            }
        })
        .await
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let mut requests = self.table.requests();
        if requests.by_id.get(&self.id).is_some_and(|(number, _)| *number == self.number) {
            requests.by_id.remove(&self.id);
        }
    }
}

/// The error for a request whose id is in use.
pub(crate) fn duplicate_id() -> RpcError {
    RpcError::invalid_request("a request with this id is still in flight; use another id")
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

    fn cancel(table: &InFlightRequests) {
        let params = Some(RawJson::from_static(r#"{"requestId":1}"#));
        table.handle_notification(&Notification { method: Method::Cancelled, params });
    }

    #[tokio::test]
    async fn a_call_runs_to_its_end() {
        let table = InFlightRequests::new(CancellationToken::new());
        let call = table.register(&id()).unwrap();
        let permits = Semaphore::new(0);
        {
            let waiting = pin!(permits.acquire());
            let mut running = pin!(call.run_until_cancelled(waiting));
            assert!(running.as_mut().now_or_never().is_none());
            permits.add_permits(1);
            assert!(running.await.expect("nobody cancelled it").is_ok());
        }
        assert!(table.register(&id()).is_none(), "the id is in use");
        drop(call);
        assert!(table.is_empty());
    }

    #[tokio::test]
    async fn a_queued_call_that_was_cancelled_does_not_start() {
        let all = CancellationToken::new();
        let ends: [fn(&InFlightRequests, &CancellationToken); 2] =
            [|table, _| cancel(table), |_, all| all.cancel()];
        for end in ends {
            let table = InFlightRequests::new(all.clone());
            let call = table.register(&id()).unwrap();
            let permits = Semaphore::new(0);
            let waiting = pin!(async {
                let _permit = permits.acquire().await;
                unreachable!("it has started");
            });
            let mut running = pin!(call.run_until_cancelled(waiting));
            assert!(running.as_mut().now_or_never().is_none());
            end(&table, &all);
            permits.add_permits(1);
            assert!(running.await.is_none());
        }
    }

    #[test]
    fn the_end_of_a_request_leaves_a_later_one_with_its_id() {
        let table = InFlightRequests::new(CancellationToken::new());
        let first = table.register(&id()).unwrap();
        cancel(&table);
        let second = table.register(&id()).expect("the id is free again");
        drop(first);
        assert!(!table.is_empty());
        cancel(&table);
        assert!(second.token.is_cancelled());
    }
}
