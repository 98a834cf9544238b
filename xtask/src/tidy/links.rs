//! Links of Markdown files: the file exists, and so does the heading that an anchor names.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use super::{Complaint, Source};

/// Checks the relative links of every Markdown file, and their anchors.
pub(super) fn check(sources: &[Source], exists: impl Fn(&Path) -> bool) -> Vec<Complaint> {
    let documents = sources.iter().filter(|source| source.extension() == "md");
    let anchors: HashMap<PathBuf, Vec<String>> = documents
        .clone()
        .map(|source| (PathBuf::from(&source.path), anchors(&source.text)))
        .collect();
    let mut complaints = Vec::new();
    for source in documents {
        for (number, line) in prose(&source.text) {
            for target in links(line) {
                let problem = problem(source, &target, &exists, &anchors);
                complaints.extend(problem.map(|message| source.complaint(number, message)));
            }
        }
    }
    complaints
}

/// What is wrong with a link, if it leads to a place of this tree.
fn problem(
    source: &Source,
    target: &str,
    exists: impl Fn(&Path) -> bool,
    anchors: &HashMap<PathBuf, Vec<String>>,
) -> Option<String> {
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    if path.contains(':') {
        return None;
    }
    let folder = Path::new(&source.path).parent().unwrap_or(Path::new(""));
    let file =
        if path.is_empty() { PathBuf::from(&source.path) } else { plain(&folder.join(path)) };
    if !path.is_empty() && !exists(&file) {
        return Some(format!("the link to `{target}` leads nowhere"));
    }
    // Only headings of Markdown files are known; an anchor in another file is left alone.
    let known = anchors.get(&file)?;
    let is_missing = !anchor.is_empty() && !known.iter().any(|it| it == anchor);
    is_missing.then(|| format!("`{}` has no heading for the anchor `#{anchor}`", file.display()))
}

/// The anchors of a document's headings, made as GitHub makes them.
fn anchors(text: &str) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for (_, line) in prose(text) {
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let Some(heading) = line[level..].strip_prefix(' ').filter(|_| (1..=6).contains(&level))
        else {
            continue;
        };
        let slug = slug(heading);
        let earlier = anchors.iter().filter(|it| is_numbered(it, &slug)).count();
        anchors.push(if earlier == 0 { slug } else { format!("{slug}-{earlier}") });
    }
    anchors
}

/// Whether an anchor is this slug, or the slug with the number of a later heading of that name.
fn is_numbered(anchor: &str, slug: &str) -> bool {
    let Some(rest) = anchor.strip_prefix(slug) else { return false };
    rest.is_empty() || rest.strip_prefix('-').is_some_and(|it| it.parse::<u32>().is_ok())
}

/// Lower case, spaces as `-`, without punctuation and without the targets of links.
fn slug(heading: &str) -> String {
    let mut visible = String::new();
    let mut rest = heading.trim();
    while let Some((before, after)) = rest.split_once("](") {
        visible.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    visible.push_str(rest);
    visible
        .chars()
        .filter_map(|sign| match sign {
            ' ' => Some('-'),
            '-' | '_' => Some(sign),
            sign if sign.is_alphanumeric() => Some(sign),
            _ => None,
        })
        .flat_map(char::to_lowercase)
        .collect()
}

/// Numbered lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        (!in_code && !fence).then_some((index + 1, line))
    })
}

/// The targets of `[text](target)`, leaving out what stands in backticks.
fn links(line: &str) -> Vec<String> {
    let visible: String = line.split('`').step_by(2).collect();
    let targets = visible.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    targets.map(str::to_owned).collect()
}

/// The path without `.` and `..`, so that it can be looked up from the root.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                plain.pop();
            }
            Component::Normal(name) => plain.push(name),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::super::source;
    use super::*;

    /// The complaints about a document beside `docs/a.md`, which has a heading `Part one`.
    fn found(path: &str, text: &str) -> Vec<Complaint> {
        let sources = [source("docs/a.md", "# Title\n\n## Part one\n"), source(path, text)];
        check(&sources, |path| path == Path::new("docs/a.md"))
    }

    #[test]
    fn relative_links() {
        let cases = [
            ("README.md", "see [a](docs/a.md)", true),
            ("README.md", "see [a](docs/a.md#part-one) and [b](docs/b.md)", false),
            ("docs/x.md", "see [a](a.md)", true),
            ("docs/x.md", "see [a](../docs/a.md \"title\")", true),
            ("docs/x.md", "see [a](docs/a.md)", false),
            ("README.md", "see [a](https://example.com/x#y)", true),
            ("README.md", "```\n[a](nowhere)\n```", true),
            ("README.md", "written as `[a](nowhere)`", true),
            ("README.md", "see [`a`](nowhere)", false),
            ("a.rs", "[a](nowhere)", true),
        ];
        for (path, text, good) in cases {
            let found = found(path, text);
            assert_eq!(found.is_empty(), good, "{path}: {text}: {found:?}");
        }
    }

    #[test]
    fn anchors_of_headings() {
        let cases = [
            ("see [a](docs/a.md#part-one)", true),
            ("see [a](docs/a.md#part-two)", false),
            ("# Here\n[a](#here)", true),
            ("# Here\n[a](#there)", false),
            ("```\n# Here\n```\n[a](#here)", false),
            ("# Calls (`tools/call`), what else?\n[a](#calls-toolscall-what-else)", true),
            ("# See [this](x.md)\n[a](#see-this)", false),
            ("# See [this](docs/a.md)\n[a](#see-this)", true),
            ("# One\n# One\n[a](#one-1)", true),
            ("# One\n# One\n[a](#one-2)", false),
        ];
        for (text, good) in cases {
            let found = found("README.md", text);
            assert_eq!(found.is_empty(), good, "{text}: {found:?}");
        }
    }
}
