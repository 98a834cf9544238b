//! A document as its tools and their eight sections, and how headings are recognised.

use gantry_protocol::RawJson;

use super::markdown::{Fence, Piece, pieces};
use super::read;
use super::read::Located;

/// The most tools of one document that are looked at.
const MOST_TOOLS: usize = 1000;

/// The part of a document that describes one tool.
#[derive(Debug)]
pub(super) struct Part<'a> {
    /// Where it begins.
    pub(super) line: usize,
    /// The name in its heading, when it has one.
    pub(super) heading: Option<&'a str>,
    /// What stands between that heading and the first section.
    pub(super) preface: Vec<Piece<'a>>,
    /// The sections as they were written.
    pub(super) chapters: Vec<Chapter<'a>>,
}

/// One section as it was written.
#[derive(Debug)]
pub(super) struct Chapter<'a> {
    pub(super) section: Section,
    /// The line of its heading.
    pub(super) line: usize,
    pub(super) pieces: Vec<Piece<'a>>,
}

/// A document as its tools.
#[derive(Debug)]
pub(super) struct Document<'a> {
    pub(super) parts: Vec<Part<'a>>,
    /// The line of the first tool that is one too many.
    pub(super) overflow: Option<usize>,
}

impl<'a> Document<'a> {
    /// Finds the tools. A document without a heading `Tool:` describes one, from its first section.
    pub(super) fn parse(text: &'a str) -> Self {
        let mut document = Self { parts: Vec::new(), overflow: None };
        for piece in pieces(text) {
            if !document.add(piece) {
                document.overflow = Some(piece.line());
                break;
            }
        }
        // A list of contents before the first tool may look like sections.
        if document.parts.iter().any(|part| part.heading.is_some()) {
            document.parts.retain(|part| part.heading.is_some());
        }
        document
    }

    /// Takes the next piece; refuses a tool that is one too many.
    fn add(&mut self, piece: Piece<'a>) -> bool {
        if let Piece::Heading { line, text } = piece {
            if let Some(name) = tool(text) {
                let fits = self.parts.len() < MOST_TOOLS;
                self.parts.extend(fits.then(|| Part::new(line, Some(name))));
                return fits;
            }
            if let Some(section) = Section::of(text) {
                if self.parts.is_empty() {
                    self.parts.push(Part::new(line, None));
                }
                if let Some(part) = self.parts.last_mut() {
                    part.chapters.push(Chapter { section, line, pieces: Vec::new() });
                }
                return true;
            }
        }
        if let Some(part) = self.parts.last_mut() {
            let pieces = part.chapters.last_mut().map(|chapter| &mut chapter.pieces);
            pieces.unwrap_or(&mut part.preface).push(piece);
        }
        true
    }
}

impl<'a> Part<'a> {
    fn new(line: usize, heading: Option<&'a str>) -> Self {
        Self { line, heading, preface: Vec::new(), chapters: Vec::new() }
    }

    /// The first section of this kind.
    pub(super) fn chapter(&self, section: Section) -> Option<&Chapter<'a>> {
        self.chapters.iter().find(|chapter| chapter.section == section)
    }

    /// The line of a section, or of the tool when the section is not there.
    pub(super) fn line_of(&self, section: Section) -> usize {
        self.chapter(section).map_or(self.line, |chapter| chapter.line)
    }

    /// The name of the tool with its line: section 2 has the last word.
    pub(super) fn name(&self) -> Option<(&'a str, usize)> {
        let stated = self.chapter(Section::Name).and_then(Chapter::name);
        stated.or_else(|| Some((self.heading?, self.line)))
    }

    /// The version with its line, from before the first section or from inside it.
    pub(super) fn version(&self) -> Option<(&'a str, usize)> {
        let purpose = self.chapter(Section::Purpose);
        let pieces = purpose.map_or(&[][..], |chapter| chapter.pieces.as_slice());
        self.preface.iter().chain(pieces).find_map(version)
    }

    /// The block `Runtime`, when it is there and is JSON.
    pub(super) fn runtime(&self) -> Option<RawJson> {
        let fence = self.chapter(Section::Name)?.runtime()?;
        Located::read(&fence).ok().map(|located| located.value)
    }

    /// Whether the tool is no program of the registry.
    pub(super) fn runs_elsewhere(&self) -> bool {
        self.runtime().is_some_and(|block| read::runs_elsewhere(&block))
    }

    /// What the tool does: the quote with which section 1 begins, or else its text up to the first
    /// heading.
    pub(super) fn description(&self) -> Option<(String, usize)> {
        let pieces = &self.chapter(Section::Purpose)?.pieces;
        let ignored = |piece: &&Piece<'_>| is_blank(piece) || version(piece).is_some();
        let pieces = &pieces[pieces.iter().take_while(ignored).count()..];
        let line = pieces.first()?.line();
        let quote: Vec<&str> = pieces.iter().map_while(quoted).collect();
        if !quote.is_empty() {
            return Some((quote.join("\n"), line));
        }
        let prose = pieces.iter().take_while(|piece| !matches!(piece, Piece::Heading { .. }));
        let prose = prose.filter(|piece| version(piece).is_none()).map(|piece| match piece {
            Piece::Heading { text, .. } | Piece::Text { text, .. } => *text,
            Piece::Fence(fence) => fence.whole,
        });
        Some((prose.collect::<Vec<_>>().join("\n").trim().to_owned(), line))
    }
}

impl<'a> Chapter<'a> {
    /// The code blocks.
    pub(super) fn fences(&self) -> impl Iterator<Item = Fence<'a>> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Fence(fence) => Some(*fence),
            _ => None,
        })
    }

    /// The block of a schema: the first one of JSON.
    pub(super) fn schema(&self) -> Option<Fence<'a>> {
        self.fences().find(Fence::is_json)
    }

    /// The block of JSON below the heading `Runtime`.
    pub(super) fn runtime(&self) -> Option<Fence<'a>> {
        let is_runtime = |piece: &Piece<'_>| match piece {
            Piece::Heading { text, .. } => is_word(text, "runtime"),
            _ => false,
        };
        let start = self.pieces.iter().position(is_runtime)?;
        self.pieces[start..].iter().find_map(|piece| match piece {
            Piece::Fence(fence) if fence.is_json() => Some(*fence),
            _ => None,
        })
    }

    /// Whether nothing stands in it but headings.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.iter().all(|piece| is_blank(piece) || matches!(piece, Piece::Heading { .. }))
    }

    fn name(&self) -> Option<(&'a str, usize)> {
        let before = self.pieces.iter().take_while(|piece| !matches!(piece, Piece::Heading { .. }));
        before.filter(|piece| !is_blank(piece)).find_map(|piece| match piece {
            Piece::Text { line, text } => Some((plain(text), *line)),
            _ => None,
        })
    }
}

impl Fence<'_> {
    /// Whether the block holds JSON: it says so, or says nothing and begins like it.
    pub(super) fn is_json(&self) -> bool {
        let info = self.info.to_ascii_lowercase();
        info.starts_with("json") || info.is_empty() && self.body.trim_start().starts_with('{')
    }
}

/// The line of a quote without its mark.
fn quoted<'a>(piece: &Piece<'a>) -> Option<&'a str> {
    let Piece::Text { text, .. } = piece else { return None };
    let text = text.strip_prefix('>')?;
    Some(text.strip_prefix(' ').unwrap_or(text))
}

/// `**Version**: 1.0.0`, with or without emphasis, also as an item of a list.
fn version<'a>(piece: &Piece<'a>) -> Option<(&'a str, usize)> {
    let Piece::Text { line, text } = piece else { return None };
    let (word, version) = text.split_once(':')?;
    let word = word.trim_matches(|letter: char| letter.is_whitespace() || "*_-+".contains(letter));
    word.eq_ignore_ascii_case("version").then(|| (plain(version), *line))
}

fn is_blank(piece: &Piece<'_>) -> bool {
    matches!(piece, Piece::Text { text, .. } if text.trim().is_empty())
}

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
