//! Words with a place: some may stand only where the design puts them, some nowhere.

use super::{Complaint, Source};

/// Words, and where they may stand.
struct Place {
    words: &'static [&'static str],
    /// Beginnings of paths. Tests beside the code may use the words too.
    allowed: &'static [&'static str],
    reason: &'static str,
}

/// Checked in Rust code, without comments and tests.
const PLACES: &[Place] = &[
    Place {
        words: &[
            "\"2024-11-05\"",
            "\"2025-03-26\"",
            "\"2025-06-18\"",
            "\"2025-11-25\"",
            "\"2026-07-28\"",
            "Revision::V",
        ],
        allowed: &[
            "crates/protocol/",
            "crates/server/src/era.rs",
            "crates/server/src/session.rs",
            "crates/server/src/session/",
            "crates/server/src/stateless.rs",
            "crates/server/src/stateless/",
            "crates/server/src/tasks.rs",
            "crates/server/src/tasks/",
            "crates/server/src/discover.rs",
            "crates/server/src/request.rs",
            "crates/server/src/error_codes.rs",
            "crates/client/",
            "tests/",
            "bench/",
            "examples/",
            "docs/",
            "xtask/",
            "fuzz/",
        ],
        reason: "only protocol, client and the eras of the server know revisions",
    },
    Place {
        words: &["std::process::Command", "process::Command", "tokio::process"],
        allowed: &["crates/process/", "xtask/", "bench/", "tests/"],
        reason: "child processes belong to `process`, which ends them by group",
    },
    Place {
        words: &["println!", "print!", "stdout()"],
        allowed: &[
            "crates/server/src/stdio.rs",
            "crates/gantry-cli/src/commands/tools/new/native.rs",
            "crates/gantry-cli/src/render",
            "xtask/",
            "bench/",
            "examples/",
            "tests/",
        ],
        reason: "standard output belongs to the protocol",
    },
];

/// Unfinished work, in code of any language. Joined so that this file passes itself.
const UNFINISHED: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("todo", "!"),
    concat!("unimplemented", "!"),
    concat!("#[", "ignore"),
];
const CODE: [&str; 7] = ["rs", "js", "mjs", "ts", "py", "sh", "toml"];

/// Hosts of package registries: where packages come from is the machine's setting, not ours.
const REGISTRIES: [&str; 4] = [
    concat!("crates", ".io"),
    concat!("npmjs", "."),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
];

/// Checks all words against the file.
pub(super) fn check(source: &Source) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    if source.extension() == "rs" {
        complaints.extend(PLACES.iter().flat_map(|place| misplaced(source, place)));
    }
    if CODE.contains(&source.extension()) {
        complaints.extend(anywhere(source, &UNFINISHED, "finish it or write an issue"));
    }
    // Cargo writes its registry into the lock file itself.
    if !source.path.ends_with("Cargo.lock") {
        complaints.extend(anywhere(source, &REGISTRIES, "name no registry's host"));
    }
    complaints
}

fn misplaced(source: &Source, place: &Place) -> Vec<Complaint> {
    let is_allowed = place.allowed.iter().any(|beginning| source.path.starts_with(beginning));
    if is_allowed || is_test(&source.path) {
        return Vec::new();
    }
    let code = source
        .text
        .lines()
        .enumerate()
        .take_while(|(_, line)| line.trim() != "#[cfg(test)]")
        .filter(|(_, line)| !line.trim_start().starts_with("//"));
    code.filter_map(|(index, line)| {
        let word = place.words.iter().find(|word| has_word(line, word))?;
        Some(source.complaint(index + 1, format!("`{word}` has no place here: {}", place.reason)))
    })
    .collect()
}

/// A file of tests beside the code: `x/tests.rs`, `x/tests/y.rs`.
pub(super) fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

fn anywhere(source: &Source, words: &[&str], advice: &str) -> Vec<Complaint> {
    let lines = source.text.lines().enumerate();
    lines
        .filter_map(|(index, line)| {
            let word = words.iter().find(|word| has_word(line, word))?;
            Some(source.complaint(index + 1, format!("`{word}`: {advice}")))
        })
        .collect()
}

/// Whether the word occurs and does not merely end a longer one, as in `eprintln!`.
fn has_word(line: &str, word: &str) -> bool {
    let is_start = |(index, _): (usize, &str)| {
        let before = line[..index].chars().next_back();
        !before.is_some_and(|sign| sign.is_alphanumeric() || sign == '_')
    };
    line.match_indices(word).any(is_start)
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    fn check_cases(cases: &[(&str, &str, bool)]) {
        for (path, text, good) in cases {
            let found = check(&source(path, text));
            assert_eq!(found.is_empty(), *good, "{path}: {text}: {found:?}");
        }
    }

    #[test]
    fn revisions() {
        check_cases(&[
            ("crates/gateway/src/call.rs", "let r = \"2025-11-25\";", false),
            ("crates/gateway/src/call.rs", "match r { Revision::V2025_11_25 => 1 }", false),
            ("crates/server/src/http.rs", "let r = Revision::V2026_07_28;", false),
            ("crates/server/src/session/detect.rs", "let r = Revision::V2026_07_28;", true),
            ("crates/protocol/src/revision.rs", "\"2024-11-05\"", true),
            ("crates/gateway/src/call.rs", "    // As 2025-11-25 says, \"2025-11-25\".", true),
            (
                "crates/gateway/src/call.rs",
                "fn a() {}\n#[cfg(test)]\nmod tests { \"2025-11-25\" }",
                true,
            ),
            ("crates/server/tests/wire.rs", "\"2025-11-25\"", true),
            ("crates/gateway/src/schema/tests.rs", "\"2025-11-25\"", true),
            ("examples/everything.rs", "\"2025-11-25\"", true),
        ]);
    }

    #[test]
    fn processes() {
        check_cases(&[
            ("crates/gantry-cli/src/main.rs", "use std::process::Command;", false),
            ("crates/server/src/http.rs", "tokio::process::Command::new(\"a\")", false),
            ("crates/process/src/child.rs", "tokio::process::Command::new(\"a\")", true),
            ("crates/gantry-cli/src/main.rs", "use std::process::ExitCode;", true),
        ]);
    }

    #[test]
    fn printing() {
        check_cases(&[
            ("crates/server/src/http.rs", "println!(\"a\");", false),
            ("crates/server/src/http.rs", "let out = tokio::io::stdout();", false),
            ("crates/server/src/http.rs", "print!(\"a\");", false),
            ("crates/server/src/http.rs", "eprintln!(\"a\");", true),
            ("crates/server/src/stdio.rs", "let out = tokio::io::stdout();", true),
            ("crates/gantry-cli/src/render.rs", "println!(\"a\");", true),
            ("crates/gantry-cli/src/main.rs", "println!(\"a\");", false),
            ("crates/process/src/child.rs", "command.stdout(Stdio::piped())", true),
        ]);
    }

    #[test]
    fn unfinished_work() {
        let unfinished = UNFINISHED.map(|word| format!("fn a() {{}} // {word}"));
        for text in &unfinished {
            check_cases(&[
                ("a.rs", text, false),
                ("xtask/src/a.rs", text, false),
                ("a.mjs", text, false),
                ("a.md", text, true),
            ]);
        }
        check_cases(&[("a.rs", "let todos = 1;", true)]);
    }

    #[test]
    fn registries() {
        for host in REGISTRIES {
            let text = format!("see https://{host}x");
            check_cases(&[
                ("a.rs", &text, false),
                ("a.md", &text, false),
                ("Cargo.lock", &text, true),
            ]);
        }
    }
}
