//! Every `gantry` command that the documentation shows in a block of shell parses.

use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use super::Arguments;

/// Programs that start `gantry` in an example.
const STARTERS: [&str; 5] = ["sudo", "docker", "env", "cargo", "claude"];

#[test]
fn documented_commands_parse() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut documents = vec![root.join("README.md")];
    collect(&root.join("docs"), &mut documents);
    let mut count = 0;
    for document in documents {
        let text = fs::read_to_string(&document).expect("a document");
        for command in shell(&text).iter().flat_map(|line| commands(line)) {
            count += 1;
            let error = match Arguments::try_parse_from(&command) {
                Ok(_) => continue,
                Err(error) => error,
            };
            let is_help = error.kind() == ErrorKind::DisplayHelp;
            assert!(is_help, "{}: {command:?}: {error}", document.display());
        }
    }
    assert!(count > 100, "only {count} commands were found");
}

#[test]
fn lines_of_shell() {
    let cases: [(&str, &[&[&str]]); 9] = [
        ("gantry serve   # run it", &[&["gantry", "serve"]]),
        ("$ gantry call a text='x y' | cat", &[&["gantry", "call", "a", "text=x y"]]),
        ("printf 1 | gantry secret set a", &[&["gantry", "secret", "set", "a"]]),
        ("sudo -u gantry env A=b gantry status", &[&["gantry", "status"]]),
        ("docker exec gantry cat /state", &[]),
        ("cargo run --release -- serve", &[&["gantry", "serve"]]),
        ("claude mcp add gantry -- gantry serve --stdio", &[&["gantry", "serve", "--stdio"]]),
        ("GANTRY_LOG=debug gantry serve", &[&["gantry", "serve"]]),
        ("ls gantry", &[]),
    ];
    for (line, expected) in cases {
        assert_eq!(commands(line), expected, "{line}");
    }
}

fn collect(folder: &Path, documents: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => collect(&path, documents),
            false if path.extension().is_some_and(|it| it == "md") => documents.push(path),
            false => {}
        }
    }
}

/// The lines of all blocks of shell, those that go on after a `\` put together.
fn shell(text: &str) -> Vec<String> {
    let blocks = text.split("\n```sh\n").skip(1);
    let blocks = blocks.chain(text.split("\n```console\n").skip(1));
    let blocks = blocks.filter_map(|rest| rest.split("\n```").next());
    let lines = blocks.map(|block| block.replace("\\\n", " "));
    lines.flat_map(|block| block.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// The `gantry` commands of a line, each as its words.
fn commands(line: &str) -> Vec<Vec<String>> {
    let line = line.strip_prefix("$ ").unwrap_or(line);
    words(line).split(|word| word == "|").filter_map(command).collect()
}

fn command(words: &[String]) -> Option<Vec<String>> {
    let words = &words[words.iter().take_while(|word| is_assignment(word)).count()..];
    let first = words.first()?.as_str();
    if first != "gantry" && !STARTERS.contains(&first) {
        return None;
    }
    let program = match first {
        "cargo" => words.iter().position(|word| word == "--").filter(|_| words[1] == "run")?,
        "gantry" => 0,
        _ => (1..words.len()).find(|&at| words[at] == "gantry" && is_verb(words.get(at + 1)))?,
    };
    let arguments = words[program + 1..].iter().cloned();
    Some(std::iter::once("gantry".to_owned()).chain(arguments).collect())
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=')
        .is_some_and(|(name, _)| name.bytes().all(|it| it.is_ascii_uppercase() || it == b'_'))
}

fn is_verb(word: Option<&String>) -> bool {
    word.is_some_and(|word| Arguments::command().find_subcommand(word).is_some())
}

/// The words of a line up to a comment or a redirection, without quotes; a pipe is a word.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for sign in line.chars() {
        match (quote, sign) {
            (Some(open), _) if open == sign => quote = None,
            (None, '\'' | '"') => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '<' | '>' | ';' | '&') => break,
            (None, '|') => {
                words.extend(word.take());
                words.push("|".to_owned());
            }
            (None, sign) if sign.is_whitespace() => words.extend(word.take()),
            (_, sign) => word.get_or_insert_default().push(sign),
        }
    }
    words.extend(word);
    words
}
