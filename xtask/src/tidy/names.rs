//! Names: words that were retired, and file names that say too little because many files have them.

use std::collections::BTreeMap;

use super::places::is_test;
use super::{Complaint, Source};

/// Metaphors that no engineer would search for, and what to say. Only words without a technical use
/// of their own: `guard`, `lane`, `line` or `plan` are not here, since some uses of them are right.
const RETIRED: &[(&str, &str)] = &[
    ("afterwords", "followups"),
    ("annex", "handler"),
    ("attendant", "task"),
    ("cabinet", "document store"),
    ("courier", "notifier"),
    ("desk", "worker"),
    ("doorman", "authenticator"),
    ("ears", "recorder"),
    ("enrolled", "registered"),
    ("errand", "call"),
    ("eyes", "observer"),
    ("foundry", "fixture"),
    ("guest", "client"),
    ("knock", "request"),
    ("lobby", "shared state"),
    ("messenger", "notifier"),
    ("rooms", "limiter"),
    ("shelf", "directory or registration"),
    ("strays", "orphans"),
    ("underway", "in flight"),
    ("warden", "orphan reaper"),
    ("workshop", "fixture"),
    ("yard", "fixture"),
];

/// Phrases of documents, and what to say.
const PHRASES: &[(&str, &str)] = &[
    ("anew", "again"),
    ("doorman", "authenticator"),
    ("lobby", "shared state"),
    ("under way", "in flight"),
    ("warden", "orphan reaper"),
];

/// More files of one name in a crate confuse; up to three are told apart by their folders, such as the
/// configuration, the administration and the command of one thing.
const SAME_NAME: usize = 3;
/// Names that are the same everywhere by convention: everybody knows what such a file has.
const CONVENTIONAL: [&str; 6] =
    ["lib.rs", "main.rs", "error.rs", "settings.rs", "tests.rs", "fuzzing.rs"];

/// Checks the name of the file, its identifiers, or the words of a document.
pub(super) fn check(source: &Source) -> Vec<Complaint> {
    match source.extension() {
        "rs" => file_name(source).into_iter().chain(identifiers(source)).collect(),
        "md" => phrases(source),
        _ => Vec::new(),
    }
}

/// Checks that no more than three files in one crate have the same name, tests aside.
pub(super) fn check_files(sources: &[Source]) -> Vec<Complaint> {
    let mut files: BTreeMap<(&str, &str), Vec<&Source>> = BTreeMap::new();
    for source in sources.iter().filter(|it| it.extension() == "rs" && !is_test(&it.path)) {
        let Some((package, path)) = source.path.split_once("/src/") else { continue };
        let name = path.rsplit('/').next().unwrap_or(path);
        if !CONVENTIONAL.contains(&name) {
            files.entry((package, name)).or_default().push(source);
        }
    }
    let crowded = files.into_iter().filter(|(_, same)| same.len() > SAME_NAME);
    crowded
        .flat_map(|((package, name), same)| {
            let message = format!("{} files of `{package}` are called `{name}`", same.len());
            same.into_iter().map(move |source| source.complaint(0, message.clone()))
        })
        .collect()
}

fn file_name(source: &Source) -> Vec<Complaint> {
    let words = source.path.split(['/', '.', '_', '-']);
    let found = words.filter_map(|word| retired(word).map(|say| (word, say)));
    found.map(|(word, say)| source.complaint(0, retired_message(word, say))).collect()
}

fn identifiers(source: &Source) -> Vec<Complaint> {
    let code = code(&source.text);
    let mut complaints = Vec::new();
    for (index, line) in code.lines().enumerate() {
        for identifier in line.split(|sign: char| !sign.is_alphanumeric() && sign != '_') {
            for word in words(identifier) {
                let say = retired(&word).map(|say| retired_message(&word, say));
                complaints.extend(say.map(|message| source.complaint(index + 1, message)));
            }
        }
    }
    complaints
}

fn phrases(source: &Source) -> Vec<Complaint> {
    let lines = source.text.lines().enumerate();
    lines
        .flat_map(|(index, line)| {
            // What stands in backticks is quoted: a command, a message, a name.
            let visible: String = line.to_lowercase().split('`').step_by(2).collect();
            let found = PHRASES.iter().filter(move |(phrase, _)| has_phrase(&visible, phrase));
            found
                .map(move |(phrase, say)| source.complaint(index + 1, retired_message(phrase, say)))
        })
        .collect()
}

fn has_phrase(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + phrase.len()..].chars().next();
        ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    })
}

fn retired(word: &str) -> Option<&'static str> {
    RETIRED.iter().find(|(retired, _)| *retired == word).map(|(_, say)| *say)
}

fn retired_message(word: &str, say: &str) -> String {
    format!("`{word}` is a retired word: say {say}")
}

/// The words of an identifier, in lower case: parted at `_` and where a capital letter begins one.
fn words(identifier: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in identifier.split('_') {
        let mut word = String::new();
        let mut was_lower = false;
        for sign in part.chars() {
            if sign.is_uppercase() && was_lower {
                words.push(std::mem::take(&mut word));
            }
            was_lower = !sign.is_uppercase();
            word.extend(sign.to_lowercase());
        }
        words.push(word);
    }
    words
}

/// The code with comments and literals blanked out, line by line.
fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(sign) = rest.chars().next() {
        let length = literal(rest, code.chars().next_back());
        match length {
            0 => {
                code.push(sign);
                rest = &rest[sign.len_utf8()..];
            }
            length => {
                code.extend(rest[..length].chars().map(|it| if it == '\n' { it } else { ' ' }));
                rest = &rest[length..];
            }
        }
    }
    code
}

/// The length of the comment or literal with which a text begins; zero if it begins with code.
fn literal(text: &str, before: Option<char>) -> usize {
    let until = |end: &str, from: usize| {
        text[from..].find(end).map_or(text.len(), |at| from + at + end.len())
    };
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return until("*/", 2);
    }
    if text.starts_with('"') {
        return escaped(text, '"');
    }
    let in_word = before.is_some_and(|it| it.is_alphanumeric() || it == '_');
    if let Some(raw) = text.strip_prefix('r').filter(|_| !in_word || before == Some('b')) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            return until(&format!("\"{}", "#".repeat(hashes)), hashes + 2);
        }
    }
    let mut signs = text.chars();
    let is_char = signs.next() == Some('\'')
        && matches!((signs.next(), signs.next()), (Some('\\'), _) | (Some(_), Some('\'')));
    if is_char { escaped(text, '\'') } else { 0 }
}

/// The length of a literal that ends with a quote which no backslash escapes.
fn escaped(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, sign) in text.char_indices().skip(1) {
        if sign == quote && !is_escaped {
            return at + sign.len_utf8();
        }
        is_escaped = sign == '\\' && !is_escaped;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    #[test]
    fn retired_words() {
        let cases = [
            ("a.rs", "struct Doorman;", false),
            ("a.rs", "struct TokenDoorman;", false),
            ("a.rs", "let doorman_of = 1;", false),
            ("a.rs", "let x = 1; // the doorman", true),
            ("a.rs", "let x = \"doorman\"; /* doorman */", true),
            ("a.rs", "let x = r#\"a \"doorman\" b\"#;", true),
            ("a.rs", "let x = '\"'; doorman();", false),
            ("a.rs", "fn a<'a>(b: &'a str) { doorman() }", false),
            ("a.rs", "let doormantel = 1;", true),
            ("src/doorman.rs", "", false),
            ("src/doorman/a.rs", "", false),
            ("a.md", "the doorman", false),
            ("a.md", "the `doorman`", true),
            ("a.md", "calls under way", false),
            ("a.md", "a renewed one", true),
            ("a.py", "doorman = 1", true),
        ];
        for (path, text, good) in cases {
            let found = check(&source(path, text));
            assert_eq!(found.is_empty(), good, "{path}: {text}: {found:?}");
        }
    }

    #[test]
    fn files_of_one_name() {
        let files =
            |paths: &[&str]| -> Vec<Source> { paths.iter().map(|path| source(path, "")).collect() };
        let cases: [(&[&str], usize); 5] = [
            (&["a/src/x.rs", "a/src/b/x.rs", "a/src/c/x.rs"], 0),
            (&["a/src/x.rs", "a/src/b/x.rs", "a/src/c/x.rs", "a/src/d/x.rs"], 4),
            (&["a/src/x.rs", "b/src/b/x.rs", "a/src/c/x.rs", "a/src/d/x.rs"], 0),
            (&["a/src/x.rs", "a/src/tests/x.rs", "a/src/c/x.rs", "a/src/d/x.rs"], 0),
            (&["a/src/error.rs", "a/src/b/error.rs", "a/src/c/error.rs", "a/src/d/error.rs"], 0),
        ];
        for (paths, complaints) in cases {
            assert_eq!(check_files(&files(paths)).len(), complaints, "{paths:?}");
        }
    }
}
