//! When lists are requested again: stale lists of servers that announce no changes, and a rate
//! limit for servers that announce changes all the time.

use std::time::Duration;

use foldhash::HashMap;
use gantry_client::List;
use rand::RngExt;
use tokio::time::Instant;

/// Lists that may be kept for a while are not asked for again more often, or less often, than this.
const OFTEN: Duration = Duration::from_secs(10);
const SELDOM: Duration = Duration::from_secs(3600);

/// A list that is in doubt is not asked for again more often than this: a server may refuse many
/// calls, and for other reasons.
const DOUBTED: Duration = Duration::from_secs(5);

/// The longest that a wait is made longer by, as a part of it: servers that were listed at the same
/// time, or one by many gateways, are not to be asked at the same time for ever.
const JITTER: f64 = 0.1;

/// When each list of a server is to be asked for again.
#[derive(Debug)]
pub(super) struct Freshness {
    every: Duration,
    /// One for all lists, so that they are asked for together.
    jitter: f64,
    lists: HashMap<List, ListAge>,
}

/// A list that was had or asked for.
#[derive(Debug)]
struct ListAge {
    since: Instant,
    /// None while it is on its way, and for never.
    stale_at: Option<Instant>,
}

impl Freshness {
    /// No list is known. One that does not say how long it may be kept is asked for that often.
    pub(super) fn new(every: Duration) -> Self {
        let jitter = rand::rng().random_range(0.0..=JITTER);
        Self { every, jitter, lists: HashMap::default() }
    }

    /// A list was had just now, and may be kept for so long.
    pub(super) fn listed(&mut self, list: List, ttl: Duration) {
        let wait = if ttl.is_zero() { self.every } else { ttl.clamp(OFTEN, SELDOM) };
        let wait = wait.saturating_add(wait.mul_f64(self.jitter));
        let since = Instant::now();
        self.lists.insert(list, ListAge { since, stale_at: since.checked_add(wait) });
    }

    /// A list may have changed, whatever was said of it.
    pub(super) fn hint_stale(&mut self, list: List) {
        let now = Instant::now();
        let known = self.lists.entry(list).or_insert(ListAge { since: now, stale_at: Some(now) });
        let at = now.max(known.since + DOUBTED);
        known.stale_at = Some(known.stale_at.map_or(at, |stale_at| stale_at.min(at)));
    }

    /// When the first list becomes stale.
    pub(super) fn next_check(&self) -> Option<Instant> {
        self.lists.values().filter_map(|known| known.stale_at).min()
    }

    /// The lists that are stale now and are to be asked for. Those whose changes are told are not,
    /// and are looked at again later: whoever tells may fall silent.
    pub(super) fn stale(&mut self, is_notified: impl Fn(List) -> bool) -> Vec<List> {
        let now = Instant::now();
        let is_stale = |known: &ListAge| known.stale_at.is_some_and(|at| at <= now);
        let stale = self.lists.iter().filter(|(_, known)| is_stale(known));
        let stale: Vec<List> = stale.map(|(list, _)| *list).collect();
        let (notified, unnotified): (Vec<List>, Vec<List>) =
            stale.into_iter().partition(|list| is_notified(*list));
        for list in notified {
            self.listed(list, Duration::ZERO);
        }
        for list in &unnotified {
            self.lists.insert(*list, ListAge { since: now, stale_at: None });
        }
        unnotified
    }

    /// Nothing is asked of a server that is not there; all is when it comes back.
    pub(super) fn clear(&mut self) {
        self.lists.clear();
    }
}

/// Time between two readings in the long run.
const CHANGE_INTERVAL: Duration = Duration::from_secs(1);

/// Readings that may follow each other without that.
const CHANGE_BURST: u32 = 20;

/// When lists may be read again.
#[derive(Debug, Default)]
pub(super) struct ChangeRateLimit {
    /// When all readings so far would have happened at the usual interval.
    scheduled_until: Option<Instant>,
}

impl ChangeRateLimit {
    /// How long to wait before the next reading, which is counted.
    pub(super) fn next(&mut self, now: Instant) -> Duration {
        let scheduled_until =
            self.scheduled_until.map_or(now, |scheduled_until| scheduled_until.max(now));
        self.scheduled_until = Some(scheduled_until + CHANGE_INTERVAL);
        (scheduled_until - now).saturating_sub(CHANGE_INTERVAL * CHANGE_BURST)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const EVERY: Duration = Duration::from_secs(300);
    const SECOND: Duration = Duration::from_secs(1);

    /// After how many seconds a list is stale.
    async fn stale_after(freshness: &mut Freshness, is_notified: bool) -> Option<u64> {
        let begin = Instant::now();
        for _ in 0..8 {
            advance(freshness.next_check()?.duration_since(Instant::now())).await;
            if freshness.stale(|_| is_notified) == [List::Tools] {
                return Some(begin.elapsed().as_secs());
            }
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_is_asked_for_when_nothing_keeps_it_fresh() {
        let cases = [
            (EVERY, Duration::ZERO, false, Some(300..=330)),
            (EVERY, Duration::ZERO, true, None),
            (EVERY, 60 * SECOND, false, Some(60..=66)),
            (EVERY, 60 * SECOND, true, None),
            (EVERY, Duration::from_millis(1), false, Some(10..=11)),
            (EVERY, Duration::MAX, false, Some(3600..=3960)),
            (SECOND, Duration::ZERO, false, Some(1..=1)),
            (Duration::MAX, Duration::ZERO, false, None),
        ];
        for (every, ttl, is_notified, expected) in cases {
            let mut freshness = Freshness::new(every);
            assert_eq!(freshness.next_check(), None);
            freshness.listed(List::Tools, ttl);
            let after = stale_after(&mut freshness, is_notified).await;
            let case = format!("{every:?} {ttl:?} {is_notified}: {after:?}");
            match expected {
                Some(expected) => assert!(after.is_some_and(|it| expected.contains(&it)), "{case}"),
                None => assert_eq!(after, None, "{case}"),
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_that_is_doubted_is_asked_for_soon_and_not_again_and_again() {
        let mut freshness = Freshness::new(EVERY);
        freshness.hint_stale(List::Tools);
        assert_eq!(stale_after(&mut freshness, false).await, Some(0), "nothing is known of it");
        freshness.hint_stale(List::Tools);
        assert_eq!(stale_after(&mut freshness, false).await, Some(5), "it is on its way");
        freshness.listed(List::Tools, 60 * SECOND);
        advance(2 * SECOND).await;
        freshness.hint_stale(List::Tools);
        freshness.hint_stale(List::Tools);
        assert_eq!(stale_after(&mut freshness, false).await, Some(3));
        freshness.listed(List::Tools, 60 * SECOND);
        advance(20 * SECOND).await;
        freshness.hint_stale(List::Tools);
        assert_eq!(stale_after(&mut freshness, false).await, Some(0));
        freshness.listed(List::Tools, 60 * SECOND);
        freshness.clear();
        assert_eq!(stale_after(&mut freshness, false).await, None);
    }
}

#[cfg(test)]
mod pace_tests {
    use super::*;

    #[test]
    fn many_changes_are_read_once_a_second() {
        let (mut change_rate, mut now) = (ChangeRateLimit::default(), Instant::now());
        let start = now;
        for reading in 0..100 {
            now += change_rate.next(now);
            let expected = CHANGE_INTERVAL * u32::saturating_sub(reading, CHANGE_BURST);
            assert_eq!(now - start, expected, "{reading}");
        }
        now += CHANGE_INTERVAL * CHANGE_BURST * 2;
        assert_eq!(change_rate.next(now), Duration::ZERO);
    }
}
