//! The rules of `deny.toml` for everything that is linked on this machine: licences, versions that
//! occur twice, banned crates and sources. The file is in cargo-deny's format; this reads the part
//! that is used here, refuses keys it does not know, and knows nothing of security advisories.

mod licence;
mod rules;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::fuzz;
use crate::process;
use crate::steps;
use crate::workspace;
use rules::Rules;

/// What cargo says about one package.
#[derive(Debug, Default)]
struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    /// Absent for our own crates.
    source: Option<String>,
}

/// Checks the whole dependency graph of this machine's target.
pub(crate) fn run(root: &Path) -> Outcome {
    let rules = rules::parse(&workspace::read(&root.join("deny.toml"))?)?;
    let host = fuzz::host()?;
    let metadata = process::capture(process::cargo(root).args([
        "metadata",
        "--format-version",
        "1",
        "--filter-platform",
        &host,
    ]))?;
    let packages = parse_metadata(&metadata)?;
    let complaints = complaints(&packages, &rules);
    if complaints.is_empty() {
        steps::note(&format!("{} packages", packages.len()));
        return Ok(());
    }
    Err(Failure::new(format!("deny.toml is not met:\n{}", complaints.join("\n"))))
}

fn parse_metadata(metadata: &str) -> Outcome<Vec<Package>> {
    let document: Value = serde_json::from_str(metadata)
        .map_err(|source| Failure::new(format!("`cargo metadata`: {source}")))?;
    let packages = document.get("packages").and_then(Value::as_array);
    let packages = packages.ok_or_else(|| Failure::new("`cargo metadata` names no packages"))?;
    Ok(packages.iter().map(parse_package).collect())
}

fn parse_package(package: &Value) -> Package {
    let text = |key: &str| package.get(key).and_then(Value::as_str).map(str::to_owned);
    Package {
        name: text("name").unwrap_or_default(),
        version: text("version").unwrap_or_default(),
        licence: text("license"),
        source: text("source"),
    }
}

/// One line for each breach.
fn complaints(packages: &[Package], rules: &Rules) -> Vec<String> {
    let mut complaints = duplicates(packages, rules);
    for package in packages {
        let label = format!("{} {}", package.name, package.version);
        match package.licence.as_deref() {
            None => complaints.push(format!("{label} names no licence")),
            Some(expression) if !licence::is_allowed(expression, &rules.licences) => {
                complaints.push(format!("{label} has the licence `{expression}`"));
            }
            Some(_) => {}
        }
        if let Some(reason) = rules.banned.get(&package.name) {
            complaints.push(format!("{label} is banned: {reason}"));
        }
        if package.source.as_deref().is_some_and(|source| !source.starts_with("registry+")) {
            complaints.push(format!("{label} does not come from the registry"));
        }
    }
    complaints
}

/// Crates in several versions that no entry of `skip` explains, and entries that explain nothing.
fn duplicates(packages: &[Package], rules: &Rules) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    versions.retain(|_, found| found.len() > 1);
    let stale = rules.tolerated.iter().filter(|name| !versions.contains_key(name.as_str()));
    let stale = stale.map(|name| format!("{name} occurs once: take it out of `bans.skip`"));
    let unexplained = versions.iter().filter(|(name, _)| !rules.tolerated.contains(**name));
    let unexplained =
        unexplained.map(|(name, found)| format!("{name} occurs as {}", found.join(" and ")));
    unexplained.chain(stale).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        [licenses]
        allow = ["MIT"]
        [bans]
        multiple-versions = "deny"
        deny = [{ crate = "openssl", reason = "rustls is used" }]
        [sources]
        unknown-git = "deny"
    "#;

    fn package(name: &str, version: &str, licence: Option<&str>, source: Option<&str>) -> Package {
        Package {
            name: name.to_owned(),
            version: version.to_owned(),
            licence: licence.map(str::to_owned),
            source: source.map(str::to_owned),
        }
    }

    #[test]
    fn each_breach_is_told() {
        let rules = rules::parse(RULES).expect("the rules are well-formed");
        let cases = [
            (package("a", "1", Some("MIT"), Some("registry+x")), None),
            (package("a", "1", Some("MIT"), None), None),
            (package("a", "1", Some("GPL-3.0"), None), Some("a 1 has the licence `GPL-3.0`")),
            (package("a", "1", None, None), Some("a 1 names no licence")),
            (
                package("openssl", "1", Some("MIT"), None),
                Some("openssl 1 is banned: rustls is used"),
            ),
            (
                package("a", "1", Some("MIT"), Some("git+x")),
                Some("a 1 does not come from the registry"),
            ),
        ];
        for (package, expected) in cases {
            let found = complaints(std::slice::from_ref(&package), &rules);
            assert_eq!(found, Vec::from_iter(expected), "{package:?}");
        }
    }

    #[test]
    fn two_versions_are_a_duplicate_unless_skipped() {
        let skip = "deny\"\nskip = [{ crate = \"old\", reason = \"x\" }, { crate = \"b\", reason = \"y\" }]";
        let text = RULES.replacen("deny\"", skip, 1);
        let rules = rules::parse(&text).expect("the rules are well-formed");
        let packages = [("a", "1"), ("a", "2"), ("b", "1"), ("old", "1"), ("old", "2")]
            .map(|(name, version)| package(name, version, None, None));
        assert_eq!(
            duplicates(&packages, &rules),
            ["a occurs as 1 and 2", "b occurs once: take it out of `bans.skip`"]
        );
    }
}
