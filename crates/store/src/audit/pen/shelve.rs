//! Volumes come and go: begins one, ends it when it is full, judges those that were left, and
//! removes what was kept for long enough.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::SystemTime;

use super::Pen;
use crate::audit::chain::{Mac, Seal, to_hex};
use crate::audit::error::AuditError;
use crate::audit::index::{End, Entry, Event, Index};
use crate::audit::inspect::inspect;
use crate::audit::retention::{Candidate, outdated};
use crate::audit::settings::AuditSettings;
use crate::audit::volume::{Volume, name};

impl Pen {
    /// Has a volume at hand that is not full.
    pub(super) fn ready(&mut self, settings: &AuditSettings) -> Result<(), AuditError> {
        if self.volume.as_ref().is_some_and(|it| !it.is_full(settings)) {
            return Ok(());
        }
        let before = self.volume.as_ref().map(|volume| volume.end().last);
        self.close()?;
        let folder = &self.shelf.folder;
        let mut options = DirBuilder::new();
        let made = options.recursive(true).mode(0o700).create(folder);
        made.map_err(AuditError::write(folder))?;
        let mut index = Index::hold(folder, self.shelf.seal.clone(), settings.busy)?;
        self.judge_left(&mut index)?;
        self.remove_outdated(&mut index, settings)?;
        if index.length() > settings.index {
            index.renew(&self.now())?;
        }
        self.volume = Some(self.begin(&mut index, before.as_deref())?);
        self.is_named = false;
        Ok(())
    }

    fn begin(&self, index: &mut Index, before: Option<&str>) -> Result<Volume, AuditError> {
        let (now, folder) = (self.now(), &self.shelf.folder);
        let name = name(&now);
        let header = serde_json::json!({
            "at": now, "event": "opened", "volume": name, "program": self.shelf.program,
            "process": std::process::id(), "after": before,
        });
        let header = header.to_string();
        let header = header.trim_start_matches('{').trim_end_matches('}');
        let seal = self.shelf.seal.clone();
        let volume = Volume::create(folder, name.clone(), seal, header.as_bytes())?;
        // A volume that is there and not in the list would be taken for one that was put there.
        let noted = index.note(&Entry::new(now, Event::Opened, &name)).and_then(|()| index.sync());
        if noted.is_err() {
            let _ = std::fs::remove_file(folder.join(&name));
        }
        noted.map(|()| volume)
    }

    /// Makes the name of the volume durable too, once; a file without one is lost.
    pub(super) fn name_durably(&mut self) -> Result<(), AuditError> {
        let folder = &self.shelf.folder;
        if !self.is_named {
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(AuditError::write(folder))?;
            self.is_named = true;
        }
        Ok(())
    }

    /// Ends the volume that is open, if one is.
    pub(super) fn close(&mut self) -> Result<(), AuditError> {
        let now = self.now();
        let Some(volume) = &mut self.volume else { return Ok(()) };
        let footer = format!("\"at\":\"{now}\",\"event\":\"closed\"\n");
        volume.append(footer.as_bytes(), self.dropped)?;
        self.dropped = 0;
        volume.sync()?;
        let busy = self.settings().busy;
        let mut index = Index::hold(&self.shelf.folder, self.shelf.seal.clone(), busy)?;
        if let Some(volume) = self.volume.take() {
            let end = Some(volume.end());
            index.note(&Entry { end, ..Entry::new(now, Event::Closed, &volume.name) })?;
        }
        self.unsynced = None;
        Ok(())
    }

    /// Notes where those volumes end whose program is gone, so that they cannot become shorter.
    fn judge_left(&self, index: &mut Index) -> Result<(), AuditError> {
        let unended = index.volumes.iter().filter(|(_, it)| it.end.is_none() && !it.is_removed);
        let unended: Vec<String> = unended.map(|(name, _)| name.clone()).collect();
        for name in unended {
            let path = self.shelf.folder.join(&name);
            if !is_left(&path) {
                continue;
            }
            let Ok(text) = std::fs::read(&path) else { continue };
            let inspection = inspect(&self.shelf.seal, &text);
            for finding in &inspection.findings {
                tracing::error!(volume = name, "the audit record is damaged: {finding}");
            }
            let end = End {
                lines: inspection.lines,
                bytes: text.len() as u64,
                last: to_hex(&inspection.last),
                rest: rest(&self.shelf.seal, &inspection.last, inspection.rest),
            };
            let entry = Entry { end: Some(end), ..Entry::new(self.now(), Event::Left, &name) };
            index.note(&entry)?;
        }
        Ok(())
    }

    fn remove_outdated(
        &self,
        index: &mut Index,
        settings: &AuditSettings,
    ) -> Result<(), AuditError> {
        let candidates = index.volumes.iter().filter(|(_, fate)| !fate.is_removed);
        let candidates = candidates.filter_map(|(name, fate)| {
            let about = self.shelf.folder.join(name).metadata().ok()?;
            Some(Candidate {
                name: name.clone(),
                bytes: about.len(),
                written: about.modified().ok()?,
                has_ended: fate.end.is_some(),
            })
        });
        for (name, why) in outdated(candidates.collect(), settings, SystemTime::now()) {
            let why = Some(why.to_owned());
            // Noted first: a volume that is gone and not noted would be missed.
            index.note(&Entry { why, ..Entry::new(self.now(), Event::Removed, &name) })?;
            index.sync()?;
            let path = self.shelf.folder.join(&name);
            std::fs::remove_file(&path).map_err(AuditError::write(path))?;
        }
        Ok(())
    }
}

/// Whether the program that wrote a volume is gone: a living one has it locked.
pub(in crate::audit) fn is_left(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| file.try_lock_shared().is_ok())
}

/// The code of what stands after the last whole line.
pub(in crate::audit) fn rest(seal: &Seal, last: &Mac, rest: &[u8]) -> Option<String> {
    (!rest.is_empty()).then(|| to_hex(&seal.mac(last, rest)))
}
