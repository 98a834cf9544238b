//! Rotation of segments: opens one, closes it when it is full, judges segments that other programs
//! left, and applies retention.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Instant, SystemTime};

use super::AuditWriter;
use crate::audit_log::chain::{Mac, Position, Seal, to_hex};
use crate::audit_log::index::End;
use crate::audit_log::index::Entry;
use crate::audit_log::index::Event;
use crate::audit_log::index::Index;
use crate::audit_log::inspect::inspect;
use crate::audit_log::retention::{Candidate, Outdated, outdated};
use crate::audit_log::segment::{Segment, name};
use crate::audit_log::{AuditDir, AuditError, AuditSettings};

impl AuditWriter {
    /// Has a segment at hand that is not full.
    pub(super) fn ensure_segment(&mut self, settings: &AuditSettings) -> Result<(), AuditError> {
        if self.segment.as_ref().is_some_and(|it| !it.is_full(settings)) {
            return Ok(());
        }
        let before = self.segment.as_ref().map(|segment| segment.end().last);
        self.close()?;
        let folder = &self.dir.folder;
        let mut options = DirBuilder::new();
        let made = options.recursive(true).mode(0o700).create(folder);
        made.map_err(AuditError::write(folder))?;
        let mut index = self.lock_index(settings)?;
        self.close_abandoned(&mut index)?;
        self.remove_outdated(&mut index, settings)?;
        if index.length() > settings.index {
            index.renew(&self.now())?;
        }
        self.segment = Some(self.open_segment(&mut index, before.as_deref())?);
        self.is_directory_synced = false;
        self.remember_index(&index);
        Ok(())
    }

    /// Takes the list in hand. One that does not go on from where it was is told of once, and from
    /// then on nobody is told how far the log is: what is known of the log that was there must not
    /// be forgotten.
    fn lock_index(&self, settings: &AuditSettings) -> Result<Index, AuditError> {
        let AuditDir { folder, seal, anchor, .. } = &self.dir;
        let held = Index::hold_after(folder, seal.clone(), settings.busy, anchor.as_ref());
        let (index, is_extended) = held?;
        if !is_extended && !self.counters.is_cut.swap(true, Ordering::Relaxed) {
            tracing::error!(
                "the audit log was emptied, cut or replaced since it was last written; \
                 `gantry audit verify` says more"
            );
        }
        Ok(index)
    }

    /// Remembers how far the list is.
    fn remember_index(&mut self, index: &Index) {
        self.dir.anchor = Some(index.anchor());
        self.contents = Some(Arc::new(index.contents.clone()));
    }

    /// Says how far the log is on the disk, for who keeps that elsewhere.
    pub(super) fn publish(&mut self) {
        let Some(contents) = self.contents.clone() else { return };
        let is_cut = self.counters.is_cut.load(Ordering::Relaxed);
        if !is_cut && self.sync_directory().is_err() {
            return;
        }
        let own = self.segment.as_ref().map(Segment::anchor);
        let anchors = self.dir.anchor.iter().cloned().chain(own).collect();
        let position = (!is_cut).then_some(Position { anchors, contents });
        *self.counters.position.lock().unwrap_or_else(PoisonError::into_inner) = position;
    }

    /// Looks again whether something can be removed, while there is too much.
    pub(super) fn review(&mut self, settings: &AuditSettings) -> Result<(), AuditError> {
        let mut index = self.lock_index(settings)?;
        self.remove_outdated(&mut index, settings)?;
        self.remember_index(&index);
        Ok(())
    }

    fn open_segment(&self, index: &mut Index, before: Option<&str>) -> Result<Segment, AuditError> {
        let (now, folder) = (self.now(), &self.dir.folder);
        let name = name(&now);
        let header = serde_json::json!({
            "at": now, "event": "opened", "volume": name, "program": self.dir.program,
            "process": std::process::id(), "after": before,
        });
        let header = header.to_string();
        let header = header.trim_start_matches('{').trim_end_matches('}');
        let seal = self.dir.seal.clone();
        let segment = Segment::create(folder, name.clone(), seal, header.as_bytes())?;
        // A segment that is there and not in the list would be taken for one that was put there.
        let recorded =
            index.note(&Entry::new(now, Event::Opened, &name)).and_then(|()| index.sync());
        if recorded.is_err() {
            let _ = std::fs::remove_file(folder.join(&name));
        }
        recorded.map(|()| segment)
    }

    /// Makes the name of the segment durable too, once; a file without one is lost.
    pub(super) fn sync_directory(&mut self) -> Result<(), AuditError> {
        let folder = &self.dir.folder;
        if !self.is_directory_synced {
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(AuditError::write(folder))?;
            self.is_directory_synced = true;
        }
        Ok(())
    }

    /// Ends the segment that is open, if one is.
    pub(super) fn close(&mut self) -> Result<(), AuditError> {
        let now = self.now();
        let Some(segment) = &mut self.segment else { return Ok(()) };
        let footer = format!("\"at\":\"{now}\",\"event\":\"closed\"\n");
        segment.append(footer.as_bytes(), self.dropped)?;
        self.dropped = 0;
        segment.sync()?;
        let mut index = self.lock_index(&self.settings())?;
        if let Some(segment) = self.segment.take() {
            let end = Some(segment.end());
            index.note(&Entry { end, ..Entry::new(now, Event::Closed, &segment.name) })?;
            index.sync()?;
        }
        self.unsynced = None;
        self.remember_index(&index);
        Ok(())
    }

    /// Notes where those segments end whose program is gone, so that they cannot become shorter.
    fn close_abandoned(&self, index: &mut Index) -> Result<(), AuditError> {
        let segments = &index.contents.segments;
        let unended = segments.iter().filter(|(_, it)| it.end.is_none() && !it.is_removed);
        let unended: Vec<String> = unended.map(|(name, _)| name.clone()).collect();
        for name in unended {
            let path = self.dir.folder.join(&name);
            if !is_left(&path) {
                continue;
            }
            let Ok(text) = std::fs::read(&path) else { continue };
            let inspection = inspect(&self.dir.seal, &text);
            for finding in &inspection.findings {
                tracing::error!(volume = name, "the audit record is damaged: {finding}");
            }
            let end = End {
                lines: inspection.lines,
                bytes: text.len() as u64,
                last: to_hex(&inspection.last),
                rest: rest(&self.dir.seal, &inspection.last, inspection.rest),
            };
            let written = path.metadata().and_then(|about| about.modified()).ok();
            let to = written.map(|written| (self.dir.stamp)(written));
            let entry = Entry { end: Some(end), to, ..Entry::new(self.now(), Event::Left, &name) };
            index.note(&entry)?;
        }
        Ok(())
    }

    /// Removes what was kept for long enough, and says so when that is too little.
    fn remove_outdated(
        &mut self,
        index: &mut Index,
        settings: &AuditSettings,
    ) -> Result<(), AuditError> {
        let candidates = index.contents.segments.iter().filter(|(_, fate)| !fate.is_removed);
        let candidates = candidates.filter_map(|(name, fate)| {
            let about = self.dir.folder.join(name).metadata().ok()?;
            Some(Candidate {
                name: name.clone(),
                bytes: about.len(),
                written: about.modified().ok()?,
                has_ended: fate.end.is_some(),
            })
        });
        let Outdated { gone, is_over } =
            outdated(candidates.collect(), settings, SystemTime::now());
        for (name, why) in gone {
            // Noted first: a segment that is gone and not noted would be missed.
            index.note(&self.removal(index, &name, why))?;
            index.sync()?;
            let path = self.dir.folder.join(&name);
            std::fs::remove_file(&path).map_err(AuditError::write(path))?;
        }
        self.report_size(is_over, settings);
        Ok(())
    }

    /// What is kept of a segment that is removed.
    fn removal(&self, index: &Index, name: &str, why: &str) -> Entry {
        let fate = index.contents.segments.get(name).cloned().unwrap_or_default();
        Entry {
            why: Some(why.to_owned()),
            end: fate.end,
            from: Some(fate.opened),
            to: Some(fate.written),
            ..Entry::new(self.now(), Event::Removed, name)
        }
    }

    fn report_size(&mut self, is_over: bool, settings: &AuditSettings) {
        self.review_at = is_over.then(|| Instant::now() + settings.review);
        let was_over = self.counters.is_over.swap(is_over, Ordering::Relaxed);
        if is_over && !was_over {
            tracing::error!(
                size = settings.size,
                "the audit log is larger than `audit.size`, and what is in it is too young to be \
                 removed (`audit.minAge`); make room for it, raise the size, or export it and lower \
                 the age"
            );
        } else if was_over && !is_over {
            tracing::info!("the audit log is within `audit.size` again");
        }
    }
}

/// Whether the program that wrote a segment is gone: a living one has it locked.
pub(in crate::audit_log) fn is_left(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock_shared().is_ok())
}

/// The code of what stands after the last whole line.
pub(in crate::audit_log) fn rest(seal: &Seal, last: &Mac, rest: &[u8]) -> Option<String> {
    (!rest.is_empty()).then(|| to_hex(&seal.mac(last, rest)))
}
