//! The eight sections of a document and how their headings are recognised.

/// A section, in the order in which they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Purpose,
    Name,
    Input,
    Output,
    Errors,
    Idempotency,
    Examples,
    Security,
}

/// All of them.
pub(super) const SECTIONS: [Section; 8] = [
    Section::Purpose,
    Section::Name,
    Section::Input,
    Section::Output,
    Section::Errors,
    Section::Idempotency,
    Section::Examples,
    Section::Security,
];

impl Section {
    /// The heading as it is written, with its number.
    pub(super) fn heading(self) -> &'static str {
        match self {
            Self::Purpose => "1. Tool Purpose and Description",
            Self::Name => "2. Invocation Name",
            Self::Input => "3. Input Schema (Parameters)",
            Self::Output => "4. Output Schema (Return Value)",
            Self::Errors => "5. Error Handling",
            Self::Idempotency => "6. Idempotency",
            Self::Examples => "7. Usage Examples",
            Self::Security => "8. Security Considerations",
        }
    }

    /// The section that a heading opens. Number, case, emphasis and what stands in parentheses do
    /// not count.
    pub(super) fn of(heading: &str) -> Option<Self> {
        Some(match words(heading).as_str() {
            "tool purpose and description" => Self::Purpose,
            "invocation name" => Self::Name,
            "input schema" => Self::Input,
            "output schema" => Self::Output,
            "error handling" => Self::Errors,
            "idempotency" => Self::Idempotency,
            "usage examples" => Self::Examples,
            "security considerations" => Self::Security,
            _ => return None,
        })
    }
}

/// The tool that a heading announces: `Tool:` and its name.
pub(super) fn tool(heading: &str) -> Option<&str> {
    let heading = heading.trim_start_matches(['*', '_']);
    let (word, rest) = heading.split_once(':')?;
    let is_tool = word.trim_end_matches(['*', '_', ' ']).eq_ignore_ascii_case("tool");
    is_tool.then(|| plain(rest))
}

/// Whether a heading is this word.
pub(super) fn is_word(heading: &str, word: &str) -> bool {
    words(heading) == word
}

/// What a text names: its first span of code, or all of it without emphasis.
pub(super) fn plain(text: &str) -> &str {
    match text.split('`').nth(1) {
        Some(code) => code.trim(),
        None => text.trim_matches(|letter: char| letter.is_whitespace() || "*_".contains(letter)),
    }
}

fn words(heading: &str) -> String {
    let outside = heading.split('(').next().unwrap_or_default();
    let plain = outside.replace(['*', '_', '`', ':'], "").replace('&', "and");
    let numbered = plain.trim_start_matches(|letter: char| {
        letter.is_ascii_digit() || letter.is_whitespace() || ".)§".contains(letter)
    });
    numbered.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}
