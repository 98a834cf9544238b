//! Offloads work on large messages to a small pool of threads, so that a runtime worker is never
//! kept from its other connections. Small messages are not offloaded: the handover costs more than
//! the work.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::thread::{self, available_parallelism};

use tokio::sync::oneshot;

/// Bytes of a message up to which it is worked on at once: that takes well under a millisecond.
pub const LARGE: usize = 256 * 1024;

/// How much lower than others the threads are in the system's order: those who serve connections
/// come first when processors are few, and these still get a tenth.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 10;

type Job = Box<dyn FnOnce() + Send>;

/// The queue of the pool, with one thread for each processor, from the first large message on.
static JOBS: LazyLock<Sender<Job>> = LazyLock::new(|| {
    let (sender, receiver) = channel();
    let receiver = Arc::new(Mutex::new(receiver));
    for _ in 0..available_parallelism().map_or(1, usize::from) {
        let receiver = receiver.clone();
        // If none can be started the queue is closed, and the work is done where it is.
        let named = thread::Builder::new().name("gantry-large".to_owned());
        drop(named.spawn(move || work_off(&receiver)));
    }
    sender
});

fn work_off(jobs: &Mutex<Receiver<Job>>) {
    // Where it is not allowed the work is done all the same. Elsewhere than on Linux it would lower
    // the whole process.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, NICENESS);
    loop {
        let next = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match next {
            Ok(job) => job(),
            Err(_) => return,
        }
    }
}

/// The outcome of some work. It may be kept and waited for again.
pub enum Offload<T> {
    /// It was little, and is done.
    Done(Option<T>),
    /// It is done on another thread, once one is free.
    Elsewhere(Pin<Box<dyn Future<Output = T> + Send>>),
}

/// Works on `size` bytes: at once when they are few, and otherwise on another thread.
pub fn offload<T: Send + 'static>(
    size: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Offload<T> {
    match size <= LARGE {
        true => Offload::Done(Some(work())),
        false => Offload::Elsewhere(Box::pin(elsewhere(work))),
    }
}

async fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, outcome) = oneshot::channel();
    let job: Job = Box::new(move || {
        // Nobody waits any more.
        if sender.is_closed() {
            return;
        }
        drop(sender.send(catch_unwind(AssertUnwindSafe(work))));
    });
    if let Err(refused) = JOBS.send(job) {
        (refused.0)();
    }
    match outcome.await {
        Ok(Ok(done)) => done,
        Ok(Err(panic)) => resume_unwind(panic),
        // A job is dropped only at the end of the process.
        Err(_) => std::future::pending().await,
    }
}

impl<T: Unpin> Future for Offload<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut *self {
            Self::Done(done) => match done.take() {
                Some(done) => Poll::Ready(done),
                None => Poll::Pending,
            },
            Self::Elsewhere(work) => {
                let done = ready!(work.as_mut().poll(context));
                *self = Self::Done(None);
                Poll::Ready(done)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread::{ThreadId, current};

    use super::*;

    async fn thread_for(size: usize) -> ThreadId {
        offload(size, || current().id()).await
    }

    #[tokio::test]
    async fn only_what_is_large_is_done_elsewhere() {
        assert_eq!(thread_for(LARGE).await, current().id());
        assert_ne!(thread_for(LARGE + 1).await, current().id());
    }

    #[tokio::test]
    async fn what_waits_may_be_dropped() {
        for _ in 0..100 {
            drop(offload(LARGE + 1, || ()));
        }
        assert_ne!(thread_for(LARGE + 1).await, current().id());
    }

    #[tokio::test]
    #[should_panic(expected = "as it is")]
    async fn a_panic_is_passed_on() {
        offload(LARGE + 1, || panic!("as it is")).await;
    }
}
