//! Work that grows with a message is done elsewhere when the message is large: the threads that
//! serve connections have others to serve meanwhile.

use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::LazyLock;
use std::task::{Context, Poll, ready};
use std::thread::available_parallelism;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Bytes of a message up to which it is worked on at once: that takes well under a millisecond.
pub const LARGE: usize = 256 * 1024;

/// As much at a time as there are processors: more would only take them from those who serve.
static THREADS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(available_parallelism().map_or(1, usize::from)));

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
    // It is never closed. What is dropped while it runs still holds its place until it has ended.
    let place = THREADS.acquire().await.ok();
    let done = spawn_blocking(move || {
        let _held = place;
        work()
    });
    match done.await {
        Ok(done) => done,
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        // The runtime is being shut down, and nobody will ask again.
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
