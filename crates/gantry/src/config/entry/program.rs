//! The program of a server: what to start, with which arguments, where, and in which environment.

use std::path::{Path, PathBuf};

use gantry_process::Program;
use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;

use super::super::variables::{ValueError, text_of};
use super::super::{ConfigError, dialect, dotenv, inherit};
use super::Entry;

const COMMAND: &str = "a program, or a list of a program and its arguments";

pub(super) fn read(entry: &Entry<'_>, command: &RawJson) -> Result<Program, ConfigError> {
    let mut words = words(entry, command)?;
    for value in [entry.value.get("args"), command.get("args")].into_iter().flatten() {
        words.extend(entry.scalars(&value, "args")?);
    }
    let mut words = words.into_iter();
    let name = words.next().filter(|name| !name.trim().is_empty());
    let name = name.ok_or_else(|| entry.form(command, "command", COMMAND))?;
    let args: Vec<String> = words.collect();
    if args.is_empty() && name.contains(' ') && !Path::new(&name).exists() {
        let place = entry.reader.place(command);
        entry.reader.load_state.warn(format!(
            "{place}: `command` of the server `{}` has spaces in it; put its arguments into `args`",
            entry.name
        ));
    }
    let directory = entry.value.get("cwd");
    let directory = directory.map(|value| entry.reader.expanded(&value, "cwd", "a folder"));
    Ok(Program {
        program: place_of(entry, &name),
        args,
        env: environment(entry, command)?,
        directory: directory.transpose()?.map(|folder| entry.reader.path(&folder)),
        memory: None,
    })
}

/// What stands in `command`: one word, all of them, or an object of Zed's.
fn words(entry: &Entry<'_>, command: &RawJson) -> Result<Vec<String>, ConfigError> {
    match command.kind() {
        JsonKind::String => Ok(vec![entry.scalar(command, "command")?]),
        JsonKind::Array => entry.scalars(command, "command"),
        JsonKind::Object => {
            let path =
                command.get("path").ok_or_else(|| entry.form(command, "command", COMMAND))?;
            Ok(vec![entry.scalar(&path, "command.path")?])
        }
        _ => Err(entry.form(command, "command", COMMAND)),
    }
}

/// A bare name is looked for on `PATH`; anything else is a path from the file's folder.
fn place_of(entry: &Entry<'_>, name: &str) -> PathBuf {
    if !name.contains('/') {
        return PathBuf::from(name);
    }
    let path = entry.reader.path(name);
    if path.exists() || !entry.reader.source.file.ends_with(dialect::ERASMUS) {
        return path;
    }
    // Erasmus writes paths from the user's home, in a file further down, and may leave out the dot
    // of its folder.
    let home = (entry.reader.environment)("HOME").unwrap_or_default();
    let plain = name.trim_start_matches("./");
    let from_home = [plain.to_owned(), format!(".{plain}")].map(|it| Path::new(&home).join(it));
    from_home.into_iter().find(|path| path.exists()).unwrap_or(path)
}

/// What is inherited, under what a file says, under what the entry says.
fn environment(entry: &Entry<'_>, command: &RawJson) -> Result<Vec<(String, String)>, ConfigError> {
    let mut environment = inherit::environment();
    let mut set = |name: String, value: Option<String>| {
        environment.retain(|(known, _)| *known != name);
        environment.extend(value.map(|value| (name, value)));
    };
    if let Some(value) = entry.value.get("env_vars") {
        for name in entry.scalars(&value, "env_vars")? {
            let found = (entry.reader.environment)(&name);
            found.iter().for_each(|value| entry.reader.load_state.keep_variable(&name, value));
            set(name, found);
        }
    }
    if let Some(value) = entry.value.get("envFile") {
        for (name, text) in of_file(entry, &value)? {
            set(name, Some(text));
        }
    }
    for (name, text) in entry.pairs("environment")?.into_iter().chain(entry.pairs("env")?) {
        set(name, text);
    }
    if let Some(value) = command.get("env") {
        for (name, text) in entry.pairs_of(&value, "command.env")? {
            set(name, text);
        }
    }
    Ok(environment)
}

fn of_file(entry: &Entry<'_>, value: &RawJson) -> Result<Vec<(String, String)>, ConfigError> {
    let reader = entry.reader;
    let file = reader.path(&reader.expanded(value, "envFile", "a file of NAME=value lines")?);
    let wrong = |error| reader.wrong_value(value, "envFile", error);
    let text = text_of(reader, &file).map_err(wrong)?;
    let variables = dotenv::read(&text).map_err(|line| wrong(ValueError::Line { file, line }))?;
    variables.iter().for_each(|(name, value)| reader.load_state.keep_variable(name, value));
    Ok(variables)
}
