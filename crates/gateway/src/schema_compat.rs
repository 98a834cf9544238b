//! Schema compatibility: what changed between two definitions of a tool, and which version bump that demands.
//!
//! Pure: nothing is fetched or stored. What cannot be shown to be compatible counts as breaking.

mod choice;
mod comparison;
mod definition;
mod document;
mod kinds;
mod node;
mod number;
mod object;
mod place;
mod value;

use std::fmt;

use crate::version::Version;

pub use self::definition::changes;

/// How far a change reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeClass {
    /// Texts for people; no caller notices.
    Patch,
    /// Whoever called before can go on unchanged.
    Minor,
    /// What held before no longer does, or cannot be shown to.
    Major,
}

impl fmt::Display for ChangeClass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Patch => "patch",
            Self::Minor => "minor",
            Self::Major => "major",
        })
    }
}

/// One difference between two definitions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionChange {
    /// How far it reaches.
    pub class: ChangeClass,
    /// Where it stands: `inputSchema.properties.text.type`.
    pub place: String,
    /// What happened: "the parameter `text` is now required".
    pub text: String,
}

/// The least release that suffices after a change.
///
/// Before 1.0.0 a breaking change raises the second number and any other the third. A pre-release
/// promises nothing yet, so it suffices as it is.
///
/// ```
/// use gantry_gateway::{ChangeClass, Version, demanded};
/// assert_eq!(demanded(&Version::new(1, 4, 2), ChangeClass::Minor), Version::new(1, 5, 0));
/// ```
pub fn demanded(old: &Version, class: ChangeClass) -> Version {
    if old.is_pre_release() {
        return old.clone();
    }
    let (major, minor, patch) = old.numbers();
    match (major, class) {
        (1.., ChangeClass::Major) => Version::new(major.saturating_add(1), 0, 0),
        (1.., ChangeClass::Minor) | (0, ChangeClass::Major) => {
            Version::new(major, minor.saturating_add(1), 0)
        }
        _ => Version::new(major, minor, patch.saturating_add(1)),
    }
}

/// Whether the version rises as a change demands; it never may fall.
///
/// A pre-release may change freely as long as its numbers stay, and a pre-release of the demanded
/// numbers suffices: `2.0.0-rc.1` announces a breaking change as well as `2.0.0`.
pub fn suffices(old: &Version, new: &Version, class: Option<ChangeClass>) -> bool {
    let Some(class) = class else { return new >= old };
    if old.is_pre_release() {
        return new >= old;
    }
    new > old && new.numbers() >= demanded(old, class).numbers()
}

#[cfg(test)]
mod tests;
