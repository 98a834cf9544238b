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
pub(super) struct Desks {
    desks: Vec<Desk>,
    closing: CancellationToken,
}

/// A thread with a runtime of its own, or the runtime that serves.
#[derive(Debug)]
struct Desk {
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

impl Desks {
    /// Starts so many threads, or as many as the machine allows. The runtime that this is called on
    /// is the first to be given a connection.
    pub(super) fn start(count: usize) -> Self {
        let mut all = Self::default();
        for number in 0..count {
            match Desk::start(number, all.closing.clone()) {
                Ok(desk) => all.desks.push(desk),
                Err(error) => {
                    tracing::warn!(%error, "connections share {number} threads: no more start");
                    break;
                }
            }
        }
        if !all.desks.is_empty() {
            let (runtime, places) = (Handle::current(), Arc::default());
            all.desks.insert(0, Desk { runtime, places, ended: None });
        }
        all
    }

    /// A place at the desk with the fewest connections; none where there are no desks.
    pub(super) fn place(&self) -> Option<Place> {
        let desk = self.desks.iter().min_by_key(|desk| Arc::strong_count(&desk.places))?;
        Some(Place { runtime: desk.runtime.clone(), _place: desk.places.clone() })
    }

    /// Ends all threads, with whatever still runs on them.
    pub(super) async fn close(mut self) {
        self.closing.cancel();
        for ended in self.desks.drain(..).filter_map(|desk| desk.ended) {
            // Its end is the sender's end.
            let _ = ended.await;
        }
    }
}

/// A door that is dropped in the middle leaves no thread behind.
impl Drop for Desks {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}

impl Desk {
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
        let desks = Desks::start(2);
        let mut places: Vec<Place> = (0..6).filter_map(|_| desks.place()).collect();
        let counts = |desks: &Desks| -> Vec<usize> {
            desks.desks.iter().map(|desk| Arc::strong_count(&desk.places) - 1).collect()
        };
        assert_eq!(counts(&desks), [2, 2, 2]);
        places.remove(1);
        assert_eq!(counts(&desks), [2, 1, 2]);
        places.extend(desks.place());
        assert_eq!(counts(&desks), [2, 2, 2], "the free place is taken first");
        desks.close().await;
    }

    #[tokio::test]
    async fn a_desk_is_one_thread_and_ends_with_its_work() {
        let desks = Desks::start(1);
        let (first, place) = (desks.place().expect("one here"), desks.place().expect("and one"));
        assert_eq!(first.runtime().id(), Handle::current().id());
        let name = || thread::current().name().map(str::to_owned);
        let told = place.runtime().spawn(async move { name() }).await;
        assert_eq!(told.ok().flatten().as_deref(), Some("gantry-desk-0"));
        let endless = place.runtime().spawn(std::future::pending::<()>());
        desks.close().await;
        assert!(endless.await.is_err_and(|error| error.is_cancelled()));
    }
}
