//! Why a version of a tool is refused, and what to do about it.

use gantry_gateway::{ChangeClass, DefinitionChange, EntryError, Version, demanded};

use super::KnownVersion;
use crate::scripts::manifest::{Manifest, Problem, line_of};
use crate::scripts::served_versions::command;

pub(super) fn differs_from_served(
    manifest: &Manifest,
    newer: &KnownVersion,
    changes: &[DefinitionChange],
) -> Problem {
    let (name, version, served) = (&manifest.name, &manifest.version, &newer.version);
    let what = changes.first().map_or("its definition differs_from_served", |it| it.text.as_str());
    let text = format!(
        "`{name}` {version} differs_from_served from {served}, which was served before, more than the versions \
         say ({what})"
    );
    let class = changes.first().map_or(ChangeClass::Patch, |it| it.class);
    let advice = format!("give it a version above {served}: {}", demanded(served, class));
    Problem::new(&manifest.source, line_of(manifest, "version"), text, advice)
}

pub(super) fn other_command(manifest: &Manifest, served: &KnownVersion) -> Problem {
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

pub(super) fn version_taken(manifest: &Manifest, other: &Manifest) -> Problem {
    let (name, version) = (&manifest.name, &manifest.version);
    let text =
        format!("version {version} of `{name}` is version_taken by {}", other.source.display());
    let advice = "give one of the two another name, or the newer one a higher version";
    Problem::new(&manifest.source, line_of(manifest, "name"), text, advice)
}

pub(super) fn version_fell(manifest: &Manifest, above: &Version) -> Problem {
    let (name, version) = (&manifest.name, &manifest.version);
    let text = format!("the version of `{name}` fell from {above} to {version}");
    let advice = format!("raise it above {above}; until then the old definition is in force");
    Problem::new(&manifest.source, line_of(manifest, "version"), text, advice)
}

pub(super) fn version_too_low(
    manifest: &Manifest,
    before: &KnownVersion,
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

pub(super) fn invalid_entry(manifest: &Manifest, error: &EntryError) -> Problem {
    let member = match error {
        EntryError::Schema { member, .. } => member,
        EntryError::Header { .. } => "inputSchema",
        _ => "name",
    };
    let text = error.to_string();
    Problem::new(&manifest.source, line_of(manifest, member), text, "correct it there")
}
