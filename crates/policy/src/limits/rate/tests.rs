//! Texts of rates, and what the algorithm promises.

use proptest::prelude::*;

use super::super::Keys;
use super::*;

fn rate(text: &str) -> Rate {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn texts() {
    let cases = [
        ("60/min", Some("60/min")),
        ("60/m", Some("60/min")),
        ("10/s", Some("10/s")),
        ("1000/hour burst 50", Some("1000/h burst 50")),
        ("5/day shared", Some("5/d shared")),
        (" 5/d   burst 5  shared ", Some("5/d shared")),
        ("", None),
        ("60", None),
        ("60/", None),
        ("/min", None),
        ("0/min", None),
        ("-1/min", None),
        ("1.5/min", None),
        ("60/fortnight", None),
        ("60/min burst", None),
        ("60/min burst 0", None),
        ("60/min fast", None),
        ("9999999999/s", None),
    ];
    for (text, expected) in cases {
        let read = text.parse::<Rate>().ok().map(|rate| rate.to_string());
        assert_eq!(read.as_deref(), expected, "{text}");
    }
}

#[test]
fn what_is_left_comes_back_evenly() {
    let second = 1_000_000_000;
    // At this time, whether there is one, or how many nanoseconds until there is.
    let cases = [
        (0, Ok(())),
        (0, Ok(())),
        (0, Err(second / 2)),
        (second / 2 - 1, Err(1)),
        (second / 2, Ok(())),
        (second / 2, Err(second / 2)),
        (100 * second, Ok(())),
        (100 * second, Ok(())),
        (100 * second, Err(second / 2)),
        // A clock that went back makes nobody wait for ever, and gives nothing away.
        (99 * second, Err(second + second / 2)),
    ];
    let (cell, rate) = (Cell::default(), rate("2/s"));
    for (step, (now, expected)) in cases.into_iter().enumerate() {
        assert_eq!(cell.take(rate, now), expected.map_err(Duration::from_nanos), "step {step}");
    }
}

#[test]
fn many_at_once_get_no_more_than_one_by_one() {
    let (cell, rate) = (Cell::default(), rate("1/d burst 1000"));
    let taken = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    taken.fetch_add(u64::from(cell.take(rate, 7).is_ok()), Relaxed);
                }
            });
        }
    });
    assert_eq!(taken.into_inner(), 1000);
}

proptest! {
    #[test]
    fn never_more_than_the_burst_and_the_rate_in_any_window(
        count in 1_u64..200,
        burst in 1_u64..50,
        pauses in prop::collection::vec(0_u64..3_000_000_000, 1..200),
    ) {
        let rate = rate(&format!("{count}/min burst {burst}"));
        let (cell, mut now, mut taken) = (Cell::default(), 0, Vec::new());
        for pause in pauses {
            now += pause;
            match cell.take(rate, now) {
                Ok(()) => taken.push(now),
                Err(wait) => {
                    let wait = u64::try_from(wait.as_nanos()).unwrap();
                    // Exactly that long, and not a nanosecond less.
                    prop_assert!(cell.take(rate, now + wait - 1).is_err());
                    prop_assert!(cell.take(rate, now + wait).is_ok());
                    now += wait;
                    taken.push(now);
                }
            }
        }
        for (first, start) in taken.iter().enumerate() {
            for (last, end) in taken.iter().enumerate().skip(first) {
                let allowed = burst + (end - start) / rate.interval();
                prop_assert!(((last - first + 1) as u64) <= allowed);
            }
        }
    }
}

#[test]
fn no_more_keys_are_remembered_than_may_be() {
    let (buckets, keys) = (Buckets::new(), Keys::new());
    let rate: Rate = "1/d".parse().expect("a rate");
    for number in 0..10_000 {
        assert_eq!(buckets.take(keys.of("test", &[&number.to_string()]), rate, 1, 160), Ok(()));
    }
    assert!(buckets.len() <= 160, "{}", buckets.len());
}

#[test]
fn what_says_nothing_any_more_is_forgotten_first() {
    let (buckets, keys) = (Buckets::new(), Keys::new());
    let (slow, fast) = ("1/d".parse().expect("a rate"), "1000000/s".parse().expect("a rate"));
    let kept = keys.of("test", &["kept"]);
    assert_eq!(buckets.take(kept, slow, 0, 1600), Ok(()));
    for number in 0..10_000_u64 {
        let key = keys.of("test", &[&number.to_string()]);
        assert_eq!(buckets.take(key, fast, number * 1_000_000, 1600), Ok(()));
    }
    assert!(buckets.take(kept, slow, 10_000_000_000, 1600).is_err(), "it is still known");
}
