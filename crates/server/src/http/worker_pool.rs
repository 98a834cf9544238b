//! Worker threads for HTTP connections, each with a single-threaded runtime, beside the main runtime.
//!
//! A connection stays on one thread, and so does what its calls open on their way, such as connections
//! to upstream servers (`client/http/pool.rs` keeps them apart by runtime). Where all threads
//! share all tasks, a call is woken on other cores and its state is carried there: staying took a
//! quarter of the CPU time off a forwarded call, and gave a third more calls.
//!
//! The main runtime takes part, because stdio servers are read and written there: a call that begins
//! on another thread has to come over and go back. Half of the cores serve (`gantry serve --threads`);
//! the rest is left for child processes and for clients on the same machine. On two cores, one thread
//! instead of two took a quarter off the CPU time of a call to a child process, gave a fifth more
//! calls, and shortened the tail.
//!
//! The price: calls of one connection use one core, and nothing on the way may block. What must outlive
//! a connection is spawned on the main runtime. Embedded servers have no workers by default, since
//! handlers may block (`Settings::threads`).

use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// The workers; empty if the main runtime has all connections.
#[derive(Debug, Default)]
pub(super) struct WorkerPool {
    workers: Vec<Worker>,
    closing: CancellationToken,
}

/// A thread with a runtime of its own, or the main runtime.
#[derive(Debug)]
struct Worker {
    runtime: Handle,
    /// One reference here, and one for each assigned connection.
    connections: Arc<()>,
    /// Closed when the thread ends; nothing is ever sent.
    ended: Option<oneshot::Receiver<()>>,
}

/// The assignment of a connection to a worker, held while the connection lives.
#[derive(Debug)]
pub(super) struct Assignment {
    runtime: Handle,
    _connection: Arc<()>,
}

impl WorkerPool {
    /// Starts `count` threads, or as many as the system allows. The current runtime is a worker too,
    /// and the first to be assigned a connection.
    pub(super) fn start(count: usize) -> Self {
        let mut all = Self::default();
        for number in 0..count {
            match Worker::start(number, all.closing.clone()) {
                Ok(worker) => all.workers.push(worker),
                Err(error) => {
                    tracing::warn!(%error, "cannot start more than {number} worker threads");
                    break;
                }
            }
        }
        if !all.workers.is_empty() {
            let (runtime, connections) = (Handle::current(), Arc::default());
            all.workers.insert(0, Worker { runtime, connections, ended: None });
        }
        all
    }

    /// Assigns a connection to the worker with the fewest; none if there are no workers.
    pub(super) fn assign(&self) -> Option<Assignment> {
        let load = |worker: &&Worker| Arc::strong_count(&worker.connections);
        let worker = self.workers.iter().min_by_key(load)?;
        let (runtime, _connection) = (worker.runtime.clone(), worker.connections.clone());
        Some(Assignment { runtime, _connection })
    }

    /// Stops all threads, with the tasks that still run on them.
    pub(super) async fn close(mut self) {
        self.closing.cancel();
        for ended in self.workers.drain(..).filter_map(|worker| worker.ended) {
            // The sender is dropped at the end of the thread.
            let _ = ended.await;
        }
    }
}

/// A server that is dropped while it serves leaves no thread behind.
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
        thread::Builder::new().name(format!("gantry-worker-{number}")).spawn(move || {
            let running: oneshot::Sender<()> = running;
            runtime.block_on(closing.cancelled());
            runtime.shutdown_background();
            drop(running);
        })?;
        Ok(Self { runtime: handle, connections: Arc::default(), ended: Some(ended) })
    }
}

impl Assignment {
    /// The runtime of the worker.
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
        let mut assigned: Vec<Assignment> = (0..6).filter_map(|_| workers.assign()).collect();
        let counts = |workers: &WorkerPool| -> Vec<usize> {
            workers
                .workers
                .iter()
                .map(|worker| Arc::strong_count(&worker.connections) - 1)
                .collect()
        };
        assert_eq!(counts(&workers), [2, 2, 2]);
        assigned.remove(1);
        assert_eq!(counts(&workers), [2, 1, 2]);
        assigned.extend(workers.assign());
        assert_eq!(counts(&workers), [2, 2, 2], "the idle worker is assigned first");
        workers.close().await;
    }

    #[tokio::test]
    async fn a_worker_is_one_thread_and_ends_with_its_tasks() {
        let workers = WorkerPool::start(1);
        let (first, second) =
            (workers.assign().expect("the main runtime"), workers.assign().expect("a thread"));
        assert_eq!(first.runtime().id(), Handle::current().id());
        let name = || thread::current().name().map(str::to_owned);
        let told = second.runtime().spawn(async move { name() }).await;
        assert_eq!(told.ok().flatten().as_deref(), Some("gantry-worker-0"));
        let endless = second.runtime().spawn(std::future::pending::<()>());
        workers.close().await;
        assert!(endless.await.is_err_and(|error| error.is_cancelled()));
    }
}
