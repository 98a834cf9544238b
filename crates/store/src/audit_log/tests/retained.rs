//! What retention removes, what it keeps, and what it says of either.

use std::time::{Duration, SystemTime};

use super::{Folder, KEY};
use crate::audit_log::{AuditLog, AuditSettings, Removal, verify};

/// Small segments, and little room for them.
fn small(min_age: Duration) -> AuditSettings {
    let review = Duration::from_millis(1);
    AuditSettings { segment: 1000, size: 4000, min_age, review, ..AuditSettings::default() }
}

async fn fill(audit_log: &AuditLog, lines: usize) {
    for line in 0..lines {
        let line = format!("\"call\":{line},\"padding\":\"{}\"", "x".repeat(100));
        audit_log.keep(line.as_bytes()).await.expect("it is kept");
    }
}

fn removals(folder: &Folder) -> Vec<Removal> {
    let report = verify(folder.path(), &KEY, &[]).expect("a record");
    assert!(report.is_sound(), "{report:?}");
    report.removals
}

#[tokio::test]
async fn what_is_removed_is_reported_also_after_the_list_was_renewed() {
    for index in [2000, 1 << 20] {
        let folder = Folder::new();
        let audit_log = folder.audit_log(AuditSettings { index, ..small(Duration::ZERO) });
        fill(&audit_log, 100).await;
        audit_log.close();
        let [removal] = &removals(&folder)[..] else { panic!("one reason") };
        let report = verify(folder.path(), &KEY, &[]).expect("a record");
        let left: u64 = report.segments.iter().map(|it| it.lines).sum();
        let segments = removal.segments + report.segments.len() as u64;
        // Each segment has a first and a last line of its own.
        assert_eq!(removal.lines + left, 100 + 2 * segments, "{removal:?}");
        assert!(removal.why == "size" && removal.first < removal.last, "{removal:?}");
        assert!(removal.from < removal.to && removal.to <= removal.removed_last, "{removal:?}");
        let text = removal.to_string();
        assert!(text.contains("removed by retention from"), "{text}");
        assert!(removal.last < report.segments[0].name, "the oldest go: {removal:?}");
    }
}

#[tokio::test]
async fn what_is_young_stays_and_that_there_is_too_much_is_told() {
    let folder = Folder::new();
    let audit_log = folder.audit_log(small(Duration::from_secs(3600)));
    fill(&audit_log, 100).await;
    assert!(audit_log.kept().is_over);
    assert_eq!(folder.records().len(), 100, "nothing is removed");
    assert_eq!(removals(&folder), []);
    // As soon as it is old enough it goes, also when nothing is written.
    audit_log.configure(|settings| settings.min_age = Duration::ZERO);
    let until = SystemTime::now() + Duration::from_secs(30);
    while audit_log.kept().is_over && SystemTime::now() < until {
        audit_log.keep(b"\"call\":0").await.expect("it is kept");
    }
    assert!(!audit_log.kept().is_over, "it was looked again");
    audit_log.close();
    assert_eq!(removals(&folder).len(), 1);
}
