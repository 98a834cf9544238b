//! The registered tools, by name and version, and the rules by which a tool gets in: the same
//! again changes nothing, and another definition needs a version that has risen as the change
//! demands.

use std::collections::BTreeMap;
use std::sync::Arc;

use gantry_gateway::{
    Change, Class, EntryError, Listing, ToolEntry, Version, changes, demanded, suffices,
};

use super::ToolSettings;
use super::manifest::{Manifest, Problem, line_of};

/// The registered tools. It never changes; a change makes a new one.
#[derive(Debug, Default)]
pub(super) struct Registry {
    /// The versions of each tool, the oldest first. The last is the one that is listed.
    tools: BTreeMap<String, Vec<Arc<Registered>>>,
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
        settings: &ToolSettings,
    ) -> (Self, Vec<Refusal>) {
        let mut groups: BTreeMap<&str, Vec<(Version, &Arc<Manifest>)>> = BTreeMap::new();
        for manifest in manifests {
            // A manifest is not made without a version that can be read.
            let version = manifest.version.parse().unwrap_or(Version::new(0, 0, 0));
            groups.entry(&manifest.name).or_default().push((version, manifest));
        }
        let (mut next, mut refused) = (Self::default(), Vec::new());
        for (name, mut group) in groups {
            group.sort_by(|(one, _), (other, _)| one.cmp(other));
            let mut race = Race { before: self.before(name), accepted: Vec::new(), settings };
            for (version, manifest) in group {
                if let Err(problem) = race.enter(version, manifest) {
                    refused.push((manifest.clone(), problem));
                }
            }
            let kept = race.finish();
            if !kept.is_empty() {
                next.tools.insert(name.to_owned(), kept);
            }
        }
        (next, refused)
    }

    fn before(&self, name: &str) -> &[Arc<Registered>] {
        self.tools.get(name).map_or(&[], Vec::as_slice)
    }
}

/// The versions of one tool that want to get in, the lowest first.
struct Race<'a> {
    before: &'a [Arc<Registered>],
    accepted: Vec<Arc<Registered>>,
    settings: &'a ToolSettings,
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
        let known = || self.before.iter().chain(&self.accepted);
        let below = known().filter(|it| it.version <= new.version);
        if let Some(below) = below.max_by(|one, other| one.version.cmp(&other.version)) {
            new.check_rise(below)?;
        } else if let Some(above) = known().find(|it| it.manifest.source == manifest.source) {
            return Err(fallen(manifest, &above.manifest));
        }
        Ok(Arc::new(new))
    }

    /// The accepted ones, as many as are kept.
    fn finish(mut self) -> Vec<Arc<Registered>> {
        self.accepted.sort_by(|one, other| one.version.cmp(&other.version));
        let kept = self.settings.older_versions.saturating_add(1);
        let surplus = self.accepted.len().saturating_sub(kept);
        self.accepted.split_off(surplus)
    }
}

impl Registered {
    fn new(
        version: Version,
        manifest: &Arc<Manifest>,
        settings: &ToolSettings,
    ) -> Result<Self, Problem> {
        let entry = ToolEntry::new(manifest.definition());
        let mut entry = entry.map_err(|error| unfit(manifest, &error))?;
        entry.timeout = Some(settings.deadline_of(manifest));
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

    /// Whether the version has risen as the change demands.
    fn check_rise(&self, before: &Self) -> Result<(), Problem> {
        let changes = changes(&before.entry.definition, &self.entry.definition);
        let class = changes.first().map(|worst| worst.class);
        if suffices(&before.version, &self.version, class) {
            return Ok(());
        }
        Err(unrisen(&self.manifest, before, class.unwrap_or(Class::Patch), &changes))
    }
}

fn taken(manifest: &Manifest, other: &Manifest) -> Problem {
    let (name, version) = (&manifest.name, &manifest.version);
    let text = format!("version {version} of `{name}` is taken by {}", other.source.display());
    let advice = "give one of the two another name, or the newer one a higher version";
    Problem::new(&manifest.source, line_of(manifest, "name"), text, advice)
}

fn fallen(manifest: &Manifest, above: &Manifest) -> Problem {
    let (name, version) = (&manifest.name, &manifest.version);
    let text = format!("the version of `{name}` fell from {} to {version}", above.version);
    let advice = "raise it, or take the tool away first; until then the old definition is in force";
    Problem::new(&manifest.source, line_of(manifest, "version"), text, advice)
}

fn unrisen(manifest: &Manifest, before: &Registered, class: Class, changes: &[Change]) -> Problem {
    let what = changes.first().map_or("its definition changed", |change| change.text.as_str());
    let more = match changes.len() {
        0 | 1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let (name, version) = (&manifest.name, &manifest.version);
    let text = if *version == before.manifest.version {
        format!("`{name}` has changed ({what}{more}), but its version is still {version}")
    } else {
        let earlier = &before.version;
        format!(
            "from {earlier} to {version} `{name}` changes more than its version says ({what}{more})"
        )
    };
    let advice = format!(
        "raise the version to {} or above; until then the old definition is in force",
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
