//! What memory keeps.

use crate::tasks::task_log::*;

async fn known(log: &MemoryLog, ids: &[&str]) -> String {
    let mut known = String::new();
    for id in ids {
        if log.load(id).await.unwrap().is_some() {
            known.push_str(id);
        }
    }
    known
}

/// A record of the principal that its name ends with: `1a` is the first of `a`.
fn record(id: &str, expires: u64, size: usize) -> TaskRecord {
    let principal = id[id.len() - 1..].to_owned();
    TaskRecord { id: id.to_owned(), principal, expires, text: RawJson::string(&"x".repeat(size)) }
}

/// Room for so many records of a hundred bytes, in all and of one principal.
fn room(total: usize, per_principal: usize) -> TaskLogLimits {
    let one = record("1a", 0, 100).size();
    TaskLogLimits { total: total * one, per_principal: per_principal * one }
}

#[tokio::test]
async fn the_oldest_make_room() {
    let ids = ["1a", "2a", "3a", "1b", "2b", "1c"];
    let cases: [(TaskLogLimits, &[&str], &str); 6] = [
        (room(9, 9), &["1a", "2a", "3a"], "1a2a3a"),
        (room(9, 2), &["1a", "2a", "3a", "1b"], "2a3a1b"),
        (room(3, 3), &["1a", "2a", "3a", "1b"], "2a3a1b"),
        (room(4, 3), &["1a", "2a", "1b", "2b", "3a"], "2a3a1b2b"),
        (room(3, 2), &["1a", "2a", "1b", "1c"], "2a1b1c"),
        (room(2, 2), &["1b", "1b", "1a", "1a"], "1a1b"),
    ];
    for (limits, saved, expected) in cases {
        let log = MemoryLog::default();
        for id in saved {
            log.save(record(id, 1, 100), limits).await.unwrap();
        }
        assert_eq!(known(&log, &ids).await, expected, "{saved:?}");
    }
}

#[tokio::test]
async fn one_that_is_too_large_for_all_of_it_stays_until_the_next() {
    let log = MemoryLog::default();
    for (id, size, expected) in [("1a", 100, "1a"), ("2a", 10_000, "2a"), ("3a", 100, "3a")] {
        log.save(record(id, 1, size), room(2, 2)).await.unwrap();
        assert_eq!(known(&log, &["1a", "2a", "3a"]).await, expected);
    }
}

#[tokio::test]
async fn what_expired_is_forgotten() {
    let log = MemoryLog::default();
    for (id, expires) in [("a", 1), ("b", 2), ("c", 3)] {
        log.save(record(id, expires, 1), room(9, 9)).await.unwrap();
    }
    for (now, left) in [(1, "abc"), (3, "c"), (4, "")] {
        log.remove_expired(now).await.unwrap();
        assert_eq!(known(&log, &["a", "b", "c"]).await, left, "at {now}");
    }
}
