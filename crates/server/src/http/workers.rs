//! Threads that connections are spread over, beside the runtime that serves. A connection stays where
//! it was put for as long as it lives, and so does what its calls open on their way, such as
//! connections to servers behind: nothing of an ordinary call wakes another core or is carried to it,
//! which costs more than the call's own work where all threads share all tasks. The runtime that
//! serves has its share of them because the programs behind speak there: a call that begins on
//! another thread has to come over and go back.

use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// All places; none where the runtime that serves has all connections.
#[derive(Debug, Default)]
pub(super) struct WorkerPool {
    workers: Vec<Worker>,
    closing: CancellationToken,
}

/// A thread with a runtime of its own, or the runtime that serves.
#[derive(Debug)]
struct Worker {
    runtime: Handle,
    /// One copy here, and one for each connection.
    places: Arc<()>,
    /// Says that a thread of its own is done; nothing is ever sent.
    ended: Option<oneshot::Receiver<()>>,
}

/// A connection's place at a desk, held while it lives.
#[derive(Debug)]
pub(super) struct Place {
    runtime: Handle,
    _place: Arc<()>,
}

impl WorkerPool {
    /// Starts so many threads, or as many as the machine allows. The runtime that this is called on
    /// is the first to be given a connection.
    pub(super) fn start(count: usize) -> Self {
        let mut all = Self::default();
        for number in 0..count {
            match Worker::start(number, all.closing.clone()) {
                Ok(worker) => all.workers.push(worker),
                Err(error) => {
                    tracing::warn!(%error, "connections share {number} threads: no more start");
                    break;
                }
            }
        }
        if !all.workers.is_empty() {
            let (runtime, places) = (Handle::current(), Arc::default());
            all.workers.insert(0, Worker { runtime, places, ended: None });
        }
        all
    }

    /// A place at the desk with the fewest connections; none where there are no desks.
    pub(super) fn place(&self) -> Option<Place> {
        let worker = self.workers.iter().min_by_key(|worker| Arc::strong_count(&worker.places))?;
        Some(Place { runtime: worker.runtime.clone(), _place: worker.places.clone() })
    }

    /// Ends all threads, with whatever still runs on them.
    pub(super) async fn close(mut self) {
        self.closing.cancel();
        for ended in self.workers.drain(..).filter_map(|worker| worker.ended) {
            // Its end is the sender's end.
            let _ = ended.await;
        }
    }
}

/// A door that is dropped in the middle leaves no thread behind.
impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

impl Worker {
    fn start(number: usize, closing: CancellationToken) -> std::io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (running, ended) = oneshot::channel();
        thread::Builder::new().name(format!("gantry-desk-{number}")).spawn(move || {
            let running: oneshot::Sender<()> = running;
            runtime.block_on(closing.cancelled());
            runtime.shutdown_background();
            drop(running);
        })?;
        Ok(Self { runtime: handle, places: Arc::default(), ended: Some(ended) })
    }
}

impl Place {
    /// The runtime of the thread.
    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn connections_are_spread_evenly() {
        let workers = WorkerPool::start(2);
        let mut places: Vec<Place> = (0..6).filter_map(|_| workers.place()).collect();
        let counts = |workers: &WorkerPool| -> Vec<usize> {
            workers.workers.iter().map(|worker| Arc::strong_count(&worker.places) - 1).collect()
        };
        assert_eq!(counts(&workers), [2, 2, 2]);
        places.remove(1);
        assert_eq!(counts(&workers), [2, 1, 2]);
        places.extend(workers.place());
        assert_eq!(counts(&workers), [2, 2, 2], "the free place is taken first");
        workers.close().await;
    }

    #[tokio::test]
    async fn a_desk_is_one_thread_and_ends_with_its_work() {
        let workers = WorkerPool::start(1);
        let (first, place) =
            (workers.place().expect("one here"), workers.place().expect("and one"));
        assert_eq!(first.runtime().id(), Handle::current().id());
        let name = || thread::current().name().map(str::to_owned);
        let told = place.runtime().spawn(async move { name() }).await;
        assert_eq!(told.ok().flatten().as_deref(), Some("gantry-desk-0"));
        let endless = place.runtime().spawn(std::future::pending::<()>());
        workers.close().await;
        assert!(endless.await.is_err_and(|error| error.is_cancelled()));
    }
}
