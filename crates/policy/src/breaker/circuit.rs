//! One server's breaker: closed, open for a while, then half open for a single call.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::BreakerSettings;

/// How a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Calls go through.
    Closed = 0,
    /// One call is let through, to see.
    HalfOpen = 1,
    /// Calls are refused.
    Open = 2,
}

impl BreakerState {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::HalfOpen => "half-open",
            Self::Open => "open",
        }
    }
}

/// One server's breaker.
#[derive(Debug, Default)]
pub(super) struct Circuit {
    /// Whether anything has failed lately. While nothing has, nothing else is looked at.
    troubled: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    failures: u32,
    last: Option<Instant>,
    open: Option<Open>,
    /// The number of the last try.
    probes: u64,
}

#[derive(Debug)]
struct Open {
    until: Instant,
    wait: Duration,
    /// The try that is under way, and until when it is waited for.
    probe: Option<(u64, Instant)>,
}

/// What becomes of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It goes through.
    Through,
    /// It goes through to see how the server is: the try of that number.
    Probe(u64),
    /// It does not, for so long.
    Refused { failures: u32, wait: Duration },
}

impl Circuit {
    /// Which way a call goes.
    pub(super) fn pass(&self) -> Way {
        if !self.troubled.load(Ordering::Acquire) {
            return Way::Through;
        }
        let mut inner = self.inner();
        let (failures, number, now) = (inner.failures, inner.probes + 1, Instant::now());
        let Some(open) = &mut inner.open else { return Way::Through };
        // A try that takes longer than this may be a long call; another one can tell as well.
        let until = open.probe.map_or(open.until, |(_, until)| until);
        if now < until {
            return Way::Refused { failures, wait: until - now };
        }
        open.probe = Some((number, now + open.wait));
        inner.probes = number;
        Way::Probe(number)
    }

    /// A call that went through did not find the server failing.
    pub(super) fn succeeded(&self, probe: Option<u64>) {
        if !self.troubled.load(Ordering::Acquire) {
            return;
        }
        let mut inner = self.inner();
        // A call from before it was opened says nothing about how the server is now.
        if inner.open.is_none() || probe.is_some() {
            *inner = Inner { probes: inner.probes, ..Inner::default() };
            self.troubled.store(false, Ordering::Release);
        }
    }

    /// A call that went through found the server failing.
    pub(super) fn failed(&self, probe: Option<u64>, settings: &BreakerSettings) {
        let mut inner = self.inner();
        let now = Instant::now();
        self.troubled.store(true, Ordering::Release);
        if inner.last.is_some_and(|last| now - last > settings.window) && inner.open.is_none() {
            inner.failures = 0;
        }
        inner.last = Some(now);
        inner.failures = inner.failures.saturating_add(1);
        let wait = match &inner.open {
            Some(open) if probe.is_some_and(|number| open.is_tried_by(number)) => {
                (open.wait * 2).min(settings.longest).max(settings.wait)
            }
            Some(_) => return,
            None if inner.failures < settings.failures => return,
            None => settings.wait,
        };
        inner.open = Some(Open { until: now + jittered(wait), wait, probe: None });
    }

    /// A try has ended without showing anything.
    pub(super) fn abandon(&self, probe: u64) {
        if let Some(open) = &mut self.inner().open
            && open.is_tried_by(probe)
        {
            open.probe = None;
        }
    }

    pub(super) fn state(&self) -> BreakerState {
        match &self.inner().open {
            None => BreakerState::Closed,
            Some(open) if open.probe.is_some() => BreakerState::HalfOpen,
            Some(_) => BreakerState::Open,
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    fn is_tried_by(&self, number: u64) -> bool {
        self.probe.is_some_and(|(probe, _)| probe == number)
    }
}

/// A little longer or shorter, so that gateways do not all try at once.
fn jittered(wait: Duration) -> Duration {
    wait.mul_f64(rand::random_range(0.8..1.2))
}
