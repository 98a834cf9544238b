//! The writer with a real file that fails in every way a file can.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use tokio::sync::watch;

use crate::suite::{Folder, times};
use crate::{Settings, Source, Store, ToolStatistics, Writer};

/// Counts what a test tells it to, and writes down what it hears.
#[derive(Default)]
struct FakeSource {
    counted: Mutex<Vec<ToolStatistics>>,
    asked: watch::Sender<usize>,
    heard: watch::Sender<Vec<bool>>,
}

impl Source for FakeSource {
    fn statistics(&self) -> Vec<ToolStatistics> {
        self.asked.send_modify(|asked| *asked += 1);
        self.counted.lock().expect("the list").clone()
    }

    fn written(&self, written: bool) {
        self.heard.send_modify(|heard| heard.push(written));
    }
}

impl FakeSource {
    fn count(&self, statistics: ToolStatistics) {
        *self.counted.lock().expect("the list") = vec![statistics];
    }

    /// Ends when the writer has looked so many times more.
    async fn looks(&self, more: usize) {
        let mut asked = self.asked.subscribe();
        let goal = *asked.borrow() + more;
        asked.wait_for(|asked| *asked >= goal).await.expect("the source is here");
    }

    /// Ends when everything it heard is this.
    async fn hears(&self, expected: &[bool]) {
        let mut heard = self.heard.subscribe();
        heard.wait_for(|heard| heard == expected).await.expect("the source is here");
    }
}

fn start(folder: &Folder) -> (Arc<FakeSource>, Writer) {
    let source = Arc::new(FakeSource::default());
    let (busy, every) = (Duration::from_millis(1), Duration::from_millis(1));
    let settings = Settings { busy, every, ..Settings::default() };
    (source.clone(), Writer::start(folder.address(), settings, source))
}

async fn kept(folder: &Folder) -> Vec<ToolStatistics> {
    let store = Store::open(&folder.address(), &Settings::default()).await.expect("a store");
    let kept = store.statistics().await.expect("it can be read");
    store.close().await;
    kept
}

#[tokio::test]
async fn what_is_counted_is_written_once() {
    let folder = Folder::new("written-once");
    for round in 1..=2 {
        let (source, writer) = start(&folder);
        for count in 1..=3 {
            source.count(times(count, "a"));
            source.looks(2).await;
        }
        source.count(times(5, "a"));
        writer.stop().await;
        assert_eq!(kept(&folder).await, [times(5 * round, "a")], "start {round}");
        assert_eq!(*source.heard.borrow(), [] as [bool; 0], "nothing was wrong");
    }
}

#[tokio::test]
async fn who_is_idle_writes_nothing() {
    let folder = Folder::new("idle");
    let (source, writer) = start(&folder);
    source.looks(5).await;
    assert!(!folder.file().exists(), "no file without a call");
    source.count(times(1, "a"));
    source.looks(3).await;
    let before = fs::metadata(folder.file()).and_then(|it| it.modified()).expect("a file");
    assert!(!folder.file().with_extension("db-wal").exists(), "an idle writer holds nothing open");
    source.looks(5).await;
    writer.stop().await;
    let after = fs::metadata(folder.file()).and_then(|it| it.modified()).expect("a file");
    assert_eq!(before, after);
}

#[tokio::test]
async fn trouble_is_told_once_and_nothing_is_lost() {
    let folder = Folder::new("trouble");
    fs::create_dir_all(folder.file().parent().expect("a directory")).expect("made");
    fs::write(folder.file(), "no database").expect("a file");
    let (source, writer) = start(&folder);
    source.count(times(1, "a"));
    source.hears(&[false]).await;
    source.count(times(2, "a"));
    source.looks(5).await;
    source.hears(&[false]).await;
    fs::remove_file(folder.file()).expect("moved away");
    source.hears(&[false, true]).await;
    assert_eq!(kept(&folder).await, [times(2, "a")], "all that was counted meanwhile");

    let mut other = SqliteConnectOptions::new().filename(folder.file()).connect().await.unwrap();
    sqlx::query("BEGIN EXCLUSIVE").execute(&mut other).await.expect("a lock");
    source.count(times(3, "a"));
    source.hears(&[false, true, false]).await;
    source.looks(5).await;
    sqlx::query("ROLLBACK").execute(&mut other).await.expect("no lock");
    source.hears(&[false, true, false, true]).await;
    writer.stop().await;
    assert_eq!(kept(&folder).await, [times(3, "a")]);
}
