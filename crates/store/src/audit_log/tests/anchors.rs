//! A log that is shorter than it was, or another one, when it is known how far it was.

use std::fs;
use std::path::Path;

use super::{Folder, KEY, stamp};
use crate::audit_log::{Anchor, AuditLog, AuditSettings};

/// Opens a log of which this is known.
fn open(folder: &Folder, settings: AuditSettings, anchors: &[Anchor]) -> AuditLog {
    let path = folder.path().to_owned();
    AuditLog::open(path, &KEY, stamp, "test".to_owned(), settings, anchors).expect("a thread")
}

/// Writes lines with a program of their own, and gives how far the log is then.
async fn written(folder: &Folder, lines: usize, anchors: &[Anchor]) -> Vec<Anchor> {
    let settings = AuditSettings { index: 400, ..AuditSettings::default() };
    let audit_log = open(folder, settings, anchors);
    for line in 0..lines {
        audit_log.keep(format!("\"call\":{line}").as_bytes()).await.expect("it is kept");
    }
    audit_log.close();
    audit_log.position().map(|position| position.anchors).unwrap_or_default()
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        fs::copy(entry.path(), to.join(entry.file_name())).expect("a file");
    }
}

#[tokio::test]
async fn a_log_that_was_emptied_cut_or_put_back_is_found() {
    // The list is written again now and then, which is nothing wrong.
    for programs in [1, 2, 5] {
        let (folder, earlier) = (Folder::new(), Folder::new());
        let mut anchors = Vec::new();
        for _ in 0..programs {
            copy(folder.path(), earlier.path());
            anchors = written(&folder, 3, &anchors).await;
            assert_eq!(folder.complaints_after(&anchors), Vec::<String>::new());
        }
        assert_eq!(anchors.len(), 1, "the end of a closed segment is in the list: {anchors:?}");
        let found = earlier.complaints_after(&anchors);
        assert!(found.iter().any(|it| it.contains("shorter than")), "{programs}: {found:?}");
        let found = Folder::new().complaints_after(&anchors);
        assert!(found.iter().any(|it| it.contains("shorter than")), "{programs}: {found:?}");
        let other = Folder::new();
        written(&other, 3, &[]).await;
        for _ in 1..programs {
            written(&other, 1, &[]).await;
        }
        let found = other.complaints_after(&anchors);
        assert!(found.iter().any(|it| it.contains("the store knows")), "{programs}: {found:?}");
        fs::remove_dir_all(other.path()).expect("a folder");
        let found = other.complaints_after(&anchors);
        assert!(found.iter().any(|it| it.contains("shorter than")), "{programs}: {found:?}");
    }
}

#[tokio::test]
async fn the_end_of_a_segment_that_is_still_written_is_known() {
    let folder = Folder::new();
    let audit_log = open(&folder, AuditSettings::default(), &[]);
    for line in 0..5 {
        audit_log.keep(format!("\"call\":{line}").as_bytes()).await.expect("it is kept");
    }
    let position = audit_log.position().expect("it was written");
    let [index, segment] = &position.anchors[..] else { panic!("{position:?}") };
    assert!(!position.has_ended(&segment.file), "{position:?}");
    assert_eq!((index.lines, segment.lines), (1, 6));
    // What comes later is not missed.
    audit_log.keep(b"\"call\":5").await.expect("it is kept");
    assert_eq!(folder.complaints_after(&position.anchors), Vec::<String>::new());
    let file = folder.segments().remove(0);
    let text = fs::read_to_string(&file).expect("a segment");
    let cases: [(&str, Vec<&str>, &str); 3] = [
        ("ahead of the anchor", text.lines().take(6).collect(), ""),
        ("cut", text.lines().take(5).collect(), "shorter than"),
        ("emptied", vec![], "shorter than"),
    ];
    for (case, lines, expected) in cases {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(&file, text).expect("a file");
        let found = folder.complaints_after(&position.anchors);
        let is_found = found.iter().any(|it| !expected.is_empty() && it.contains(expected));
        assert_eq!(is_found, !expected.is_empty(), "{case}: {found:?}");
        assert_eq!(found.is_empty(), expected.is_empty(), "{case}: {found:?}");
    }
}

#[tokio::test]
async fn a_program_that_goes_on_after_an_emptied_log_hides_nothing() {
    let folder = Folder::new();
    let anchors = written(&folder, 3, &[]).await;
    fs::remove_dir_all(folder.path()).expect("a folder");
    let audit_log = open(&folder, AuditSettings::default(), &anchors);
    audit_log.keep(b"\"call\":1").await.expect("it is kept");
    assert!(audit_log.kept().is_cut);
    audit_log.close();
    assert!(audit_log.position().is_none(), "what is known of the log that was there stays so");
    let found = folder.complaints_after(&anchors);
    assert!(found.iter().any(|it| it.contains("the store knows")), "{found:?}");
}
