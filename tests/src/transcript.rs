//! Transcripts: conversations in files, one message a line. `>` is what the client says, `<` what
//! it hears, in that order; neighbouring `<*` lines may come in any order among themselves;
//! `< end` is the end of the connection, `#` begins a comment.

mod replay;

use std::path::{Path, PathBuf};

use serde_json::Value;

pub use replay::{Replay, Spoken};

/// A conversation.
#[derive(Debug)]
pub struct Transcript {
    /// Its file, for messages.
    pub path: PathBuf,
    lines: Vec<(usize, Line)>,
}

#[derive(Debug, PartialEq)]
enum Line {
    Says(String),
    Hears(Value),
    /// In any order with its neighbours.
    HearsAmong(Vec<Value>),
    Ends,
}

impl Transcript {
    /// All transcripts in a folder, by name.
    pub fn all(folder: &Path) -> Vec<Self> {
        let files = std::fs::read_dir(folder).expect("the folder of transcripts is there");
        let paths = files.map(|file| file.expect("a folder can be read").path());
        let mut paths: Vec<_> =
            paths.filter(|it| it.extension().is_some_and(|it| it == "jsonl")).collect();
        paths.sort();
        paths.into_iter().map(Self::read).collect()
    }

    fn read(path: PathBuf) -> Self {
        let text = std::fs::read_to_string(&path).expect("a transcript can be read");
        let mut lines: Vec<(usize, Line)> = Vec::new();
        for (index, text) in text.lines().enumerate() {
            let number = index + 1;
            let place = format!("{}:{number}", path.display());
            let (mark, rest) = text.split_once(' ').unwrap_or((text, ""));
            match mark {
                "" | "#" => {}
                ">" => lines.push((number, Line::Says(rest.to_owned()))),
                "<" if rest == "end" => lines.push((number, Line::Ends)),
                "<" => lines.push((number, Line::Hears(parse(rest, &place)))),
                "<*" => match lines.last_mut() {
                    Some((_, Line::HearsAmong(group))) => group.push(parse(rest, &place)),
                    _ => lines.push((number, Line::HearsAmong(vec![parse(rest, &place)]))),
                },
                mark => panic!("{place}: a line begins with >, <, <* or #, not with {mark}"),
            }
        }
        Self { path, lines }
    }

    /// The revision that it is in.
    pub fn revision(&self) -> &str {
        &self.name()[.."0000-00-00".len()]
    }

    fn name(&self) -> &str {
        let name = self.path.file_stem().and_then(|name| name.to_str());
        name.expect("a transcript's name begins with its revision")
    }
}

fn parse(text: &str, place: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{place}: {error}"))
}
