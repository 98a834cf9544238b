//! What documents promise: every requirement has a row, every dependency a reason, and every path
//! that is named exists.

use std::path::Path;

use toml::{Table, Value};

use super::{Complaint, Source};
use crate::failure::{Failure, Outcome};

const SEEDS: &str = "docs/seeds.md";
const DEPENDENCIES: &str = "docs/dependencies.md";
const CHANGELOG: &str = "CHANGELOG.md";
/// The requirements: a letter, and how many there are of it.
const REQUIREMENTS: [(char, usize); 4] = [('E', 22), ('C', 21), ('A', 10), ('L', 6)];
/// Folders of the root; a path that begins with one is a promise that it exists.
const FOLDERS: [&str; 9] =
    ["crates/", "xtask/", "bench/", "tests/", "examples/", "docs/", "fuzz/", "ui/", ".ci/"];

/// Each requirement has a row in the table of seeds.
pub(super) fn check_seeds(sources: &[Source]) -> Vec<Complaint> {
    let Some(seeds) = sources.iter().find(|source| source.path == SEEDS) else {
        return vec![absent(SEEDS)];
    };
    let numbers = REQUIREMENTS
        .iter()
        .flat_map(|&(letter, count)| (1..=count).map(move |number| format!("{letter}{number}")));
    let has_row =
        |wanted: &String| seeds.text.lines().filter_map(first_cell).any(|cell| cell == wanted);
    let missing = numbers.filter(|number| !has_row(number));
    missing.map(|number| seeds.complaint(0, format!("no row for `{number}`"))).collect()
}

/// Each path of this tree that a document names exists. What the changelog names may be gone.
pub(super) fn check_paths(source: &Source, exists: impl Fn(&Path) -> bool) -> Vec<Complaint> {
    if source.extension() != "md" || source.path == CHANGELOG {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    for (index, line) in source.text.lines().enumerate() {
        for path in paths(line).filter(|path| !exists(Path::new(path))) {
            complaints.push(source.complaint(index + 1, format!("`{path}` does not exist")));
        }
    }
    complaints
}

/// Each dependency of the workspace has a line that gives its reason.
pub(super) fn check_dependencies(sources: &[Source]) -> Outcome<Vec<Complaint>> {
    let find = |path: &str| sources.iter().find(|source| source.path == path);
    let Some(document) = find(DEPENDENCIES) else {
        return Ok(vec![absent(DEPENDENCIES)]);
    };
    let manifest = find("Cargo.toml").map_or("", |source| source.text.as_str());
    let mentions = |name: &String| document.text.contains(&format!("`{name}`"));
    let missing = theirs(manifest)?.into_iter().filter(|name| !mentions(name));
    Ok(missing.map(|name| document.complaint(0, format!("no line for `{name}`"))).collect())
}

/// The workspace's dependencies that are not ours.
fn theirs(manifest: &str) -> Outcome<Vec<String>> {
    let manifest: Table =
        manifest.parse().map_err(|error| Failure::new(format!("Cargo.toml: {error}")))?;
    let table = manifest.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    let entries = table.and_then(Value::as_table).into_iter().flatten();
    Ok(entries
        .filter(|(_, value)| value.get("path").is_none())
        .map(|(name, _)| name.clone())
        .collect())
}

/// The first cell of a table's row, without emphasis.
fn first_cell(line: &str) -> Option<&str> {
    let cell = line.trim().strip_prefix('|')?.split('|').next()?;
    Some(cell.trim().trim_matches(['*', '`']))
}

/// Paths in backticks: `crates/x/src/y.rs`, perhaps followed by `:item`.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted
        .filter(|text| FOLDERS.iter().any(|folder| text.starts_with(folder)))
        .filter(|text| !text.contains([' ', '*', '{', '<']))
        .map(|text| text.split(':').next().unwrap_or(text))
}

fn absent(path: &str) -> Complaint {
    Complaint { path: path.to_owned(), line: 0, message: "is missing".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    fn all_rows() -> String {
        let rows = REQUIREMENTS.iter().flat_map(|&(letter, count)| {
            (1..=count).map(move |number| format!("| {letter}{number} | `crates/a.rs` |\n"))
        });
        rows.collect()
    }

    #[test]
    fn seeds() {
        let cases = [
            (all_rows(), 0),
            (all_rows().replace("| E7 |", "| **E7** |"), 0),
            (all_rows().replace("| E1 |", "| E1x |"), 1),
            (String::new(), 59),
        ];
        for (text, complaints) in cases {
            let found = check_seeds(&[source(SEEDS, &text)]);
            assert_eq!(found.len(), complaints, "{text}: {found:?}");
        }
        assert_eq!(check_seeds(&[]), [absent(SEEDS)]);
    }

    #[test]
    fn paths_in_documents() {
        let cases = [
            ("docs/a.md", "see `crates/a.rs`", true),
            ("docs/a.md", "see `crates/b.rs`", false),
            ("docs/a.md", "see `crates/a.rs:item` and `b.rs`", true),
            ("docs/a.md", "see `crates/*/b.rs` and crates/b.rs", true),
            ("CHANGELOG.md", "see `crates/b.rs`", true),
            ("a.rs", "// see `crates/b.rs`", true),
        ];
        for (path, text, good) in cases {
            let found = check_paths(&source(path, text), |path| path == Path::new("crates/a.rs"));
            assert_eq!(found.is_empty(), good, "{path}: {text}: {found:?}");
        }
    }

    #[test]
    fn dependencies() {
        let manifest = "[workspace.dependencies]\nours = { path = \"a\" }\nserde = \"1\"\ntoml = { version = \"1\" }\n";
        let cases = [("`serde` x\n`toml` y", 0), ("`serde` x", 1), ("serde toml ours", 2)];
        for (document, complaints) in cases {
            let sources = [source("Cargo.toml", manifest), source(DEPENDENCIES, document)];
            let found = check_dependencies(&sources).expect("the manifest is well-formed");
            assert_eq!(found.len(), complaints, "{document}: {found:?}");
        }
    }
}
