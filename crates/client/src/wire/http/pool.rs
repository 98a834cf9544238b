//! Connections to one origin that wait for their next request.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::runtime::{Handle, Id};
use tokio::time::Instant;

use super::dial::dial;
use super::origin::Origin;
use super::rest::Rest;
use crate::error::ClientError;

/// A connection that takes one request at a time. A task of its own drives it, and ends with it.
pub(super) type Lane = SendRequest<Full<Bytes>>;

/// How long a connection may wait: servers close theirs after some time, and one that is about to
/// be closed would lose a request.
const IDLE: Duration = Duration::from_secs(30);
/// How long a connection may take to be ready after its last response has been read.
const SETTLE: Duration = Duration::from_millis(50);
/// Responses that nobody reads any more whose end is waited for.
const RESTS: usize = 32;

/// Connections that wait, apart for each runtime that opened some: one that another runtime drives
/// would wake a second thread for each request. Locked for moments, never while something is awaited.
#[derive(Debug)]
pub(super) struct Pool {
    shelves: Mutex<Vec<(Id, Waiting)>>,
    at_most: usize,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The one used last at the back.
    idle: VecDeque<(Lane, Instant)>,
    rests: VecDeque<Rest>,
}

impl Pool {
    /// Keeps at most so many connections for each runtime.
    pub(super) fn new(at_most: usize) -> Self {
        Self { shelves: Mutex::default(), at_most }
    }

    /// The connection that was used last, if it is ready now.
    pub(super) fn take_ready(&self) -> Option<Lane> {
        self.here(|waiting| {
            waiting.settle();
            let (lane, since) = waiting.idle.back()?;
            let good = lane.is_ready() && since.elapsed() <= IDLE;
            good.then(|| waiting.idle.pop_back()).flatten().map(|(lane, _)| lane)
        })?
    }

    /// A connection that was ready a moment ago, or is within another.
    pub(super) async fn take(&self) -> Option<Lane> {
        while let Some(mut lane) = self.here(Waiting::pop).flatten() {
            if lane.is_ready() {
                return Some(lane);
            }
            if lane.is_closed() {
                continue;
            }
            if let Ok(Ok(())) = tokio::time::timeout(SETTLE, lane.ready()).await {
                return Some(lane);
            }
        }
        None
    }

    /// Takes back a connection whose response has been read to its end.
    pub(super) fn give(&self, lane: Lane) {
        if lane.is_closed() {
            return;
        }
        let now = Instant::now();
        self.here(|waiting| {
            while waiting.idle.front().is_some_and(|(_, since)| now - *since > IDLE) {
                waiting.idle.pop_front();
            }
            if waiting.idle.len() < self.at_most {
                waiting.idle.push_back((lane, now));
            }
        });
    }

    /// Takes a response that nobody reads any more, for its connection once it has ended.
    pub(super) fn give_rest(&self, rest: Rest) {
        self.here(|waiting| {
            if waiting.rests.len() == RESTS {
                waiting.rests.pop_front();
            }
            waiting.rests.push_back(rest);
        });
    }

    /// Does something with what waits for the runtime that this is called on; nothing outside of
    /// all, where a connection is of no more use.
    fn here<T>(&self, act: impl FnOnce(&mut Waiting) -> T) -> Option<T> {
        let here = Handle::try_current().ok()?.id();
        let mut shelves = self.shelves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, waiting)) = shelves.iter_mut().find(|(id, _)| *id == here) {
            return Some(act(waiting));
        }
        // Runtimes come seldom, so this is the time to forget those that have gone.
        shelves.retain(|(_, waiting)| !waiting.is_dead());
        let mut waiting = Waiting::default();
        let done = act(&mut waiting);
        shelves.push((here, waiting));
        Some(done)
    }
}

impl Waiting {
    fn pop(&mut self) -> Option<Lane> {
        self.settle();
        let (lane, since) = self.idle.pop_back()?;
        if since.elapsed() <= IDLE {
            return Some(lane);
        }
        // All others have waited longer still.
        self.idle.clear();
        None
    }

    /// Whether nothing here can be used any more.
    fn is_dead(&self) -> bool {
        self.rests.is_empty() && self.idle.iter().all(|(lane, _)| lane.is_closed())
    }

    /// Looks at the responses that nobody reads: those that have ended give their connection back.
    fn settle(&mut self) {
        for _ in 0..self.rests.len() {
            match self.rests.pop_front().map(Rest::settle) {
                Some(Ok(lane)) => self.idle.push_back((lane, Instant::now())),
                Some(Err(Some(rest))) => self.rests.push_back(rest),
                Some(Err(None)) | None => {}
            }
        }
    }
}

/// A new connection.
pub(super) async fn open(origin: &Origin, within: Duration) -> Result<Lane, ClientError> {
    let stream = dial(origin, within).await?;
    let (lane, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|error| {
        ClientError::Unreachable(format!("`{origin}` does not speak HTTP: {error}"))
    })?;
    // It ends when its lane and its response are dropped, or when the server closes it. Why it
    // ended is told by the request that it served.
    tokio::spawn(async move {
        let _ = connection.await;
    });
    Ok(lane)
}
