//! Real files: their rights, and everything that can be wrong with one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};

use super::options;
use crate::suite::{self, Folder, named, one_call, times};
use crate::{Settings, Store, StoreError, ToolStatistics};

#[tokio::test]
async fn the_suite() {
    let folder = Folder::new("suite");
    suite::run(&folder.address()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn programs_that_start_and_end_at_once_add_up() {
    for round in 0..10 {
        let folder = Folder::new(&format!("crowd-{round}"));
        let programs = (0..8).map(|_| {
            let address = folder.address();
            tokio::spawn(async move {
                let store = Store::open(&address, &Settings::default()).await?;
                let added = store.add_statistics(&[one_call("a")]).await;
                store.close().await;
                added
            })
        });
        for program in programs.collect::<Vec<_>>() {
            program.await.expect("it ends").expect("it is kept");
        }
        let kept = open(&folder).await.expect("a store").statistics().await.expect("read");
        assert_eq!(kept, [times(8, "a")], "round {round}");
    }
}

#[tokio::test]
async fn only_its_user_can_read_it() {
    let folder = Folder::new("rights");
    let file = folder.file();
    for round in ["made", "found with wider rights"] {
        let store = open(&folder).await.expect("a store");
        store.add_statistics(&[one_call("a")]).await.expect("written");
        let mode = |path: &str| fs::metadata(path).expect(path).permissions().mode() & 0o777;
        let path = file.to_str().expect("a readable path");
        for suffix in ["", "-wal", "-shm"] {
            assert_eq!(mode(&format!("{path}{suffix}")), 0o600, "{round}: {suffix}");
        }
        let directory = file.parent().and_then(|it| it.to_str()).expect("a directory");
        assert_eq!(mode(directory), 0o700, "{round}");
        store.close().await;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("its rights");
    }
}

#[tokio::test]
async fn an_address_that_is_none_is_told() {
    for address in ["", "gantry.db", "sqlite://", "postgres://localhost/gantry", "file:///a"] {
        let refused = Store::open(address, &Settings::default()).await;
        assert!(matches!(refused, Err(StoreError::Address(_))), "{address}: {refused:?}");
    }
}

#[tokio::test]
async fn a_newer_file_is_refused_and_left_alone() {
    let folder = Folder::new("newer");
    open(&folder).await.expect("a store").close().await;
    let mut other = connect(&folder).await;
    let note = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (99, 'later', 1, x'', 0)";
    sqlx::query(note).execute(&mut other).await.expect("a later change");
    other.close().await.expect("closed");
    let refused = open(&folder).await.expect_err("a newer file");
    let text = refused.to_string();
    assert!(text.contains("newer version (schema 99, here 4)"), "{text}");
    assert!(text.contains("gantry.db") && text.contains("update"), "{text}");
}

#[tokio::test]
async fn a_damaged_file_is_told_and_left_alone() {
    let whole = Folder::new("whole");
    let store = open(&whole).await.expect("a store");
    store.add_statistics(&[one_call("a")]).await.expect("written");
    store.close().await;
    let good = fs::read(whole.file()).expect("a file");
    let mut broken = good.clone();
    broken[4096..].fill(0x5a);
    let cases: [(&str, &[u8]); 3] =
        [("text", b"this is no database, only text"), ("head", &[0x5a; 8192]), ("body", &broken)];
    for (name, bytes) in cases {
        let folder = Folder::new(&format!("damaged-{name}"));
        fs::create_dir_all(folder.file().parent().expect("a directory")).expect("made");
        fs::write(folder.file(), bytes).expect("a file");
        let error = use_it(&folder, &Settings::default()).await.expect_err(name);
        assert!(matches!(error, StoreError::Corrupt { .. }), "{name}: {error:?}");
        assert!(error.to_string().contains("move it away"), "{error}");
        assert_eq!(fs::read(folder.file()).expect("a file"), bytes, "{name} is left as it was");
    }
}

#[tokio::test]
async fn a_locked_file_is_told_and_written_later() {
    let folder = Folder::new("locked");
    let settings = Settings { busy: Duration::from_millis(1), ..Settings::default() };
    use_it(&folder, &settings).await.expect("a store");
    let mut other = connect(&folder).await;
    sqlx::query("BEGIN EXCLUSIVE").execute(&mut other).await.expect("a lock");
    let error = use_it(&folder, &settings).await.expect_err("locked");
    assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
    sqlx::query("ROLLBACK").execute(&mut other).await.expect("no lock");
    use_it(&folder, &settings).await.expect("free again");
    let kept = open(&folder).await.expect("a store").statistics().await.expect("read");
    assert_eq!(kept, [times(2, "a")], "what failed left nothing behind");
}

#[tokio::test]
async fn a_full_file_is_told_and_keeps_nothing_of_what_failed() {
    let folder = Folder::new("full");
    let small = Settings { size: 20 * 4096, ..Settings::default() };
    use_it(&folder, &small).await.expect("a little fits");
    let many: Vec<_> = (0..5000).map(|number| named(&format!("tool-{number}"))).collect();
    let store = Store::open(&folder.address(), &small).await.expect("a store");
    let error = store.add_statistics(&many).await.expect_err("full");
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    assert_eq!(store.statistics().await.expect("read"), [one_call("a")]);
    store.close().await;
    let store = open(&folder).await.expect("a store");
    store.add_statistics(&many).await.expect("there is room now");
    assert_eq!(store.statistics().await.expect("read").len(), 5001);
}

#[tokio::test]
async fn memory_and_journal_are_limited() {
    let folder = Folder::new("limits");
    open(&folder).await.expect("a store").close().await;
    let settings = Settings { cache: 64 << 10, journal: 123_456, ..Settings::default() };
    let options = options(&folder.file(), &settings);
    let mut connection = options.connect().await.expect("a connection");
    let cases = [
        ("PRAGMA cache_size", "-64"),
        ("PRAGMA journal_size_limit", "123456"),
        ("PRAGMA journal_mode", "wal"),
        ("PRAGMA synchronous", "1"),
        ("PRAGMA foreign_keys", "1"),
    ];
    for (pragma, expected) in cases {
        let row = sqlx::query(pragma).fetch_one(&mut connection).await.expect(pragma);
        assert_eq!(row.get_unchecked::<String, _>(0), expected, "{pragma}");
    }
}

async fn open(folder: &Folder) -> Result<Store, StoreError> {
    Store::open(&folder.address(), &Settings::default()).await
}

/// Opens the store, adds one call of `a` and reads everything.
async fn use_it(folder: &Folder, settings: &Settings) -> Result<Vec<ToolStatistics>, StoreError> {
    let store = Store::open(&folder.address(), settings).await?;
    let used = match store.add_statistics(&[one_call("a")]).await {
        Ok(()) => store.statistics().await,
        Err(error) => Err(error),
    };
    store.close().await;
    used
}

/// Another program's connection.
async fn connect(folder: &Folder) -> SqliteConnection {
    options(&folder.file(), &Settings::default()).connect().await.expect("a second connection")
}
