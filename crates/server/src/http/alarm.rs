//! A timer that is kept from one use to the next: to set one anew costs a lock and often a system
//! call, to put one off costs next to nothing.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep as AnySleep, Timer};
use tokio::time::{Instant as TokioInstant, Sleep, sleep_until};

/// Far enough away to never come.
const NEVER: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// The alarm of a connection, which waits for one thing at a time. When it was put back it may still
/// go off once, and wakes its connection for nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Alarm(Arc<Mutex<Option<Pin<Box<Sleep>>>>>);

/// An alarm that is set. It is put back when this is dropped.
#[derive(Debug)]
pub(crate) struct Waiting {
    alarm: Alarm,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Alarm {
    /// Sets it to go off after a while.
    pub(crate) fn after(&self, time: Duration) -> Waiting {
        self.at(TokioInstant::now() + time.min(NEVER))
    }

    fn at(&self, deadline: TokioInstant) -> Waiting {
        let kept = self.kept().take();
        let sleep = match kept {
            Some(mut sleep) => {
                sleep.as_mut().reset(deadline);
                sleep
            }
            None => Box::pin(sleep_until(deadline)),
        };
        Waiting { alarm: self.clone(), sleep: Some(sleep) }
    }

    fn kept(&self) -> MutexGuard<'_, Option<Pin<Box<Sleep>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Future for Waiting {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().poll(context),
            None => Poll::Pending,
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        *self.alarm.kept() = self.sleep.take();
    }
}

impl AnySleep for Waiting {}

/// For the time within which the head of a request must come.
impl Timer for Alarm {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn AnySleep>> {
        Box::pin(self.after(duration))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn AnySleep>> {
        Box::pin(self.at(deadline.into()))
    }

    fn now(&self) -> Instant {
        TokioInstant::now().into()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn it_goes_off_when_it_was_last_set_to() {
        let alarm = Alarm::default();
        for seconds in [5, 1, 3, 2] {
            let start = TokioInstant::now();
            assert!(alarm.after(4 * SECOND).now_or_never().is_none(), "given up");
            alarm.after(seconds * SECOND).await;
            assert_eq!(start.elapsed().as_secs(), u64::from(seconds));
            tokio::time::sleep(10 * SECOND).await;
        }
        assert!(alarm.after(Duration::MAX).now_or_never().is_none(), "no time is too long");
    }

    #[tokio::test(start_paused = true)]
    async fn two_that_are_set_at_once_do_not_disturb_each_other() {
        let alarm = Alarm::default();
        let (start, later, sooner) =
            (TokioInstant::now(), alarm.after(2 * SECOND), alarm.after(SECOND));
        sooner.await;
        assert_eq!(start.elapsed(), SECOND);
        later.await;
        assert_eq!(start.elapsed(), 2 * SECOND);
    }
}
