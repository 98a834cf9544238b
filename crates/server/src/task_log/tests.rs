//! What memory keeps.

use super::*;

async fn known(log: &MemoryLog, ids: &[&str]) -> String {
    let mut known = String::new();
    for id in ids {
        if log.load(id).await.unwrap().is_some() {
            known.push_str(id);
        }
    }
    known
}

fn record(id: &str, expires: u64, size: usize) -> TaskRecord {
    TaskRecord { id: id.to_owned(), expires, text: RawJson::string(&"x".repeat(size)) }
}

#[tokio::test]
async fn the_oldest_make_room() {
    let log = MemoryLog::new(3 * record("a", 0, 100).weight());
    for id in ["a", "b", "c"] {
        log.save(record(id, 1, 100)).await.unwrap();
    }
    assert_eq!(known(&log, &["a", "b", "c"]).await, "abc");
    log.save(record("c", 1, 90)).await.unwrap();
    assert_eq!(known(&log, &["a", "b", "c"]).await, "abc", "the same again takes no room");
    log.save(record("d", 1, 100)).await.unwrap();
    assert_eq!(known(&log, &["a", "b", "c", "d"]).await, "bcd");
    log.save(record("e", 1, 10_000)).await.unwrap();
    assert_eq!(known(&log, &["b", "c", "d", "e"]).await, "", "one too large for all of it");
    log.save(record("f", 1, 100)).await.unwrap();
    assert_eq!(known(&log, &["f"]).await, "f");
}

#[tokio::test]
async fn what_expired_is_forgotten() {
    let log = MemoryLog::new(10_000);
    for (id, expires) in [("a", 1), ("b", 2), ("c", 3)] {
        log.save(record(id, expires, 1)).await.unwrap();
    }
    for (now, left) in [(1, "abc"), (3, "c"), (4, "")] {
        log.remove_expired(now).await.unwrap();
        assert_eq!(known(&log, &["a", "b", "c"]).await, left, "at {now}");
    }
}
