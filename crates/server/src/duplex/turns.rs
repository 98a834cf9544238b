//! Calls beyond those that may run at once on a connection wait for their turn.
//!
//! They wait outside of the reader, so that cancellations and answers to questions still reach the
//! calls that run. What waits is bounded by its bytes. At the bound nothing more is read, until
//! there is room again or a running call asks the client something: the answer may stand behind a
//! call that has no room, which is then refused.

use std::sync::Arc;

use gantry_protocol::{RpcError, code};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::Connection;
use crate::quota::{Permit, Resource};
use crate::settings::Settings;

/// What a waiting call takes beside its message: a task, a timer, a place among the cancellable.
const FIXED_BYTES: usize = 2048;

/// The calls of a connection, as far as they are limited.
#[derive(Debug)]
pub(super) struct Turns {
    /// Calls that may run.
    slots: Arc<Semaphore>,
    calls: u32,
    /// Bytes of calls that may wait.
    room: Arc<Semaphore>,
    bytes: u32,
}

/// The turn of a call.
pub(super) enum Turn {
    Now(OwnedSemaphorePermit),
    Later(Room),
    /// Later too, with room taken elsewhere.
    Next,
}

/// The room that a waiting call takes.
pub(super) struct Room {
    _bytes: OwnedSemaphorePermit,
    _held: Permit,
}

impl Turns {
    pub(super) fn new(settings: &Settings) -> Self {
        let at_most = |limit: usize| u32::try_from(limit).unwrap_or(u32::MAX).max(1);
        let calls = at_most(settings.calls_of_connection);
        let bytes = at_most(settings.waiting_of_connection);
        let semaphore = |permits: u32| Arc::new(Semaphore::new(permits as usize));
        Self { slots: semaphore(calls), calls, room: semaphore(bytes), bytes }
    }

    /// Waits until no call runs or waits.
    pub(super) async fn idle(&self) {
        drop(self.slots.acquire_many(self.calls).await);
    }
}

impl Connection {
    /// The turn of a call that came in a message of so many bytes. Ends when it may run or wait;
    /// nothing is read meanwhile.
    pub(super) async fn turn(&self, bytes: usize) -> Result<Turn, RpcError> {
        match self.turns.slots.clone().try_acquire_owned() {
            Ok(slot) => Ok(Turn::Now(slot)),
            Err(_) => self.room(bytes).await.map(Turn::Later),
        }
    }

    /// Room for what waits.
    pub(super) async fn room(&self, bytes: usize) -> Result<Room, RpcError> {
        let bytes = bytes.saturating_add(FIXED_BYTES);
        let held = self.server_state.quota.account(&self.client_identity.identity.principal);
        let held = held.take(Resource::Held, bytes)?;
        // One that is larger than all the room waits alone.
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.turns.bytes);
        let room = match self.turns.room.clone().try_acquire_many_owned(bytes) {
            Ok(room) => room,
            Err(_) => tokio::select! {
                biased;
                room = self.turns.room.clone().acquire_many_owned(bytes) => {
                    room.map_err(|_| self.busy())?
                }
                () = self.is_asking() => return Err(self.busy()),
            },
        };
        Ok(Room { _bytes: room, _held: held })
    }

    /// Waits until a running call asks the client something, or as long as one does.
    async fn is_asking(&self) {
        match self.session.get() {
            Some(session) => session.asking().await,
            None => std::future::pending().await,
        }
    }

    /// Waits for a turn, no longer than a call may take.
    pub(super) async fn take_turn(&self, turn: Turn) -> Result<OwnedSemaphorePermit, RpcError> {
        let room = match turn {
            Turn::Now(slot) => return Ok(slot),
            Turn::Later(room) => Some(room),
            Turn::Next => None,
        };
        let write_timeout = self.server_state.gateway.deadline();
        let slot = timeout(write_timeout, self.turns.slots.clone().acquire_owned()).await;
        drop(room);
        slot.ok().and_then(Result::ok).ok_or_else(|| {
            let text = format!(
                "the call has waited {write_timeout:?} for its turn: {} calls are running on this \
                 connection; wait until some have ended, and send fewer at once",
                self.turns.calls
            );
            RpcError::new(code::LIMIT_EXCEEDED, text)
        })
    }

    /// That there is no room for another call to wait.
    pub(super) fn busy(&self) -> RpcError {
        let Turns { calls, bytes, .. } = &self.turns;
        let text = format!(
            "{calls} calls are running on this connection, one of them waits for an answer of the \
             client, and calls of {bytes} bytes wait for their turn; answer it, or wait until \
             some have ended"
        );
        RpcError::new(code::LIMIT_EXCEEDED, text)
    }
}
