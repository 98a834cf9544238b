//! Finds the line of standard error that most likely names the reason of a failure: not always the
//! last one, which may be a hint of a package manager or the end of a stack trace.

use super::NOTE_PREFIX;

/// Characters of the line that are reported.
const MAX_CHARS: usize = 300;

/// Lines at the end that are considered.
const LINES: usize = 40;

/// Prefixes of package managers.
const PREFIXES: [&str; 2] = ["npm error", "npm ERR!"];

/// Prefixes of lines that never name a reason.
const NEVER_A_REASON: [&str; 8] = [
    "A complete log of this run",
    "npm notice",
    "npm warn",
    "npm WARN",
    "Node.js v",
    "at ",
    "note: run with `RUST_BACKTRACE",
    "For more information",
];

/// Markers of an error line.
const ERROR_MARKERS: [&str; 5] = ["error:", "exception:", "fatal:", "panicked at", "error ["];

/// Words of a line about an error.
const ERROR_WORDS: [&str; 12] = [
    "error",
    "exception",
    "fatal",
    "cannot",
    "can't",
    "not found",
    "no such",
    "denied",
    "refused",
    "failed",
    "missing",
    "invalid",
];

/// The most relevant line; of equal ones the last. Lines of ours count only when the program wrote
/// none.
pub(super) fn stderr_summary(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let own: Vec<&str> =
        lines.iter().copied().filter(|line| !line.starts_with(NOTE_PREFIX)).collect();
    let recent = own.get(own.len().saturating_sub(LINES)..).unwrap_or_default();
    let line = recent.iter().copied().max_by_key(|line| weight(line)).or(lines.last().copied())?;
    Some(line.chars().take(MAX_CHARS).collect())
}

/// The relevance of a line.
fn weight(line: &str) -> u8 {
    let bare = PREFIXES.iter().find_map(|prefix| line.strip_prefix(prefix)).unwrap_or(line).trim();
    // Paths of log files, brackets and numbers alone say nothing.
    let has_words = bare.split_whitespace().nth(1).is_some();
    let is_path = bare.starts_with('/');
    if NEVER_A_REASON.iter().any(|begin| bare.starts_with(begin)) {
        return 0;
    }
    let lower = bare.to_lowercase();
    let has = |markers: &[&str]| markers.iter().any(|marker| lower.contains(marker));
    match () {
        () if has(&ERROR_MARKERS) => 4,
        () if is_path || bare.is_empty() => 0,
        () if has(&ERROR_WORDS) && has_words => 3,
        () if has_words => 2,
        () => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::stderr_summary;

    #[test]
    fn the_line_that_says_why() {
        let npm = "npm error code E404\n\
            npm error 404 Not Found - GET https://registry.example/nope - Not found\n\
            npm error 404\n\
            npm error 404  'nope@*' is not in this registry.\n\
            npm error 404 Note that you can also install from a\n\
            npm error 404 tarball, folder, http url, or git folder.\n\
            npm error A complete log of this run can be found in: /root/.npm/_logs/1-debug-0.log\n";
        let folder = "npm ERR! enoent Could not read package.json: Error: ENOENT: no such file\n\
            npm ERR! A complete log of this run can be found in:\n\
            npm ERR!     /root/.npm/_logs/2.log\n";
        let node = "node:internal/modules/cjs/loader:1137\n  throw err;\n  ^\n\n\
            Error: Cannot find module '/x'\n    at Module._load (node:internal:1)\n  \
            code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}\n\nNode.js v20.1.0\n";
        let python = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    \
            import nope\nModuleNotFoundError: No module named 'nope'\n";
        let cases = [
            (npm, "npm error 404 Not Found - GET https://registry.example/nope - Not found"),
            (folder, "npm ERR! enoent Could not read package.json: Error: ENOENT: no such file"),
            (node, "Error: Cannot find module '/x'"),
            (python, "ModuleNotFoundError: No module named 'nope'"),
            ("starting\nlistening on stdio\n", "listening on stdio"),
            ("sh: 1: nope: not found\n", "sh: 1: nope: not found"),
            ("one\ntwo\n[gantry] three\n", "two"),
            ("[gantry] only ours\n", "[gantry] only ours"),
            (
                "thread 'main' panicked at src/main.rs:1:\nnote: run with `RUST_BACKTRACE=1`\n",
                "thread 'main' panicked at src/main.rs:1:",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(stderr_summary(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(stderr_summary(" \n"), None);
    }
}
