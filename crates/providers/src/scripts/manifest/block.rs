//! The block of metadata inside a Python script, as PEP 723 lays it out.

/// What stands between `# /// script` and `# ///`, without the comment marks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The text, line by line.
    pub(super) text: Vec<u8>,
    /// The line of `# /// script`, counted from one.
    pub(super) line: usize,
    /// Whether the end mark is there.
    pub(super) closed: bool,
}

impl Block {
    /// The line in the file of a byte in the text.
    pub(super) fn line_of(&self, offset: usize) -> usize {
        self.line + super::problem::line_at(&self.text, offset)
    }
}

/// All blocks for scripts in a source text. More than one is an error of the script.
pub(super) fn find(source: &[u8]) -> Vec<Block> {
    let mut lines = source.split(|byte| *byte == b'\n').map(without_return).enumerate();
    let mut blocks = Vec::new();
    while let Some((index, line)) = lines.next() {
        if line == b"# /// script" {
            let comments = lines.by_ref().map_while(|(_, line)| comment(line));
            blocks.push(read(index + 1, &comments.collect::<Vec<_>>()));
        }
    }
    blocks
}

/// Reads the run of comments after the start mark. The last end mark in it counts, since an
/// earlier one may be part of a value.
fn read(line: usize, comments: &[&[u8]]) -> Block {
    let end = comments.iter().rposition(|line| *line == b"///");
    let kept = &comments[..end.unwrap_or(comments.len())];
    Block { text: kept.join(&b'\n'), line, closed: end.is_some() }
}

fn comment(line: &[u8]) -> Option<&[u8]> {
    if line == b"#" { Some(b"") } else { line.strip_prefix(b"# ") }
}

fn without_return(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
