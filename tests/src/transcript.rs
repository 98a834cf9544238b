//! Transcripts: conversations in files, one message a line. `>` is what the client says, `<` what
//! it hears, in that order; neighbouring `<*` lines may come in any order among themselves;
//! `< end` is the end of the connection, `#` begins a comment.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::door::Door;
use crate::house::House;
use crate::matching::Names;

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

/// What was said when a transcript was replayed.
#[derive(Debug, Clone, PartialEq)]
pub enum Spoken {
    /// By the client; any text.
    Client(String),
    /// By the server.
    Server(Value),
}

impl Transcript {
    /// All transcripts in a folder, by name.
    pub fn all(folder: &Path) -> Vec<Self> {
        let files = std::fs::read_dir(folder).expect("the folder of transcripts is there");
        let paths = files.map(|file| file.expect("a folder can be read").path());
        let mut paths: Vec<_> = paths.filter(|it| it.extension().is_some_and(|it| it == "jsonl")).collect();
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

    /// Replays it with a server of its own. Panics where something else is heard.
    pub async fn replay(&self) -> Vec<Spoken> {
        let house = House::open().await;
        let door = self.name().get("0000-00-00-".len()..).unwrap_or("link");
        let mut door = Door::open(&house, door).await;
        let (mut names, mut spoken) = (Names::default(), Vec::new());
        for (number, line) in &self.lines {
            let place = format!("{}:{number}", self.path.display());
            match line {
                Line::Says(text) => {
                    let text = names.fill(text);
                    spoken.push(Spoken::Client(text.clone()));
                    door.send(text).await;
                }
                Line::Hears(expected) => {
                    let got = hear(&mut door, &place).await;
                    let fits = names.fits(expected, &got);
                    assert!(fits, "{place}: expected\n{expected}\nbut heard\n{got}");
                    spoken.push(Spoken::Server(got));
                }
                Line::HearsAmong(group) => {
                    let mut missing: Vec<_> = group.iter().collect();
                    while !missing.is_empty() {
                        let got = hear(&mut door, &place).await;
                        let found = missing.iter().position(|it| names.fits(it, &got));
                        let found = found.unwrap_or_else(|| panic!("{place}: heard\n{got}"));
                        missing.remove(found);
                        spoken.push(Spoken::Server(got));
                    }
                }
                Line::Ends => {
                    let got = door.receive().await;
                    assert_eq!(got, None, "{place}: expected the end of the connection");
                }
            }
        }
        spoken
    }

    fn name(&self) -> &str {
        let name = self.path.file_stem().and_then(|name| name.to_str());
        name.expect("a transcript's name begins with its revision")
    }
}

async fn hear(door: &mut Door, place: &str) -> Value {
    let got = door.receive().await;
    got.unwrap_or_else(|| panic!("{place}: the connection ended"))
}

fn parse(text: &str, place: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{place}: {error}"))
}
