//! A rate limit for log lines that a peer can cause: a few are written in each interval, the rest
//! is counted.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A rate limit for one kind of log line.
#[derive(Debug)]
pub struct LogLimit {
    /// Lines in one interval.
    most: u32,
    interval: Duration,
    window: Mutex<Window>,
}

#[derive(Debug)]
struct Window {
    /// When the interval began; none before the first line.
    begun: Option<Instant>,
    written: u32,
    suppressed: u64,
}

impl LogLimit {
    /// At most so many lines in each interval.
    pub const fn new(most: u32, interval: Duration) -> Self {
        let window = Window { begun: None, written: 0, suppressed: 0 };
        Self { most, interval, window: Mutex::new(window) }
    }

    /// Whether a line may be written now: with how many were suppressed since the last one that
    /// was, which the line should tell.
    pub fn admit(&self) -> Option<u64> {
        self.admit_at(Instant::now())
    }

    fn admit_at(&self, now: Instant) -> Option<u64> {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |begun: Instant| now.saturating_duration_since(begun) >= self.interval;
        if window.begun.is_none_or(is_over) {
            window.begun = Some(now);
            window.written = 0;
        }
        if window.written >= self.most {
            window.suppressed += 1;
            return None;
        }
        window.written += 1;
        Some(std::mem::take(&mut window.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_lines_in_each_interval_and_the_count_of_the_rest() {
        let limit = LogLimit::new(2, Duration::from_secs(10));
        let start = Instant::now();
        let cases = [
            (0, Some(0)),
            (1, Some(0)),
            (2, None),
            (9, None),
            (10, Some(2)),
            (11, Some(0)),
            (19, None),
            (40, Some(1)),
        ];
        for (second, expected) in cases {
            let now = start + Duration::from_secs(second);
            assert_eq!(limit.admit_at(now), expected, "second {second}");
        }
        assert_eq!(LogLimit::new(0, Duration::ZERO).admit(), None);
    }
}
