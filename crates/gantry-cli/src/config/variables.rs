//! Variables in values, in the forms of all dialects: `${VAR}`, `${VAR:-default}`, `${env:VAR}`,
//! `{env:VAR}`, `${file:PATH}`, `{file:PATH}`, `${input:id}`, `${keychain:NAME}` and the places that
//! editors know. `$${` stands for `${` itself.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::config::Lookup;
use crate::config::read::Reader;
use crate::secrets::{Vault, VaultError};

/// The most bytes that a value may take from a file.
const LARGEST: u64 = 1024 * 1024;

/// Defaults within defaults go no deeper.
const DEEPEST: usize = 8;

/// Why a value cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum ValueError {
    /// A variable has no value.
    #[error("the variable `{0}` is not set; set it")]
    Unset(String),
    /// A reference has no end.
    #[error("a `${{` has no closing `}}`")]
    Open,
    /// An input that an editor would ask for.
    #[error(
        "the input `{id}` cannot be asked for here; set the variable `{variable}` to its value"
    )]
    Input {
        /// Its id.
        id: String,
        /// The variable that stands in for it.
        variable: String,
    },
    /// A file cannot be read.
    #[error("the file {} cannot be read: {error}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file of variables has a line that is none.
    #[error("line {line} of {} is not NAME=value", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, counted from one.
        line: usize,
    },
    /// There is no such secret.
    #[error("there is no secret `{0}`; `gantry secret set {0}` keeps one")]
    NoSecret(String),
    /// A secret cannot be read.
    #[error(transparent)]
    Vault(VaultError),
}

/// Replaces the references in a text.
pub(crate) fn expand(reader: &Reader<'_>, text: &str) -> Result<String, ValueError> {
    expand_within(reader, text, DEEPEST)
}

fn expand_within(reader: &Reader<'_>, text: &str, depth: usize) -> Result<String, ValueError> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['$', '{']) {
        expanded.push_str(&rest[..start]);
        rest = &rest[start..];
        if let Some(after) = rest.strip_prefix("$${") {
            expanded.push_str("${");
            rest = after;
        } else if let Some(inside) = rest.strip_prefix("${") {
            let end = closing(inside).ok_or(ValueError::Open)?;
            expanded.push_str(&value(reader, &inside[..end], depth)?);
            rest = &inside[end + 1..];
        } else if let Some(end) = braced(rest) {
            expanded.push_str(&value(reader, &rest[1..end], 0)?);
            rest = &rest[end + 1..];
        } else {
            expanded.push_str(&rest[..1]);
            rest = &rest[1..];
        }
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// Where the brace closes that was opened before the text; those inside come in pairs.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    text.find(|letter| match letter {
        '{' => {
            open += 1;
            false
        }
        '}' if open == 0 => true,
        '}' => {
            open -= 1;
            false
        }
        _ => false,
    })
}

/// Where `{env:…}` or `{file:…}` ends; any other brace is text.
fn braced(text: &str) -> Option<usize> {
    let is_reference = text.starts_with("{env:") || text.starts_with("{file:");
    is_reference.then(|| text.find('}')).flatten()
}

fn value(reader: &Reader<'_>, reference: &str, depth: usize) -> Result<String, ValueError> {
    let (name, default) = match reference.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (reference, None),
    };
    let found = match name.split_once(':') {
        Some(("env", name)) => variable(reader, name),
        Some(("file", path)) => file(reader, path.trim()),
        Some(("input", id)) => input(reader, id),
        Some(("keychain" | "keyring", name)) => keychain(reader, name),
        _ => place(reader, name).map_or_else(|| variable(reader, name), Ok),
    };
    match (found, default) {
        // As in a shell, a default also stands in for an empty value.
        (Ok(found), Some(_)) if !found.is_empty() => Ok(found),
        (_, Some(default)) if depth > 0 => expand_within(reader, default, depth - 1),
        (_, Some(default)) => Ok(default.to_owned()),
        (found, None) => found,
    }
}

fn variable(reader: &Reader<'_>, name: &str) -> Result<String, ValueError> {
    let found = (reader.environment)(name).ok_or_else(|| ValueError::Unset(name.to_owned()))?;
    reader.load_state.keep_variable(name, &found);
    Ok(found)
}

/// What editors know without being told.
fn place(reader: &Reader<'_>, name: &str) -> Option<String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let workspace = reader.workspace();
    match name {
        "workspaceFolder" | "workspaceRoot" => Some(text(workspace)),
        "workspaceFolderBasename" => workspace.file_name().map(|name| text(Path::new(name))),
        "userHome" => (reader.environment)("HOME"),
        "cwd" => std::env::current_dir().ok().map(|here| text(&here)),
        "pathSeparator" | "/" => Some("/".to_owned()),
        _ => None,
    }
}

/// The text of a file, without the ends of lines that end it.
fn file(reader: &Reader<'_>, path: &str) -> Result<String, ValueError> {
    let text = text_of(reader, &reader.path(path))?;
    let text = text.trim_end_matches(['\r', '\n']);
    reader.load_state.keep_secret(text);
    Ok(text.to_owned())
}

/// The whole text of a file, which is looked at again when it changes.
pub(crate) fn text_of(reader: &Reader<'_>, file: &Path) -> Result<String, ValueError> {
    reader.load_state.touch(file);
    let read = || {
        let mut text = String::new();
        File::open(file)?.take(LARGEST + 1).read_to_string(&mut text)?;
        match text.len() as u64 > LARGEST {
            true => Err(io::Error::other("it is larger than 1 MiB")),
            false => Ok(text),
        }
    };
    read().map_err(|error| ValueError::Unreadable { file: file.to_owned(), error })
}

/// Nobody can be asked here: a variable of that name answers, or the default that is offered.
fn input(reader: &Reader<'_>, id: &str) -> Result<String, ValueError> {
    let upper = |letter: char| match letter.is_ascii_alphanumeric() {
        true => letter.to_ascii_uppercase(),
        false => '_',
    };
    let name: String = id.chars().map(upper).collect();
    let offered = || reader.inputs.iter().find(|(known, _)| known == id).map(|(_, it)| it.clone());
    let found = (reader.environment)(&name).or_else(|| offered().flatten());
    let found = found.ok_or_else(|| ValueError::Input { id: id.to_owned(), variable: name })?;
    reader.load_state.keep_secret(&found);
    Ok(found)
}

/// A secret of the user's, which is kept where nobody else can read it.
fn keychain(reader: &Reader<'_>, name: &str) -> Result<String, ValueError> {
    let folder = state_folder(reader.environment);
    let folder = folder.ok_or_else(|| ValueError::Unset("HOME".to_owned()))?;
    let vault = Vault::new(&folder, reader.environment);
    reader.load_state.touch(vault.file());
    let found = vault.get(name).map_err(ValueError::Vault)?;
    let found = found.ok_or_else(|| ValueError::NoSecret(name.to_owned()))?;
    reader.load_state.keep_secret(found.expose());
    Ok(found.expose().to_owned())
}

/// Where a program keeps its state.
pub fn state_folder(environment: Lookup<'_>) -> Option<PathBuf> {
    let given = |name: &str| environment(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let base = given("XDG_STATE_HOME").or_else(|| given("HOME").map(|it| it.join(".local/state")));
    base.map(|base| base.join("gantry"))
}

/// The variables of a text, in order; or the number of the first line that is none.
pub(crate) fn read(text: &str) -> Result<Vec<(String, String)>, usize> {
    let mut variables = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or(index + 1)?;
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(index + 1);
        }
        variables.push((name.to_owned(), unquoted(value.trim())));
    }
    Ok(variables)
}

/// Single quotes keep all as it is, double quotes know `\n` and the like, and a bare value ends
/// where a comment begins.
fn unquoted(value: &str) -> String {
    if let Some(inside) = quoted(value, '\'') {
        return inside.to_owned();
    }
    if let Some(inside) = quoted(value, '"') {
        return unescaped(inside);
    }
    let bare = value.split_once(" #").map_or(value, |(bare, _)| bare);
    bare.trim_end().to_owned()
}

/// What stands between a pair of quotes that begins the value.
fn quoted(value: &str, quote: char) -> Option<&str> {
    let inside = value.strip_prefix(quote)?;
    let mut escaped = false;
    let end = inside.find(|letter| {
        let ends = letter == quote && !escaped;
        escaped = letter == '\\' && quote == '"' && !escaped;
        ends
    })?;
    let rest = inside[end + 1..].trim_start();
    (rest.is_empty() || rest.starts_with('#')).then(|| &inside[..end])
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => plain.push('\n'),
                Some('r') => plain.push('\r'),
                Some('t') => plain.push('\t'),
                Some(other) => plain.push(other),
                None => plain.push('\\'),
            },
            letter => plain.push(letter),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn cases() {
        let cases = [
            ("A=1\n\n# no\nB=2", Ok(vec![("A", "1"), ("B", "2")])),
            ("export A = x y # z\r\n", Ok(vec![("A", "x y")])),
            ("A='x # $y'", Ok(vec![("A", "x # $y")])),
            ("A=\"l\\nm \\\"q\\\"\" # c", Ok(vec![("A", "l\nm \"q\"")])),
            ("A=a=b#c", Ok(vec![("A", "a=b#c")])),
            ("A=\nB=\"open", Ok(vec![("A", ""), ("B", "\"open")])),
            ("A=1\nwhat", Err(2)),
            ("=1", Err(1)),
            ("A B=1", Err(1)),
        ];
        for (text, expected) in cases {
            let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
            let expected = expected.map(|all| all.into_iter().map(owned).collect::<Vec<_>>());
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
