//! The registry of tools that are programs, by name and version. It is an immutable value: a
//! change makes a new one.
//!
//! The rules, in order of version for each name: registering the same definition again changes
//! nothing; two files that describe one version must agree; under one version only texts may
//! change; any other change needs a version bump of the size that `gateway/schema_compat` demands.
//! Versions that were served before count as if they were in force, also those of earlier runs. A
//! refused version leaves its predecessor in force and touches no other tool.

mod refusals;

use std::collections::BTreeMap;
use std::sync::Arc;

use gantry_gateway::{
    ChangeClass, Listing, SortedMap, ToolEntry, ToolVersions, Version, changes, suffices,
};
use gantry_protocol::RawJson;

use super::ToolSettings;
use super::manifest::{Manifest, Problem};
use super::served_versions::{ServedTools, command};
use refusals::{
    differs_from_served, invalid_entry, other_command, version_fell, version_taken, version_too_low,
};

/// The registered tools. It never changes; a change makes a new one.
#[derive(Debug, Default)]
pub(super) struct Registry {
    /// The versions of each tool, the oldest first. The last is the one that is listed.
    tools: SortedMap<Arc<[Arc<Registered>]>>,
}

/// One version of a tool.
#[derive(Debug)]
pub(super) struct Registered {
    pub(super) manifest: Arc<Manifest>,
    entry: Arc<ToolEntry>,
    version: Version,
}

/// A tool that did not get in, and why.
pub(super) type Refusal = (Arc<Manifest>, Problem);

impl Registry {
    /// How many tools there are, each counted once whatever its versions.
    pub(super) fn count(&self) -> usize {
        self.tools.len()
    }

    /// Every version of every tool, the newest of each first.
    pub(super) fn manifests(&self) -> impl Iterator<Item = &Arc<Manifest>> {
        self.tools.values().flat_map(|versions| versions.iter().rev().map(|it| &it.manifest))
    }

    /// Every version of one tool.
    pub(super) fn manifests_of(&self, name: &str) -> Vec<Arc<Manifest>> {
        self.before(name).iter().map(|it| it.manifest.clone()).collect()
    }

    /// What clients are shown of one tool.
    pub(super) fn versions(&self, name: &str) -> ToolVersions {
        let entry = |it: &Arc<Registered>| it.entry.clone();
        let versions = self.before(name);
        let older = versions.split_last().map_or(&[][..], |(_, older)| older);
        ToolVersions {
            name: name.to_owned(),
            listed: versions.last().map(entry),
            older: older.iter().map(entry).collect(),
        }
    }

    /// A version of a tool.
    pub(super) fn find(&self, name: &str, version: &str) -> Option<Arc<Manifest>> {
        let versions = self.tools.get(name)?.iter();
        let mut found = versions.map(|it| &it.manifest).filter(|it| it.version == version);
        found.next().cloned()
    }

    /// What clients are shown: the newest of each, and the older ones for those who ask by number.
    pub(super) fn listing(&self) -> Listing {
        let mut listing = Listing::default();
        for versions in self.tools.values() {
            if let Some((newest, older)) = versions.split_last() {
                listing.tools.push(newest.entry.clone());
                listing.older.extend(older.iter().map(|it| it.entry.clone()));
            }
        }
        listing
    }

    /// The registry that holds just these. What may not get in is refused, and what it wanted to
    /// replace stays.
    pub(super) fn rebuild(
        &self,
        manifests: &[Arc<Manifest>],
        served: &mut ServedTools,
        settings: &ToolSettings,
    ) -> (Self, Vec<Refusal>) {
        let mut groups: BTreeMap<&str, Vec<Arc<Manifest>>> = BTreeMap::new();
        for manifest in manifests {
            groups.entry(&manifest.name).or_default().push(manifest.clone());
        }
        let (mut tools, mut refused) = (Vec::new(), Vec::new());
        for (name, group) in groups {
            let kept = self.accept_versions(name, &group, served, settings, &mut refused);
            if !kept.is_empty() {
                tools.push((name.into(), kept.into()));
            }
        }
        (Self { tools: SortedMap::new(tools) }, refused)
    }

    /// The same where only the tools of one name may have changed. That costs the same however many
    /// there are.
    pub(super) fn rebuild_one(
        &self,
        name: &str,
        manifests: &[Arc<Manifest>],
        served: &mut ServedTools,
        settings: &ToolSettings,
    ) -> (Self, Vec<Refusal>) {
        let (mut tools, mut refused) = (self.tools.clone(), Vec::new());
        let kept = self.accept_versions(name, manifests, served, settings, &mut refused);
        match kept.is_empty() {
            true => drop(tools.remove(name)),
            false => drop(tools.insert(name.into(), kept.into())),
        }
        (Self { tools }, refused)
    }

    /// The versions of one tool that get in.
    fn accept_versions(
        &self,
        name: &str,
        manifests: &[Arc<Manifest>],
        served: &mut ServedTools,
        settings: &ToolSettings,
        refused: &mut Vec<Refusal>,
    ) -> Vec<Arc<Registered>> {
        // A manifest is not made without a version that can be read.
        let version = |it: &Manifest| it.version.parse().unwrap_or(Version::new(0, 0, 0));
        let mut group: Vec<_> = manifests.iter().map(|it| (version(it), it)).collect();
        group.sort_by(|(one, _), (other, _)| one.cmp(other));
        let newest = group.last().map(|(version, _)| version.clone());
        let (before, accepted) = (self.before(name), Vec::new());
        let mut admission = VersionAdmission { before, accepted, newest, served, settings };
        for (version, manifest) in group {
            if let Err(problem) = admission.add(version, manifest) {
                refused.push((manifest.clone(), problem));
            }
        }
        admission.finish()
    }

    fn before(&self, name: &str) -> &[Arc<Registered>] {
        self.tools.get(name).map_or(&[], |versions| versions)
    }
}

/// The versions of one tool that want to get in, the lowest first.
struct VersionAdmission<'a> {
    before: &'a [Arc<Registered>],
    accepted: Vec<Arc<Registered>>,
    /// The newest that wants to get in.
    newest: Option<Version>,
    served: &'a mut ServedTools,
    settings: &'a ToolSettings,
}

/// A version that is or was in force.
struct KnownVersion {
    version: Version,
    command: String,
    definition: RawJson,
}

impl VersionAdmission<'_> {
    fn add(&mut self, version: Version, manifest: &Arc<Manifest>) -> Result<(), Problem> {
        if let Some(other) = self.accepted.iter().find(|it| it.version == version) {
            return other.check_same_definition(manifest);
        }
        let mut before = self.before.iter();
        if let Some(same) = before.find(|it| Arc::ptr_eq(&it.manifest, manifest)) {
            self.accepted.push(same.clone());
            return Ok(());
        }
        let judged = self.check(version, manifest);
        let stays = || self.before.iter().find(|it| it.manifest.source == manifest.source);
        match &judged {
            Ok(registered) => self.accepted.push(registered.clone()),
            Err(_) => self.accepted.extend(stays().filter(|it| !self.has(&it.version)).cloned()),
        }
        judged.map(drop)
    }

    fn has(&self, version: &Version) -> bool {
        self.accepted.iter().any(|it| it.version == *version)
    }

    fn check(
        &self,
        version: Version,
        manifest: &Arc<Manifest>,
    ) -> Result<Arc<Registered>, Problem> {
        let new = Registered::new(version, manifest, self.settings)?;
        let known = self.known(manifest);
        if let Some(same) = known.iter().find(|it| it.version == new.version) {
            new.check_same(same)?;
            return Ok(Arc::new(new));
        }
        let newest = |one: &&KnownVersion, other: &&KnownVersion| one.version.cmp(&other.version);
        let below = known.iter().filter(|it| it.version < new.version).max_by(newest);
        let above = known.iter().filter(|it| it.version > new.version).min_by(newest);
        if let Some(below) = below {
            new.check_rise(below)?;
        }
        if let Some(above) = above {
            // It takes the place of a newer one, and was never served itself.
            let replaced = self.before.iter().chain(&self.accepted);
            let mut replaced = replaced.filter(|it| it.version > new.version);
            if replaced.any(|it| it.manifest.source == manifest.source) {
                return Err(version_fell(manifest, &above.version));
            }
            new.check_fits_below(above)?;
            let top = known.iter().max_by(newest).unwrap_or(above);
            if self.newest.as_ref() == Some(&new.version) {
                new.check_replaces(top)?;
            }
        }
        Ok(Arc::new(new))
    }

    /// The versions that are in force, those that got in already, and those that were served.
    fn known(&self, manifest: &Manifest) -> Vec<KnownVersion> {
        let mut known: Vec<KnownVersion> = Vec::new();
        let in_force = self.accepted.iter().chain(self.before).map(|it| KnownVersion {
            version: it.version.clone(),
            command: command(&it.manifest),
            definition: it.entry.definition.clone(),
        });
        let served = self.served.of(manifest).iter().map(|it| KnownVersion {
            version: it.version.clone(),
            command: it.command.clone(),
            definition: it.definition.clone(),
        });
        for version in in_force.chain(served) {
            if known.iter().all(|it| it.version != version.version) {
                known.push(version);
            }
        }
        known
    }

    /// The accepted ones, as many as are kept.
    fn finish(mut self) -> Vec<Arc<Registered>> {
        self.accepted.sort_by(|one, other| one.version.cmp(&other.version));
        let kept = self.settings.older_versions.saturating_add(1);
        let surplus = self.accepted.len().saturating_sub(kept);
        let kept = self.accepted.split_off(surplus);
        for it in &kept {
            self.served.note(&it.manifest, &it.version, &it.entry.definition);
        }
        kept
    }
}

impl Registered {
    fn new(
        version: Version,
        manifest: &Arc<Manifest>,
        settings: &ToolSettings,
    ) -> Result<Self, Problem> {
        if let Some(warning) = manifest.warnings.first().filter(|_| settings.strict) {
            return Err(Problem { is_warning: false, ..warning.clone() });
        }
        let entry = ToolEntry::new(manifest.definition());
        let mut entry = entry.map_err(|error| invalid_entry(manifest, &error))?;
        entry.timeout = Some(settings.deadline_of(manifest));
        entry.written = manifest.written.as_deref().map(Arc::from);
        entry.cache_ttl = manifest.cache_ttl();
        Ok(Self { manifest: manifest.clone(), entry: Arc::new(entry), version })
    }

    /// Two files may tell of one tool, such as a script and its specification document. Neither
    /// is in the way of the other when they agree.
    fn check_same_definition(&self, manifest: &Manifest) -> Result<(), Problem> {
        let told = &self.manifest;
        let same = told.command == manifest.command
            && told.args == manifest.args
            && changes(&self.entry.definition, &manifest.definition()).is_empty();
        if same { Ok(()) } else { Err(version_taken(manifest, told)) }
    }

    /// Whether this is what was served under the version. Texts may differ: no caller notices.
    fn check_same(&self, served: &KnownVersion) -> Result<(), Problem> {
        if command(&self.manifest) != served.command {
            return Err(other_command(&self.manifest, served));
        }
        let changes = changes(&served.definition, &self.entry.definition);
        match changes.first() {
            None => Ok(()),
            Some(worst) if worst.class > ChangeClass::Patch => {
                Err(version_too_low(&self.manifest, served, worst.class, &changes))
            }
            Some(change) => {
                let (name, version, what) =
                    (&self.manifest.name, &self.manifest.version, &change.text);
                tracing::info!("`{name}` {version} has a new text: {what}");
                Ok(())
            }
        }
    }

    /// Whether the version has risen as the change demands.
    fn check_rise(&self, before: &KnownVersion) -> Result<(), Problem> {
        let changes = changes(&before.definition, &self.entry.definition);
        let class = changes.first().map(|worst| worst.class);
        if suffices(&before.version, &self.version, class) {
            return Ok(());
        }
        Err(version_too_low(&self.manifest, before, class.unwrap_or(ChangeClass::Patch), &changes))
    }

    /// Whether an older version is one from which the newer one has risen as the change demands.
    fn check_fits_below(&self, above: &KnownVersion) -> Result<(), Problem> {
        let changes = changes(&self.entry.definition, &above.definition);
        let class = changes.first().map(|worst| worst.class);
        if suffices(&self.version, &above.version, class) {
            return Ok(());
        }
        Err(differs_from_served(&self.manifest, above, &changes))
    }

    /// Whether an older version can be listed in the place of a newer one: callers of that must be
    /// able to go on.
    fn check_replaces(&self, newer: &KnownVersion) -> Result<(), Problem> {
        let changes = changes(&newer.definition, &self.entry.definition);
        match changes.first() {
            Some(worst) if worst.class == ChangeClass::Major => {
                Err(differs_from_served(&self.manifest, newer, &changes))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
