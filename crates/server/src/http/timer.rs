//! A timer that is kept from one use to the next: to set one anew costs a lock and often a system
//! call, and most are never needed.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

/// Far enough away to never come.
const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// The alarm of a connection, which waits for one thing at a time. It is not put off when a time
/// becomes known that is later than the one it is set to: when it goes off, it is set again.
#[derive(Debug, Default)]
pub(crate) struct ReusableTimer(Option<Pin<Box<Sleep>>>);

/// An alarm that is set.
#[derive(Debug)]
pub(crate) struct Waiting<'a> {
    sleep: &'a mut Option<Pin<Box<Sleep>>>,
    deadline: Instant,
}

impl ReusableTimer {
    /// Sets it to go off after a while.
    pub(crate) fn after(&mut self, time: Duration) -> Waiting<'_> {
        Waiting { sleep: &mut self.0, deadline: Instant::now() + time.min(NEVER) }
    }
}

impl Future for Waiting<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let deadline = self.deadline;
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() > deadline {
            sleep.as_mut().reset(deadline);
        }
        loop {
            ready!(sleep.as_mut().poll(context));
            if sleep.deadline() == deadline {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(deadline);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn it_goes_off_when_it_was_last_set_to() {
        let mut timer = ReusableTimer::default();
        for seconds in [5, 1, 3, 2] {
            let start = Instant::now();
            for given_up in [1, 4, 9] {
                assert!(timer.after(given_up * SECOND).now_or_never().is_none(), "given up");
            }
            timer.after(seconds * SECOND).await;
            assert_eq!(start.elapsed().as_secs(), u64::from(seconds));
            tokio::time::sleep(10 * SECOND).await;
        }
        assert!(timer.after(Duration::MAX).now_or_never().is_none(), "no time is too long");
    }
}
