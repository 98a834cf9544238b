//! The registered tools, by name and version, and the rules by which a tool gets in: the same
//! again changes nothing, and another definition needs a version that has risen as the change
//! demands.

use std::collections::BTreeMap;
use std::sync::Arc;

use gantry_gateway::{
    ChangeClass, DefinitionChange, EntryError, Listing, SortedMap, ToolEntry, ToolVersions,
    Version, changes, demanded, suffices,
};
use gantry_protocol::RawJson;

use super::ToolSettings;
use super::manifest::{Manifest, Problem, line_of};
use super::served_versions::{ServedTools, command};

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
    pub(super) fn renew(
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
            let kept = self.admit(name, &group, served, settings, &mut refused);
            if !kept.is_empty() {
                tools.push((name.into(), kept.into()));
            }
        }
        (Self { tools: SortedMap::new(tools) }, refused)
    }

    /// The same where only the tools of one name may have changed. That costs the same however many
    /// there are.
    pub(super) fn renew_one(
        &self,
        name: &str,
        manifests: &[Arc<Manifest>],
        served: &mut ServedTools,
        settings: &ToolSettings,
    ) -> (Self, Vec<Refusal>) {
        let (mut tools, mut refused) = (self.tools.clone(), Vec::new());
        let kept = self.admit(name, manifests, served, settings, &mut refused);
        match kept.is_empty() {
            true => drop(tools.remove(name)),
            false => drop(tools.insert(name.into(), kept.into())),
        }
        (Self { tools }, refused)
    }

    /// The versions of one tool that get in.
    fn admit(
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
        let mut race = Race { before, accepted, newest, served, settings };
        for (version, manifest) in group {
            if let Err(problem) = race.enter(version, manifest) {
                refused.push((manifest.clone(), problem));
            }
        }
        race.finish()
    }

    fn before(&self, name: &str) -> &[Arc<Registered>] {
        self.tools.get(name).map_or(&[], |versions| versions)
    }
}

/// The versions of one tool that want to get in, the lowest first.
struct Race<'a> {
    before: &'a [Arc<Registered>],
    accepted: Vec<Arc<Registered>>,
    /// The newest that wants to get in.
    newest: Option<Version>,
    served: &'a mut ServedTools,
    settings: &'a ToolSettings,
}

/// A version that is or was in force.
struct Known {
    version: Version,
    command: String,
    definition: RawJson,
}

impl Race<'_> {
    fn enter(&mut self, version: Version, manifest: &Arc<Manifest>) -> Result<(), Problem> {
        if let Some(other) = self.accepted.iter().find(|it| it.version == version) {
            return other.is_told_again_by(manifest);
        }
        let mut before = self.before.iter();
        if let Some(same) = before.find(|it| Arc::ptr_eq(&it.manifest, manifest)) {
            self.accepted.push(same.clone());
            return Ok(());
        }
        let judged = self.judge(version, manifest);
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

    fn judge(
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
        let newest = |one: &&Known, other: &&Known| one.version.cmp(&other.version);
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
                return Err(fallen(manifest, &above.version));
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
    fn known(&self, manifest: &Manifest) -> Vec<Known> {
        let mut known: Vec<Known> = Vec::new();
        let in_force = self.accepted.iter().chain(self.before).map(|it| Known {
            version: it.version.clone(),
            command: command(&it.manifest),
            definition: it.entry.definition.clone(),
        });
        let served = self.served.of(manifest).iter().map(|it| Known {
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
        let mut entry = entry.map_err(|error| unfit(manifest, &error))?;
        entry.timeout = Some(settings.deadline_of(manifest));
        entry.written = manifest.written.as_deref().map(Arc::from);
        entry.cache_ttl = manifest.cache_ttl();
        Ok(Self { manifest: manifest.clone(), entry: Arc::new(entry), version })
    }

    /// Two files may tell of one tool, such as a script and its specification document. Neither
    /// is in the way of the other when they agree.
    fn is_told_again_by(&self, manifest: &Manifest) -> Result<(), Problem> {
        let told = &self.manifest;
        let same = told.command == manifest.command
            && told.args == manifest.args
            && changes(&self.entry.definition, &manifest.definition()).is_empty();
        if same { Ok(()) } else { Err(taken(manifest, told)) }
    }

    /// Whether this is what was served under the version. Texts may differ: no caller notices.
    fn check_same(&self, served: &Known) -> Result<(), Problem> {
        if command(&self.manifest) != served.command {
            return Err(other_command(&self.manifest, served));
        }
        let changes = changes(&served.definition, &self.entry.definition);
        match changes.first() {
            None => Ok(()),
            Some(worst) if worst.class > ChangeClass::Patch => {
                Err(unrisen(&self.manifest, served, worst.class, &changes))
            }
            Some(change) => {
                let (name, version, what) =
                    (&self.manifest.name, &self.manifest.version, &change.text);
                tracing::info!("`{name}` {version} has another text from now on: {what}");
                Ok(())
            }
        }
    }

    /// Whether the version has risen as the change demands.
    fn check_rise(&self, before: &Known) -> Result<(), Problem> {
        let changes = changes(&before.definition, &self.entry.definition);
        let class = changes.first().map(|worst| worst.class);
        if suffices(&before.version, &self.version, class) {
            return Ok(());
        }
        Err(unrisen(&self.manifest, before, class.unwrap_or(ChangeClass::Patch), &changes))
    }

    /// Whether an older version is one from which the newer one has risen as the change demands.
    fn check_fits_below(&self, above: &Known) -> Result<(), Problem> {
        let changes = changes(&self.entry.definition, &above.definition);
        let class = changes.first().map(|worst| worst.class);
        if suffices(&self.version, &above.version, class) {
            return Ok(());
        }
        Err(differs(&self.manifest, above, &changes))
    }

    /// Whether an older version can be listed in the place of a newer one: callers of that must be
    /// able to go on.
    fn check_replaces(&self, newer: &Known) -> Result<(), Problem> {
        let changes = changes(&newer.definition, &self.entry.definition);
        match changes.first() {
            Some(worst) if worst.class == ChangeClass::Major => {
                Err(differs(&self.manifest, newer, &changes))
            }
            _ => Ok(()),
        }
    }
}

fn differs(manifest: &Manifest, newer: &Known, changes: &[DefinitionChange]) -> Problem {
    let (name, version, served) = (&manifest.name, &manifest.version, &newer.version);
    let what = changes.first().map_or("its definition differs", |it| it.text.as_str());
    let text = format!(
        "`{name}` {version} differs from {served}, which was served before, more than the versions \
         say ({what})"
    );
    let class = changes.first().map_or(ChangeClass::Patch, |it| it.class);
    let advice = format!("give it a version above {served}: {}", demanded(served, class));
    Problem::new(&manifest.source, line_of(manifest, "version"), text, advice)
}

fn other_command(manifest: &Manifest, served: &Known) -> Problem {
    let (name, version) = (&manifest.name, &manifest.version);
    let text = format!(
        "`{name}` {version} was served with another command: {} instead of {}",
        served.command,
        command(manifest)
    );
    let advice = format!(
        "raise the version to {} or above, or restore the command",
        demanded(&served.version, ChangeClass::Patch)
    );
    Problem::new(&manifest.source, line_of(manifest, "version"), text, advice)
}

fn taken(manifest: &Manifest, other: &Manifest) -> Problem {
    let (name, version) = (&manifest.name, &manifest.version);
    let text = format!("version {version} of `{name}` is taken by {}", other.source.display());
    let advice = "give one of the two another name, or the newer one a higher version";
    Problem::new(&manifest.source, line_of(manifest, "name"), text, advice)
}

fn fallen(manifest: &Manifest, above: &Version) -> Problem {
    let (name, version) = (&manifest.name, &manifest.version);
    let text = format!("the version of `{name}` fell from {above} to {version}");
    let advice = format!("raise it above {above}; until then the old definition is in force");
    Problem::new(&manifest.source, line_of(manifest, "version"), text, advice)
}

fn unrisen(
    manifest: &Manifest,
    before: &Known,
    class: ChangeClass,
    changes: &[DefinitionChange],
) -> Problem {
    let what = changes.first().map_or("its definition changed", |change| change.text.as_str());
    let more = match changes.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let (name, version) = (&manifest.name, &manifest.version);
    let text = if *version == before.version.to_string() {
        format!("`{name}` has changed ({what}{more}), but its version is still {version}")
    } else {
        let earlier = &before.version;
        format!(
            "from {earlier} to {version} `{name}` changes more than its version says ({what}{more})"
        )
    };
    let advice = format!(
        "raise the version to {} or above; until then the new definition is not in force",
        demanded(&before.version, class)
    );
    Problem::new(&manifest.source, line_of(manifest, "version"), text, advice)
}

fn unfit(manifest: &Manifest, error: &EntryError) -> Problem {
    let member = match error {
        EntryError::Schema { member, .. } => member,
        EntryError::Header { .. } => "inputSchema",
        _ => "name",
    };
    let text = error.to_string();
    Problem::new(&manifest.source, line_of(manifest, member), text, "correct it there")
}

#[cfg(test)]
mod tests;
