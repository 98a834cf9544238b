//! An audit log that was emptied or put back to an earlier state: the store knows how far it was.

use std::fs;
use std::path::Path;

use gantry_tests::temp_folder::Bench;
use serde_json::json;

use crate::fixture::{AuditFixture, audit};

async fn open(bench: Bench) -> AuditFixture {
    AuditFixture::over(bench, json!("batched"), |gateway| gateway).await
}

/// Two gateways, one after the other, each with a call; and a copy of the log from between.
async fn written(name: &str) -> Bench {
    let mut fixture = open(Bench::new(&format!("audit-emptied-{name}"))).await;
    fixture.call("count", 1).await;
    let bench = fixture.finish().await;
    copy(&bench.folder.join("gantry/audit"), &bench.folder.join("earlier"));
    let mut fixture = open(bench).await;
    fixture.call("count", 2).await;
    fixture.finish().await
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).expect("a file");
    }
}

#[tokio::test]
async fn a_log_that_is_shorter_than_it_was_is_found() {
    type Damage = fn(&Path, &Path);
    let cases: [(&str, Damage, i32); 4] = [
        ("untouched", |_, _| {}, 0),
        ("removed", |log, _| fs::remove_dir_all(log).expect("a folder"), 1),
        (
            "emptied",
            |log, _| {
                fs::remove_dir_all(log).expect("a folder");
                fs::create_dir(log).expect("a folder");
            },
            1,
        ),
        (
            "an earlier copy",
            |log, earlier| {
                fs::remove_dir_all(log).expect("a folder");
                copy(earlier, log);
            },
            1,
        ),
    ];
    let bench = written("cases").await;
    let (log, whole) = (bench.folder.join("gantry/audit"), bench.folder.join("whole"));
    copy(&log, &whole);
    for (case, damage, code) in cases {
        damage(&log, &bench.folder.join("earlier"));
        let run = audit(&bench, &["verify"]).await;
        assert_eq!(run.code, Some(code), "{case}: {run:?}");
        assert_eq!(run.out.contains("shorter than"), code != 0, "{case}: {run:?}");
        let _ = fs::remove_dir_all(&log);
        copy(&whole, &log);
    }
    fs::remove_dir_all(&log).expect("a folder");
    let run = audit(&bench, &["verify", "--reset-anchor"]).await;
    assert_eq!(run.code, Some(0), "who removed it says so: {run:?}");
    // Nobody can tell it from a log that was never begun, and that is said.
    let run = audit(&bench, &["verify"]).await;
    assert!(
        run.code == Some(0) && run.out.contains("a log that was removed is not found"),
        "{run:?}"
    );
}
