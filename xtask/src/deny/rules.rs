//! The part of cargo-deny's configuration that is used here. An unknown key is an error: a rule
//! that is written down and not enforced would be worse than none.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use crate::failure::{Failure, Outcome};

/// What `deny.toml` says.
pub(super) struct Rules {
    pub(super) licences: BTreeSet<String>,
    /// Banned crates, each with the reason.
    pub(super) banned: BTreeMap<String, String>,
    /// Crates that may occur in several versions.
    pub(super) tolerated: BTreeSet<String>,
}

/// Reads the file's text.
pub(super) fn parse(text: &str) -> Outcome<Rules> {
    let document: Table = text.parse().map_err(|source| wrong(&format!("{source}")))?;
    let licences = section(&document, "licenses", &["allow"])?;
    let bans = section(&document, "bans", &["multiple-versions", "deny", "skip"])?;
    let sources = section(&document, "sources", &["unknown-git"])?;
    if let Some(unknown) =
        document.keys().find(|key| !["licenses", "bans", "sources"].contains(&key.as_str()))
    {
        return Err(wrong(&format!("unknown section `{unknown}`")));
    }
    require_deny(bans, "multiple-versions")?;
    require_deny(sources, "unknown-git")?;
    let allow = licences.get("allow").and_then(Value::as_array).into_iter().flatten();
    Ok(Rules {
        licences: allow.filter_map(Value::as_str).map(str::to_owned).collect(),
        banned: crates(bans, "deny")?,
        tolerated: crates(bans, "skip")?.into_keys().collect(),
    })
}

fn section<'a>(document: &'a Table, name: &str, known: &[&str]) -> Outcome<&'a Table> {
    let table = document.get(name).and_then(Value::as_table);
    let table = table.ok_or_else(|| wrong(&format!("no section `{name}`")))?;
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(table),
        Some(unknown) => Err(wrong(&format!("unknown key `{name}.{unknown}`"))),
    }
}

/// These rules have no softer form here.
fn require_deny(table: &Table, key: &str) -> Outcome {
    if table.get(key).and_then(Value::as_str) == Some("deny") {
        return Ok(());
    }
    Err(wrong(&format!("`{key}` must be \"deny\"")))
}

/// A list of `{ crate = "NAME", reason = "WHY" }`.
fn crates(bans: &Table, key: &str) -> Outcome<BTreeMap<String, String>> {
    let entries = bans.get(key).and_then(Value::as_array).into_iter().flatten();
    let pair = |entry: &Value| {
        let text = |key: &str| Some(entry.get(key)?.as_str()?.to_owned());
        text("crate")
            .zip(text("reason"))
            .ok_or_else(|| wrong(&format!("an entry of `bans.{key}` lacks `crate` or `reason`")))
    };
    entries.map(pair).collect()
}

fn wrong(what: &str) -> Failure {
    Failure::new(format!("deny.toml: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[licenses]\nallow = [\"MIT\"]\n[bans]\nmultiple-versions = \"deny\"\n[sources]\nunknown-git = \"deny\"\n";

    #[test]
    fn a_minimal_file_is_read() {
        let rules = parse(GOOD).expect("it is well-formed");
        assert!(rules.licences.contains("MIT"));
        assert!(rules.banned.is_empty() && rules.tolerated.is_empty());
    }

    #[test]
    fn faults_are_named() {
        let cases = [
            (GOOD.replacen("\"deny\"", "\"warn\"", 1), "multiple-versions"),
            (GOOD.replace("unknown-git = \"deny\"", ""), "unknown-git"),
            (GOOD.replace("allow =", "exceptions ="), "licenses.exceptions"),
            (format!("{GOOD}[advisories]\n"), "advisories"),
            (GOOD.replace("[bans]", "[bans]\ndeny = [{ crate = \"a\" }]"), "bans.deny"),
            ("[bans]\n".to_owned(), "no section `licenses`"),
            ("[".to_owned(), "deny.toml"),
        ];
        for (text, expected) in cases {
            let failure = parse(&text).err().map(|failure| failure.to_string()).unwrap_or_default();
            assert!(failure.contains(expected), "{text}: {failure}");
        }
    }
}
