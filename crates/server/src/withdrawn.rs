//! Calls that their clients take back.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use tokio_util::sync::CancellationToken;

/// Drives a call unless it is taken back. A call that has been is never moved on, not even if what
/// it waited for has come at the same moment: what nobody wants any more must not start.
pub(crate) async fn unless_withdrawn<F: Future>(
    token: &CancellationToken,
    mut call: Pin<&mut F>,
) -> Option<F::Output> {
    let mut withdrawn = pin!(token.cancelled());
    poll_fn(|context| {
        if token.is_cancelled() {
            return Poll::Ready(None);
        }
        match call.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => withdrawn.as_mut().poll(context).map(|()| None),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use tokio::sync::Semaphore;

    use super::*;

    #[tokio::test]
    async fn a_call_is_driven_to_its_end() {
        let token = CancellationToken::new();
        let turns = Semaphore::new(0);
        let waiting = pin!(turns.acquire());
        let mut call = pin!(unless_withdrawn(&token, waiting));
        assert!(call.as_mut().now_or_never().is_none());
        turns.add_permits(1);
        assert!(call.await.expect("nobody took it back").is_ok());
    }

    #[tokio::test]
    async fn a_call_whose_turn_comes_too_late_does_not_start() {
        let token = CancellationToken::new();
        let turns = Semaphore::new(0);
        let waiting = pin!(async {
            let _turn = turns.acquire().await;
            unreachable!("it has started");
        });
        let mut call = pin!(unless_withdrawn(&token, waiting));
        assert!(call.as_mut().now_or_never().is_none());
        token.cancel();
        turns.add_permits(1);
        assert!(call.await.is_none());
    }
}
