//! How lines come to the disk: batched or waited for, over segments, with programs that end early.

use std::fs;
use std::time::Duration;

use super::{Folder, KEY};
use crate::audit_log::{AuditError, AuditLog, AuditSettings, Condition, Follower, Kept, verify};

#[test]
fn everything_is_written_in_order() {
    let folder = Folder::new();
    folder.write(1000);
    let expected: Vec<_> = (0..1000).map(|line| format!("\"call\":{line}")).collect();
    assert_eq!(folder.records(), expected);
    assert_eq!(folder.complaints(), Vec::<String>::new());
}

#[test]
fn a_program_that_writes_nothing_makes_nothing() {
    let folder = Folder::new();
    folder.write(0);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    assert!(verify(folder.path(), &KEY, &[]).expect("an empty record").is_sound());
}

#[tokio::test]
async fn what_is_waited_for_is_there() {
    let folder = Folder::new();
    let audit_log = folder.audit_log(AuditSettings::default());
    let all = (0..50).map(|line| audit_log.keep(format!("\"call\":{line}").as_bytes()));
    for kept in all.collect::<Vec<_>>() {
        kept.await.expect("it is kept");
    }
    assert_eq!(folder.records().len(), 50, "before the journal is closed");
    let report = verify(folder.path(), &KEY, &[]).expect("a record");
    assert_eq!(report.segments[0].condition, Condition::Open);
    assert!(report.is_sound(), "{report:?}");
    audit_log.close();
    assert!(matches!(audit_log.keep(b"\"call\":1").await, Err(AuditError::Closed)));
}

#[tokio::test]
async fn full_volumes_are_followed_by_others_and_old_ones_go() {
    let folder = Folder::new();
    let settings = AuditSettings {
        segment: 1000,
        size: 4000,
        min_age: Duration::ZERO,
        index: 2000,
        ..AuditSettings::default()
    };
    let audit_log = folder.audit_log(settings);
    let mut follower = Follower::new(folder.path()).expect("a record");
    let mut seen = 0;
    for line in 0..100 {
        let padding = "x".repeat(100);
        let line = format!("\"call\":{line},\"padding\":\"{padding}\"");
        audit_log.keep(line.as_bytes()).await.expect("it is kept");
        let added = follower.added().expect("a record");
        seen += added
            .split(|byte| *byte == b'\n')
            .filter(|it| it.windows(6).any(|it| it == b"\"call\""))
            .count();
    }
    audit_log.close();
    assert_eq!(seen, 100, "a follower sees everything");
    let segments = folder.segments().len();
    assert!((2..=6).contains(&segments), "{segments} volumes");
    assert_eq!(folder.complaints(), Vec::<String>::new());
    let last = folder.records().pop().expect("a record");
    assert!(last.starts_with("\"call\":99,"), "{last}");
    let index = fs::read_to_string(folder.path().join("index.jsonl")).expect("a list");
    assert!(index.starts_with("{\"n\":0,\"at\":") && index.contains("renewed"), "{index}");
}

#[tokio::test]
async fn a_volume_is_ended_when_it_is_old() {
    let folder = Folder::new();
    let audit_log =
        folder.audit_log(AuditSettings { age: Duration::ZERO, ..AuditSettings::default() });
    for line in 0..3 {
        audit_log.keep(format!("\"call\":{line}").as_bytes()).await.expect("it is kept");
    }
    audit_log.close();
    assert_eq!((folder.segments().len(), folder.records().len()), (3, 3));
    assert_eq!(folder.complaints(), Vec::<String>::new());
}

/// Leaves a segment behind as a program does that is killed.
fn leave(folder: &Folder, rest: &[u8]) {
    folder.write(5);
    let segment = folder.segments().remove(0);
    let text = fs::read_to_string(&segment).expect("a volume");
    let lines: Vec<&str> = text.lines().take(4).collect();
    fs::write(&segment, [(lines.join("\n") + "\n").as_bytes(), rest].concat()).expect("a file");
    let index = folder.path().join("index.jsonl");
    let text = fs::read_to_string(&index).expect("a list");
    fs::write(&index, text.lines().take(1).collect::<String>() + "\n").expect("a file");
}

#[test]
fn where_a_volume_was_left_is_noted_by_the_next_program() {
    for rest in [&b""[..], b"{\"n\":4,\"call"] {
        let folder = Folder::new();
        leave(&folder, rest);
        let report = verify(folder.path(), &KEY, &[]).expect("a record");
        assert!(report.is_sound(), "{report:?}");
        assert_eq!(report.segments[0].condition, Condition::Unsealed);
        folder.write(2);
        let report = verify(folder.path(), &KEY, &[]).expect("a record");
        assert!(report.is_sound(), "{report:?}");
        let conditions: Vec<_> = report.segments.iter().map(|it| it.condition).collect();
        assert_eq!(conditions, [Condition::Left, Condition::Closed]);
        let segment = folder.segments().remove(0);
        let text = fs::read(&segment).expect("a volume");
        fs::write(&segment, &text[..text.len() - 1]).expect("a file");
        assert!(!verify(folder.path(), &KEY, &[]).expect("a record").is_sound(), "{rest:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_written_is_told_kept_and_counted() {
    let folder = Folder::new();
    let blocked = folder.path().join("audit");
    fs::write(&blocked, "in the way").expect("a file");
    let stamp = |_| "2026".to_owned();
    let settings = AuditSettings { waiting: 64, ..AuditSettings::default() };
    let audit_log = AuditLog::open(blocked.clone(), &KEY, stamp, "test".to_owned(), settings, &[]);
    let audit_log = audit_log.expect("a thread");
    for line in 0..10 {
        let kept = audit_log.keep(format!("\"call\":{line}").as_bytes()).await;
        let error = kept.expect_err("there is a file in the way").to_string();
        assert!(error.contains("audit") || error.contains("as many as may"), "{error}");
    }
    let Kept { written, dropped, is_failing, .. } = audit_log.kept();
    assert!(written == 0 && is_failing && (1..10).contains(&dropped), "{:?}", audit_log.kept());
    fs::remove_file(&blocked).expect("a file");
    let kept = tokio::time::timeout(Duration::from_secs(30), audit_log.keep(b"\"call\":10")).await;
    // There may be no room for it among what waits, but that is written now.
    let kept = kept.expect("an answer");
    audit_log.close();
    let mut text = String::new();
    for file in fs::read_dir(&blocked).expect("a folder").flatten() {
        text += &fs::read_to_string(file.path()).expect("a file");
    }
    let count = text.matches("\"call\":").count() as u64;
    assert_eq!(count, audit_log.kept().written);
    assert_eq!(audit_log.kept().written + audit_log.kept().dropped, 11, "{kept:?} {text}");
    let dropped = audit_log.kept().dropped;
    assert!(text.contains(&format!("\"dropped\":{dropped}")), "{text}");
    assert!(verify(&blocked, &KEY, &[]).expect("a record").is_sound());
}
