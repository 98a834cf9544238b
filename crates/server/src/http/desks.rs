//! Threads that connections are spread over. A connection stays on one thread for as long as it
//! lives, and so does what its calls open on their way, such as connections to servers behind:
//! nothing of an ordinary call wakes another core or is carried to it, which costs more than the
//! call's own work where all threads share all tasks.

use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// All threads.
#[derive(Debug, Default)]
pub(super) struct Desks {
    desks: Vec<Desk>,
    closing: CancellationToken,
}

/// A thread with a runtime of its own.
#[derive(Debug)]
struct Desk {
    runtime: Handle,
    /// One copy here, and one for each connection.
    places: Arc<()>,
    /// Says that the thread is done; nothing is ever sent.
    ended: oneshot::Receiver<()>,
}

/// A connection's place at a desk, held while it lives.
#[derive(Debug)]
pub(super) struct Place {
    runtime: Handle,
    _place: Arc<()>,
}

impl Desks {
    /// Starts so many threads, or as many as the machine allows.
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
        for desk in std::mem::take(&mut self.desks) {
            // Its end is the sender's end.
            let _ = desk.ended.await;
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
        Ok(Self { runtime: handle, places: Arc::default(), ended })
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
        let desks = Desks::start(3);
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
        let place = desks.place().expect("there is one");
        let name = || thread::current().name().map(str::to_owned);
        let told = place.runtime().spawn(async move { name() }).await;
        assert_eq!(told.ok().flatten().as_deref(), Some("gantry-desk-0"));
        let endless = place.runtime().spawn(std::future::pending::<()>());
        desks.close().await;
        assert!(endless.await.is_err_and(|error| error.is_cancelled()));
    }
}
