//! The conformance suite of storage backends. Each backend runs it on an empty store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::{Document, Settings, Store, TaskLimits, TaskRow, ToolStatistics};

/// Everything a backend must do, one after the other on one store.
pub(crate) async fn run(address: &str) {
    let settings = Settings::default();
    let store = Store::open(address, &settings).await.expect("a new store");
    assert_eq!(store.statistics().await.expect("it can be read"), [], "a new store is empty");

    store.add_statistics(&[]).await.expect("nothing can be added");
    let names = ["b", "a", "it's \"odd\" ; -- é/1"];
    for round in 1..=3 {
        store.add_statistics(&names.map(one_call)).await.expect("it can be written");
        let mut expected = names.map(|name| times(round, name));
        expected.sort_by(|one, other| one.tool.cmp(&other.tool));
        assert_eq!(store.statistics().await.expect("it can be read"), expected, "round {round}");
    }

    let earlier = ToolStatistics { last_call: 1, ..named("a") };
    store.add_statistics(&[earlier]).await.expect("it can be written");
    let last_call = store.statistics().await.expect("it can be read")[0].last_call;
    assert_eq!(last_call, one_call("a").last_call, "the latest call stays the latest");

    task_limits(&store).await;
    tasks(&store).await;
    documents(&store).await;

    store.close().await;
    let store = Store::open(address, &settings).await.expect("a store that is there");
    let kept = store.task("kept").await.expect("it can be read");
    assert_eq!(kept, Some(task("kept", 9, "{\"é\":1}")), "tasks are kept");
    assert_eq!(store.statistics().await.expect("it can be read").len(), 3, "it is kept");

    let other = Store::open(address, &settings).await.expect("a second user of the store");
    for _ in 0..20 {
        let (one, two) = ([one_call("shared")], [one_call("shared")]);
        let both = tokio::join!(store.add_statistics(&one), other.add_statistics(&two));
        assert!(matches!(both, (Ok(()), Ok(()))), "{both:?}");
    }
    let seen = store.statistics().await.expect("it can be read");
    let shared = seen.iter().find(|tool| tool.tool == "shared").expect("the tool");
    assert_eq!(*shared, times(40, "shared"), "two users add up");
    store.close().await;
    other.close().await;
}

/// Writes tasks, over each other too, and forgets those whose time is over.
async fn tasks(store: &Store) {
    assert_eq!(store.task("kept").await.expect("it can be read"), None, "nothing is there yet");
    for row in [task("gone", 4, "{}"), task("kept", 4, "{}"), task("kept", 9, "{\"é\":1}")] {
        store.save_task(&row, room(9, 9)).await.expect("it can be written");
        assert_eq!(store.task(&row.id).await.expect("it can be read"), Some(row));
    }
    for (now, left) in [(4, true), (5, false)] {
        store.remove_expired_tasks(now).await.expect("it can be written");
        let gone = store.task("gone").await.expect("it can be read");
        assert_eq!(gone.is_some(), left, "at {now}");
    }
}

/// Removes the oldest tasks of a principal beyond its share, and of the one that has most beyond
/// the total. A name ends with its principal: `1x` is the first of `x`.
async fn task_limits(store: &Store) {
    let row = |id: &str, size: usize| TaskRow {
        principal: id[1..].to_owned(),
        record: "x".repeat(size),
        ..task(id, 3, "")
    };
    let all = ["1x", "2x", "3x", "1y", "2y", "1z"];
    type Case = (TaskLimits, &'static [(&'static str, usize)], &'static str);
    let cases: [Case; 6] = [
        (room(9, 9), &[("1x", 1), ("2x", 1), ("3x", 1)], "1x2x3x"),
        (room(9, 2), &[("1x", 1), ("2x", 1), ("1y", 1), ("3x", 1)], "2x3x1y"),
        (room(4, 3), &[("1x", 1), ("2x", 1), ("3x", 1), ("1y", 1), ("1z", 1)], "2x3x1y1z"),
        (room(9, 3), &[("1x", 4096), ("2x", 4096), ("3x", 8192)], "2x3x"),
        (room(9, 2), &[("1x", 1), ("2x", 1), ("1x", 8192)], "1x"),
        (room(2, 2), &[("1y", 1), ("1x", 20_000)], "1x"),
    ];
    for (limits, saved, expected) in cases {
        for (id, size) in saved {
            store.save_task(&row(id, *size), limits).await.expect("it can be written");
        }
        let mut kept = String::new();
        for id in all {
            kept += store.task(id).await.expect("it can be read").map_or("", |_| id);
        }
        assert_eq!(kept, expected, "{saved:?}");
        store.remove_expired_tasks(4).await.expect("it can be written");
    }
}

/// Writes documents, over each other too, and removes them; kinds do not touch each other.
async fn documents(store: &Store) {
    let document = |key: &str, content: &str| Document { key: key.into(), content: content.into() };
    for (kind, key, content) in [("x", "b", "1"), ("x", "a", "2"), ("y", "b", "3"), ("x", "b", "4")]
    {
        store.save_document(kind, &document(key, content)).await.expect("it can be written");
    }
    let all = store.documents("x").await.expect("it can be read");
    assert_eq!(all, [document("a", "2"), document("b", "4")], "the last word counts");
    for (key, there) in [("b", true), ("b", false), ("none", false)] {
        let removed = store.remove_document("x", key).await.expect("it can be written");
        assert_eq!(removed, there, "{key}");
    }
    assert_eq!(store.documents("y").await.expect("it can be read"), [document("b", "3")]);
}

fn task(id: &str, expires: u64, record: &str) -> TaskRow {
    let (id, principal) = (id.to_owned(), "ada".to_owned());
    TaskRow { id, principal, expires, record: record.to_owned() }
}

/// Room for so many small tasks, in all and of one principal.
fn room(total: u64, per_principal: u64) -> TaskLimits {
    TaskLimits { total: total * 4096, per_principal: per_principal * 4096 }
}

/// A tool that was never called.
pub(crate) fn named(tool: &str) -> ToolStatistics {
    ToolStatistics { tool: tool.to_owned(), ..ToolStatistics::default() }
}

/// A tool after one call that failed.
pub(crate) fn one_call(tool: &str) -> ToolStatistics {
    times(1, tool)
}

/// A tool after that many calls that failed.
pub(crate) fn times(count: u64, tool: &str) -> ToolStatistics {
    ToolStatistics {
        tool: tool.to_owned(),
        calls: count,
        micros: 1_500 * count,
        errors: BTreeMap::from([("TimeoutError".to_owned(), count)]),
        latency: BTreeMap::from([(1_408, count)]),
        standby_hits: 2 * count,
        standby_misses: count,
        last_call: 1_790_000_000_000,
    }
}

/// A folder of a test's own, gone with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("gantry-store-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the temporary directory can be written");
        Self(path)
    }

    /// The file of the store, in a directory that is not there yet.
    pub(crate) fn file(&self) -> PathBuf {
        self.0.join("state/gantry.db")
    }

    /// The address of that file.
    pub(crate) fn address(&self) -> String {
        address(&self.file())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn address(path: &Path) -> String {
    format!("sqlite://{}", path.display())
}
