//! The shape of a file: its name says what it is, it begins by saying so, and it ends in time.

use super::{Complaint, Source};

/// More lines than this hide a second noun.
const LINE_LIMIT: usize = 800;
/// A generated file says so in its first lines.
const GENERATED: &str = concat!("@", "generated");
/// Names that have no natural end.
const VAGUE: [&str; 9] =
    ["utils", "util", "common", "helpers", "helper", "types", "manager", "misc", "mod"];
/// What people write by hand, and so has to stay readable.
const WRITTEN: [&str; 11] =
    ["rs", "js", "mjs", "ts", "py", "sh", "css", "html", "md", "toml", "sql"];

/// Checks name, beginning and length.
pub(super) fn check(source: &Source) -> Vec<Complaint> {
    [vague_name(source), missing_purpose(source), too_long(source)].into_iter().flatten().collect()
}

fn vague_name(source: &Source) -> Option<Complaint> {
    let is_vague = |part: &&str| {
        let stem = part.split_once('.').map_or(*part, |(stem, _)| stem);
        VAGUE.contains(&stem)
    };
    let part = source.path.split('/').find(is_vague)?;
    Some(source.complaint(0, format!("`{part}` says nothing: name it after one noun or verb")))
}

fn missing_purpose(source: &Source) -> Option<Complaint> {
    let wanted = source.extension() == "rs" && !source.text.starts_with("//!");
    wanted
        .then(|| source.complaint(1, "begins without `//!`: say what this file is responsible for"))
}

fn too_long(source: &Source) -> Option<Complaint> {
    let lines = source.text.lines().count();
    let generated = source.text.lines().take(5).any(|line| line.contains(GENERATED));
    let wanted = WRITTEN.contains(&source.extension()) && lines > LINE_LIMIT && !generated;
    wanted.then(|| {
        source.complaint(0, format!("{lines} lines, more than {LINE_LIMIT}: find the second noun"))
    })
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    #[test]
    fn names() {
        let cases = [
            ("crates/a/src/utils.rs", false),
            ("crates/a/src/common/parse.rs", false),
            ("tests/helpers.py", false),
            ("crates/a/src/types.rs", false),
            ("crates/a/src/http/mod.rs", false),
            ("crates/a/src/manager.rs", false),
            ("crates/a/src/misc.rs", false),
            ("crates/a/src/commonality.rs", true),
            ("crates/a/src/envelope.rs", true),
            ("README.md", true),
        ];
        for (path, good) in cases {
            assert_eq!(check(&source(path, "//! A.\n")).is_empty(), good, "{path}");
        }
    }

    #[test]
    fn beginnings() {
        let cases = [
            ("a.rs", "//! Does a thing.\n", true),
            ("a.rs", "use std::fs;\n", false),
            ("a.rs", "\n//! Does a thing.\n", false),
            ("a.rs", "", false),
            ("a.py", "import os\n", true),
        ];
        for (path, text, good) in cases {
            assert_eq!(check(&source(path, text)).is_empty(), good, "{path}: {text:?}");
        }
    }

    #[test]
    fn lengths() {
        let lines = |count: usize, head: &str| format!("//! A.{head}\n{}", "x\n".repeat(count - 1));
        let cases = [
            ("a.rs", lines(800, ""), true),
            ("a.rs", lines(801, ""), false),
            ("a.rs", lines(801, GENERATED), true),
            ("a.md", lines(801, ""), false),
            ("a.json", lines(801, ""), true),
        ];
        for (path, text, good) in cases {
            assert_eq!(check(&source(path, &text)).is_empty(), good, "{path}");
        }
    }
}
