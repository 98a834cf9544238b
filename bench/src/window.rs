//! The window of a measurement: how long it lasts, whether it is open, and what the process under
//! test used while it was.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::process::usage::{self, CpuTime};

/// When to measure, and how fast to call.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Time before the window, in milliseconds.
    #[arg(long, default_value_t = 300)]
    pub(crate) warm_up: u64,
    /// Length of the window, in milliseconds.
    #[arg(long, default_value_t = 3000)]
    pub(crate) window: u64,
    /// Pause between an answer and the next call, in milliseconds.
    #[arg(long, default_value_t = 0)]
    pub(crate) pace: u64,
}

impl Timing {
    pub(crate) fn warm_up(&self) -> Duration {
        Duration::from_millis(self.warm_up)
    }

    pub(crate) fn window(&self) -> Duration {
        Duration::from_millis(self.window)
    }

    /// The pause, if there is one: even a sleep of no time would let others run first.
    pub(crate) fn pace(&self) -> Option<Duration> {
        (self.pace > 0).then(|| Duration::from_millis(self.pace))
    }
}

/// What one window showed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) calls_per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// CPU time of the server's process for each call.
    pub(crate) cpu_us: f64,
    /// The same with the children of it that ended in the window.
    pub(crate) family_us: f64,
    /// Memory of the server's process at the end of the window.
    pub(crate) resident: u64,
}

/// What the loops and the clock share.
#[derive(Default)]
pub(crate) struct Window {
    open: AtomicBool,
    done: AtomicBool,
}

impl Window {
    pub(crate) fn open(&self) {
        self.open.store(true, Relaxed);
    }

    pub(crate) fn close(&self) {
        self.open.store(false, Relaxed);
    }

    /// Tells the loops to end.
    pub(crate) fn end(&self) {
        self.done.store(true, Relaxed);
    }

    /// Notes a call that ended inside the window. Returns whether there shall be another.
    pub(crate) fn note(&self, times: &mut Vec<Duration>, took: Duration) -> bool {
        if self.open.load(Relaxed) {
            times.push(took);
        }
        !self.done.load(Relaxed)
    }
}

/// Reads what a process uses from one moment to another.
pub(crate) struct Meter {
    pid: u32,
    began: Instant,
    before: CpuTime,
}

/// What a process used between the two.
pub(crate) struct Usage {
    lasted: Duration,
    own: Duration,
    family: Duration,
    resident: u64,
}

impl Meter {
    pub(crate) fn start(pid: u32) -> Result<Self, Fault> {
        Ok(Self { pid, before: usage::cpu_time(pid)?, began: Instant::now() })
    }

    pub(crate) fn stop(self) -> Result<Usage, Fault> {
        let (after, lasted) = (usage::cpu_time(self.pid)?, self.began.elapsed());
        let own = after.own.saturating_sub(self.before.own);
        let children = after.children.saturating_sub(self.before.children);
        let resident = usage::resident(self.pid)?;
        Ok(Usage { lasted, own, family: own + children, resident })
    }
}

impl Usage {
    /// The sample of these calls.
    pub(crate) fn sample(&self, mut times: Vec<Duration>) -> Sample {
        times.sort_unstable();
        let calls = times.len().max(1) as f64;
        let each = |time: Duration| time.as_secs_f64() * 1e6 / calls;
        Sample {
            calls_per_second: calls / self.lasted.as_secs_f64(),
            p50_us: quantile(&times, 0.50),
            p99_us: quantile(&times, 0.99),
            cpu_us: each(self.own),
            family_us: each(self.family),
            resident: self.resident,
        }
    }
}

/// The value below which the given share of sorted times lies, in microseconds.
pub(crate) fn quantile(sorted: &[Duration], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let at = (last as f64 * share).round() as usize;
    sorted.get(at).map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_a_hundred_and_one_values() {
        let times: Vec<_> = (0..=100).map(Duration::from_micros).collect();
        for (share, expected) in [(0.0, 0.0), (0.5, 50.0), (0.99, 99.0), (1.0, 100.0)] {
            assert!((quantile(&times, share) - expected).abs() < 1e-6);
        }
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn only_calls_inside_the_window_are_noted() {
        let (window, took) = (Window::default(), Duration::from_micros(1));
        let mut times = Vec::new();
        assert!(window.note(&mut times, took));
        window.open();
        assert!(window.note(&mut times, took));
        window.close();
        window.end();
        assert!(!window.note(&mut times, took));
        assert_eq!(times.len(), 1);
    }
}
