//! The concurrency limit for the calls of one connection, and the bounded queue behind it.
//!
//! Calls wait outside of the reader, so that cancellations and responses still reach the calls that
//! run. The queue is bounded in bytes. When it is full nothing more is read (backpressure), until
//! there is room again or a running call asks the client something: the client's response may stand
//! behind a call that has no room, so that call is then rejected.

use std::sync::Arc;
use std::time::Duration;

use gantry_protocol::{RpcError, code};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::quota::{Account, Permit, Resource};
use crate::session::Session;
use crate::settings::Settings;

/// What a queued call takes beside its message: a task, a timer, an entry among the calls in flight.
const FIXED_BYTES: usize = 2048;

/// Limits the calls of one connection.
#[derive(Debug)]
pub(super) struct CallLimiter {
    running: Arc<Semaphore>,
    max_running: u32,
    /// Bytes of queued calls.
    queue: Arc<Semaphore>,
    max_queue_bytes: u32,
}

/// Whether a call may run at once.
pub(super) enum Admission {
    Run(OwnedSemaphorePermit),
    Queue(QueueSpace),
    /// Queued in space that was taken for its whole batch.
    QueueInBatch,
}

/// The part of the queue that a call takes.
pub(super) struct QueueSpace {
    _bytes: OwnedSemaphorePermit,
    _held: Permit,
}

impl CallLimiter {
    pub(super) fn new(settings: &Settings) -> Self {
        let at_most = |limit: usize| u32::try_from(limit).unwrap_or(u32::MAX).max(1);
        let max_running = at_most(settings.calls_of_connection);
        let max_queue_bytes = at_most(settings.waiting_of_connection);
        let semaphore = |permits: u32| Arc::new(Semaphore::new(permits as usize));
        let (running, queue) = (semaphore(max_running), semaphore(max_queue_bytes));
        Self { running, max_running, queue, max_queue_bytes }
    }

    /// Waits until no call runs or is queued.
    pub(super) async fn wait_idle(&self) {
        drop(self.running.acquire_many(self.max_running).await);
    }

    /// Acquires a permit for a call that came in a message of so many bytes, or queues it. Waits while
    /// the queue is full; the caller reads nothing meanwhile.
    pub(super) async fn acquire_or_queue(
        &self,
        account: impl FnOnce() -> Arc<Account>,
        session: Option<&Session>,
        bytes: usize,
    ) -> Result<Admission, RpcError> {
        match self.running.clone().try_acquire_owned() {
            Ok(permit) => Ok(Admission::Run(permit)),
            Err(_) => self.reserve_queue(&account(), session, bytes).await.map(Admission::Queue),
        }
    }

    /// Reserves space in the queue.
    pub(super) async fn reserve_queue(
        &self,
        account: &Arc<Account>,
        session: Option<&Session>,
        bytes: usize,
    ) -> Result<QueueSpace, RpcError> {
        let bytes = bytes.saturating_add(FIXED_BYTES);
        let held = account.acquire(Resource::Held, bytes)?;
        // A call that is larger than the whole queue waits alone.
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.max_queue_bytes);
        let space = match self.queue.clone().try_acquire_many_owned(bytes) {
            Ok(space) => space,
            Err(_) => tokio::select! {
                biased;
                space = self.queue.clone().acquire_many_owned(bytes) => {
                    space.map_err(|_| self.queue_full())?
                }
                () = has_open_request(session) => return Err(self.queue_full()),
            },
        };
        Ok(QueueSpace { _bytes: space, _held: held })
    }

    /// Waits until an admitted call may run, no longer than a call may take.
    pub(super) async fn wait(
        &self,
        admission: Admission,
        timeout: Duration,
    ) -> Result<OwnedSemaphorePermit, RpcError> {
        let space = match admission {
            Admission::Run(permit) => return Ok(permit),
            Admission::Queue(space) => Some(space),
            Admission::QueueInBatch => None,
        };
        let permit = tokio::time::timeout(timeout, self.running.clone().acquire_owned()).await;
        drop(space);
        permit.ok().and_then(Result::ok).ok_or_else(|| {
            let text = format!(
                "the call was queued for {timeout:?} without running: {} calls are running on this \
                 connection; wait until some have ended, and send fewer at once",
                self.max_running
            );
            RpcError::new(code::LIMIT_EXCEEDED, text)
        })
    }

    fn queue_full(&self) -> RpcError {
        let Self { max_running, max_queue_bytes, .. } = self;
        let text = format!(
            "{max_running} calls are running on this connection, one of them waits for a response \
             of the client, and calls of {max_queue_bytes} bytes are queued; send the response, or \
             wait until some calls have ended"
        );
        RpcError::new(code::LIMIT_EXCEEDED, text)
    }
}

/// Waits until a running call has a request for the client.
async fn has_open_request(session: Option<&Session>) {
    match session {
        Some(session) => session.has_open_request().await,
        None => std::future::pending().await,
    }
}
