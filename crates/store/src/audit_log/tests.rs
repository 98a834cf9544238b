//! the audit log on a disk: what is written, what is found when someone has changed it, what happens
//! when it cannot be written.

mod anchors;
mod damage;
mod retained;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use super::*;

pub(super) const KEY: [u8; 32] = [7; 32];

/// A folder of a test's own, which goes with it.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir();
        let path = path.join(format!("gantry-audit-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(super) fn audit_log(&self, settings: AuditSettings) -> AuditLog {
        let audit_log =
            AuditLog::open(self.0.clone(), &KEY, stamp, "test 1".to_owned(), settings, &[]);
        audit_log.expect("a thread")
    }

    /// Writes so many lines, and ends in good order.
    pub(super) fn write(&self, lines: usize) {
        let audit_log = self.audit_log(AuditSettings::default());
        for line in 0..lines {
            audit_log.note(format!("\"call\":{line}").as_bytes());
        }
        audit_log.close();
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn segments(&self) -> Vec<PathBuf> {
        let segments = segments(&self.0).expect("a folder").into_iter();
        segments.map(|segment| self.0.join(segment.name)).collect()
    }

    /// Everything that is wrong, as people read it.
    pub(super) fn complaints(&self) -> Vec<String> {
        self.complaints_after(&[])
    }

    /// The same, when it is known how far the log was.
    pub(super) fn complaints_after(&self, anchors: &[Anchor]) -> Vec<String> {
        let report = verify(&self.0, &KEY, anchors).expect("it can be read");
        let segments = report.segments.iter().flat_map(|segment| &segment.findings);
        report.index.iter().chain(segments).map(ToString::to_string).collect()
    }

    /// The records of all segments.
    pub(super) fn records(&self) -> Vec<String> {
        let mut records = Vec::new();
        for segment in segments(&self.0).expect("a folder") {
            let text = segment.read().expect("a file");
            let members = SegmentFile::records(&text).map(String::from_utf8_lossy);
            records.extend(members.filter(|it| it.contains("\"call\"")).map(Into::into));
        }
        records
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn stamp(moment: SystemTime) -> String {
    let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("{:020}", since.as_nanos())
}
