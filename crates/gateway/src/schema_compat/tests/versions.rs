//! What a change demands of a version.

use super::super::{ChangeClass, demanded, suffices};
use crate::version::Version;

fn version(text: &str) -> Version {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn least_versions() {
    let cases = [
        ("1.2.3", ChangeClass::Patch, "1.2.4"),
        ("1.2.3", ChangeClass::Minor, "1.3.0"),
        ("1.2.3", ChangeClass::Major, "2.0.0"),
        ("0.2.3", ChangeClass::Patch, "0.2.4"),
        ("0.2.3", ChangeClass::Minor, "0.2.4"),
        ("0.2.3", ChangeClass::Major, "0.3.0"),
        ("0.0.3", ChangeClass::Major, "0.1.0"),
        ("1.2.3+build", ChangeClass::Patch, "1.2.4"),
        ("1.0.0-dev", ChangeClass::Major, "1.0.0-dev"),
        ("18446744073709551615.0.0", ChangeClass::Major, "18446744073709551615.0.0"),
    ];
    for (old, class, expected) in cases {
        assert_eq!(demanded(&version(old), class).to_string(), expected, "{old} {class}");
    }
}

#[test]
fn rises() {
    let (patch, minor, major) =
        (Some(ChangeClass::Patch), Some(ChangeClass::Minor), Some(ChangeClass::Major));
    let cases = [
        ("1.2.3", "1.2.3", None, true),
        ("1.2.3", "1.2.4", None, true),
        ("1.2.3", "1.2.2", None, false),
        ("1.2.3", "1.2.3-rc.1", None, false),
        ("1.2.3", "1.2.3+other", None, true),
        ("1.2.3", "1.2.3", patch, false),
        ("1.2.3", "1.2.3+other", patch, false),
        ("1.2.3", "1.2.4", patch, true),
        ("1.2.3", "1.3.0", patch, true),
        ("1.2.3", "1.2.4", minor, false),
        ("1.2.3", "1.3.0", minor, true),
        ("1.2.3", "1.4.7", minor, true),
        ("1.2.3", "2.0.0", minor, true),
        ("1.2.3", "1.3.0", major, false),
        ("1.2.3", "2.0.0", major, true),
        ("1.2.3", "0.9.0", major, false),
        ("1.2.3", "2.0.0-rc.1", major, true),
        ("1.2.3", "1.3.0-rc.1", minor, true),
        ("1.2.3", "1.3.0-rc.1", major, false),
        ("0.2.3", "0.2.4", minor, true),
        ("0.2.3", "0.2.4", major, false),
        ("0.2.3", "0.3.0", major, true),
        ("0.2.3", "1.0.0", major, true),
        ("1.0.0-dev", "1.0.0-dev", major, true),
        ("1.0.0-dev", "1.0.0-rc.1", major, true),
        ("1.0.0-dev", "1.0.0", major, true),
        ("1.0.0-dev", "1.0.0-alpha", major, false),
        ("1.0.0-dev", "0.9.0", patch, false),
        ("1.0.0", "1.0.0-dev", patch, false),
        ("18446744073709551615.0.0", "18446744073709551615.0.0", major, false),
    ];
    for (old, new, class, expected) in cases {
        let holds = suffices(&version(old), &version(new), class);
        assert_eq!(holds, expected, "{old} {new} {class:?}");
    }
}
