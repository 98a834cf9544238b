//! The layers: which of our crates may know which. Read from the manifests, so that a new edge
//! fails here before anybody gets used to it.

use toml::{Table, Value};

use super::{Complaint, Source};
use crate::failure::{Failure, Outcome};

/// Folders of `crates/` without the prefix `gantry-`, from the bottom up: a crate may use only
/// those before it.
const ORDER: [&str; 12] = [
    "files",
    "protocol",
    "transport",
    "process",
    "client",
    "gateway",
    "policy",
    "server",
    "providers",
    "store",
    "gantry",
    "cli",
];

/// Edges that the order would allow and that are refused all the same.
fn is_refused(from: &str, to: &str) -> bool {
    matches!(from, "store" | "files")
        || (to == "files" && !matches!(from, "providers" | "gantry"))
        || (from == "providers" && to == "server")
        || (to == "policy" && !matches!(from, "gantry" | "cli"))
        // An embedder links no database.
        || (from == "gantry" && to == "store")
        || (from == "policy" && matches!(to, "transport" | "process" | "client"))
}

/// Checks the manifest of every crate.
pub(super) fn check(sources: &[Source]) -> Outcome<Vec<Complaint>> {
    let mut complaints = Vec::new();
    for source in sources {
        let folder =
            source.path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml"));
        if let Some(folder) = folder {
            let name = folder.strip_prefix("gantry-").unwrap_or(folder);
            complaints.extend(check_manifest(source, name)?);
        }
    }
    Ok(complaints)
}

fn check_manifest(source: &Source, from: &str) -> Outcome<Vec<Complaint>> {
    let Some(height) = ORDER.iter().position(|&name| name == from) else {
        let message = format!("`{from}` has no place in the layers: {}", ORDER.join(", "));
        return Ok(vec![source.complaint(0, message)]);
    };
    let manifest: Table =
        source.text.parse().map_err(|error| Failure::new(format!("{}: {error}", source.path)))?;
    let forbidden = dependencies(&manifest).into_iter().filter(|to| {
        let allowed = ORDER[..height].contains(&to.as_str()) && !is_refused(from, to);
        !allowed
    });
    Ok(forbidden.map(|to| source.complaint(0, format!("`{from}` may not use `{to}`"))).collect())
}

/// The folders of those of our crates that a manifest names, in any kind of dependency.
fn dependencies(manifest: &Table) -> Vec<String> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let for_targets = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    std::iter::once(manifest)
        .chain(for_targets)
        .flat_map(|table| {
            ["dependencies", "dev-dependencies", "build-dependencies"].map(|kind| table.get(kind))
        })
        .flatten()
        .filter_map(Value::as_table)
        .flat_map(Table::iter)
        .filter_map(|(key, value)| {
            // A renamed dependency carries its true name inside.
            let package = value.get("package").and_then(Value::as_str).unwrap_or(key);
            folder_of(package).map(str::to_owned)
        })
        .collect()
}

fn folder_of(package: &str) -> Option<&str> {
    if package == "gantry" { Some(package) } else { package.strip_prefix("gantry-") }
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    fn messages(from: &str, manifest: &str) -> Vec<String> {
        let sources = [source(&format!("crates/{from}/Cargo.toml"), manifest)];
        let found = check(&sources).expect("the manifest is well-formed");
        found.into_iter().map(|complaint| complaint.message).collect()
    }

    #[test]
    fn edges() {
        let cases = [
            ("transport", "protocol", true),
            ("protocol", "transport", false),
            ("process", "transport", true),
            ("transport", "process", false),
            ("policy", "process", false),
            ("gateway", "client", true),
            ("client", "gateway", false),
            ("server", "gateway", true),
            ("server", "providers", false),
            ("providers", "server", false),
            ("providers", "gateway", true),
            ("store", "protocol", false),
            ("gantry", "store", false),
            ("cli", "store", true),
            ("cli", "policy", true),
            ("gantry", "server", true),
            ("gateway", "bench", false),
        ];
        for (from, to, allowed) in cases {
            for kind in ["dependencies", "dev-dependencies", "target.'cfg(unix)'.dependencies"] {
                let found = messages(from, &format!("[{kind}]\ngantry-{to}.workspace = true\n"));
                assert_eq!(found.is_empty(), allowed, "{from} -> {to} in {kind}: {found:?}");
            }
        }
    }

    #[test]
    fn the_product_is_on_top_and_renaming_hides_nothing() {
        assert_eq!(
            messages("server", "[dependencies]\ngantry.workspace = true\n"),
            ["`server` may not use `gantry`"]
        );
        let renamed =
            "[dependencies]\nbase = { package = \"gantry-server\", path = \"../server\" }\n";
        assert_eq!(messages("gateway", renamed), ["`gateway` may not use `server`"]);
        assert_eq!(
            messages("gateway", "[dependencies]\nserde.workspace = true\n"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_crate_outside_the_layers_is_told() {
        assert_eq!(messages("extra", "").len(), 1);
    }
}
