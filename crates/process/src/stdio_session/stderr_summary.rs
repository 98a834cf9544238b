//! The line of what a program wrote to standard error that most likely says why it failed: not
//! always the last one, which may be a hint of its package manager or the end of a stack trace.

use super::NOTE;

/// Characters of it that are told.
const LONGEST: usize = 300;

/// Lines at the end that are looked at. What stands before them is of another time.
const LINES: usize = 40;

/// How package managers begin the lines that they write themselves.
const PREFIXES: [&str; 2] = ["npm error", "npm ERR!"];

/// How lines begin that never say why.
const NOISE: [&str; 8] = [
    "A complete log of this run",
    "npm notice",
    "npm warn",
    "npm WARN",
    "Node.js v",
    "at ",
    "note: run with `RUST_BACKTRACE",
    "For more information",
];

/// What a line has that names an error.
const NAMED: [&str; 5] = ["error:", "exception:", "fatal:", "panicked at", "error ["];

/// What a line has that speaks of one.
const SPOKEN: [&str; 12] = [
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

/// The line that says most; of equal ones the last. A note of ours counts only when the program has
/// said nothing itself.
pub(super) fn last_words(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let own: Vec<&str> = lines.iter().copied().filter(|line| !line.starts_with(NOTE)).collect();
    let recent = own.get(own.len().saturating_sub(LINES)..).unwrap_or_default();
    let line = recent.iter().copied().max_by_key(|line| weight(line)).or(lines.last().copied())?;
    Some(line.chars().take(LONGEST).collect())
}

/// How much a line says.
fn weight(line: &str) -> u8 {
    let bare = PREFIXES.iter().find_map(|prefix| line.strip_prefix(prefix)).unwrap_or(line).trim();
    // Paths of log files, brackets and numbers alone say nothing.
    let has_words = bare.split_whitespace().nth(1).is_some();
    let is_path = bare.starts_with('/');
    if NOISE.iter().any(|begin| bare.starts_with(begin)) {
        return 0;
    }
    let lower = bare.to_lowercase();
    let has = |owner_tags: &[&str]| owner_tags.iter().any(|owner_tag| lower.contains(owner_tag));
    match () {
        () if has(&NAMED) => 4,
        () if is_path || bare.is_empty() => 0,
        () if has(&SPOKEN) && has_words => 3,
        () if has_words => 2,
        () => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::last_words;

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
            assert_eq!(last_words(text).as_deref(), Some(expected), "{text}");
        }
        assert_eq!(last_words(" \n"), None);
    }
}
