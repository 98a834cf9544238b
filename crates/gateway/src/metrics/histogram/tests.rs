//! Buckets are in order and without gaps, quantiles are near the truth, merging is adding.

use std::time::Duration;

use proptest::prelude::*;

use super::{BUCKETS, Counters, Histogram, begin, bucket, middle};

#[test]
fn buckets_follow_each_other_without_gaps() {
    assert_eq!(begin(0), 0);
    for index in 1..BUCKETS {
        assert_eq!(bucket(begin(index)), index);
        assert_eq!(bucket(begin(index) - 1), index - 1, "just before {index}");
    }
    assert_eq!(bucket(u64::MAX), BUCKETS - 1);
}

#[test]
fn nothing_counted_has_no_quantile() {
    let empty = Histogram::default();
    assert_eq!((empty.count(), empty.quantile(0.5), empty.encode()), (0, None, vec![]));
}

#[test]
fn quantiles_of_a_hundred() {
    let times: Vec<_> = (1..=100).map(|number| number * 1_000).collect();
    let histogram = of(&times);
    let cases = [(0.0, 1_000), (0.5, 50_000), (0.9, 90_000), (0.99, 99_000), (1.0, 100_000)];
    for (part, exact) in cases {
        let found = histogram.quantile(part).expect("a time").as_micros() as f64;
        assert!((found / exact as f64 - 1.0).abs() <= 0.0625, "{part}: {found} for {exact}");
    }
    assert_eq!(histogram.sum(), Duration::from_millis(5050));
    assert_eq!(histogram.count_below(Duration::from_micros(32_768)), 32);
}

proptest! {
    #[test]
    fn what_stands_for_a_time_is_near_it(micros in 1_u64..1 << 37) {
        let error = (middle(bucket(micros)) as f64 / micros as f64 - 1.0).abs();
        prop_assert!(error <= 0.0625, "{micros} is off by {error}");
    }

    #[test]
    fn merging_is_counting_together(
        one in prop::collection::vec(0_u64..1 << 40, 0..50),
        two in prop::collection::vec(0_u64..1 << 40, 0..50),
    ) {
        let mut merged = of(&one);
        merged.merge(&of(&two));
        prop_assert_eq!(&merged, &of(&[one, two].concat()));
        let decoded = Histogram::decode(merged.encode(), merged.sum());
        prop_assert_eq!(&merged, &decoded);
    }
}

/// Counted both ways.
fn of(times: &[u64]) -> Histogram {
    let (mut plain, shared) = (Histogram::default(), Counters::default());
    for micros in times {
        plain.record(Duration::from_micros(*micros));
        shared.record(Duration::from_micros(*micros));
    }
    assert_eq!(plain, shared.read());
    plain
}
