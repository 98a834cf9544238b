//! Where a server is: a program, or an address with its headers.

use std::path::{Path, PathBuf};

use gantry_client::{Endpoint, HttpKind, Secret, Target};
use gantry_process::Program;
use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;
use http::{HeaderName, HeaderValue, Uri};

use crate::config::entry::Entry;
use crate::config::variables::{self, ValueError, text_of};
use crate::config::{ConfigError, dialect, merge};

/// What an entry says of the way to its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Program,
    Web,
    Streamable,
    Events,
    WebSocket,
}

const ADDRESSES: [&str; 3] = ["url", "httpUrl", "serverUrl"];

/// Words for the way to a server, in the order in which they are believed.
const KINDS: [&str; 4] = ["type", "transport", "transportType", "protocol"];

pub(crate) fn read(entry: &Entry<'_>) -> Result<Target, ConfigError> {
    let command = entry.value.get("command");
    let address = entry.first(&ADDRESSES);
    match (kind(entry)?, command, address) {
        (Some(Kind::Program) | None, Some(command), None)
        | (Some(Kind::Program), Some(command), Some(_)) => {
            Ok(Target::Program(read_program(entry, &command)?))
        }
        (Some(Kind::Program), None, _) => Err(entry.fault("has no `command`; say what to start")),
        (Some(kind), _, Some((key, url))) => web(entry, kind, key, &url),
        (None, None, Some((key, url))) => {
            let kind = if key == "httpUrl" { Kind::Streamable } else { Kind::Web };
            web(entry, kind, key, &url)
        }
        (Some(_), _, None) => Err(entry.fault("has no `url`; say where it is")),
        (None, Some(_), Some(_)) => {
            Err(entry.fault("has both `command` and `url`; keep one, or add `type`"))
        }
        (None, None, None) => Err(entry.fault("has neither `command` nor `url`; add one of them")),
    }
}

fn kind(entry: &Entry<'_>) -> Result<Option<Kind>, ConfigError> {
    const EXPECTED: &str = "stdio, http, streamable-http, sse or websocket";
    let Some((key, value)) = entry.first(&KINDS) else { return Ok(None) };
    let word = value.to_text().ok_or_else(|| entry.form(&value, key, EXPECTED))?;
    match word.as_str() {
        "stdio" | "local" => Ok(Some(Kind::Program)),
        "http" => Ok(Some(Kind::Web)),
        "streamable-http" | "streamableHttp" | "streamable_http" => Ok(Some(Kind::Streamable)),
        "sse" => Ok(Some(Kind::Events)),
        "ws" | "websocket" => Ok(Some(Kind::WebSocket)),
        "remote" | "auto" => Ok(None),
        _ => Err(entry.form(&value, key, EXPECTED)),
    }
}

fn web(entry: &Entry<'_>, kind: Kind, key: &str, value: &RawJson) -> Result<Target, ConfigError> {
    const EXPECTED: &str = "an address such as \"https://example.com/mcp\"";
    let text = entry.reader.expanded(value, key, EXPECTED)?;
    let url: Uri = text.parse().map_err(|_| entry.form(value, key, EXPECTED))?;
    if url.scheme().is_none() || url.authority().is_none() {
        return Err(entry.form(value, key, EXPECTED));
    }
    let endpoint = Endpoint { headers: headers(entry)?, ..Endpoint::new(url) };
    let kind = match (kind, endpoint.url.scheme_str().unwrap_or_default()) {
        (Kind::Web | Kind::WebSocket, "ws" | "wss") => return Ok(Target::WebSocket(endpoint)),
        (Kind::Web, "http" | "https") => HttpKind::Auto,
        (Kind::Streamable, "http" | "https") => HttpKind::Streamable,
        (Kind::Events, "http" | "https") => HttpKind::Events,
        (Kind::WebSocket, _) => {
            return Err(entry.form(value, key, "an address with ws:// or wss://"));
        }
        _ => return Err(entry.form(value, key, "an address with http:// or https://")),
    };
    Ok(Target::Http(endpoint, kind))
}

/// The headers of every request, from all the words there are for them.
fn headers(entry: &Entry<'_>) -> Result<Vec<(String, Secret)>, ConfigError> {
    let mut headers = Vec::new();
    for key in ["headers", "http_headers"] {
        for (name, text) in entry.pairs(key)? {
            headers.extend(text.map(|text| (key, name, text)));
        }
    }
    for (name, variable) in entry.pairs("env_http_headers")? {
        let Some(variable) = variable else { continue };
        let text = of_variable(entry, "env_http_headers", &variable)?;
        headers.push(("env_http_headers", name, text));
    }
    if let Some(value) = entry.value.get("bearer_token_env_var") {
        let key = "bearer_token_env_var";
        let variable = entry.reader.expanded(&value, key, "the name of a variable")?;
        let token = of_variable(entry, key, &variable)?;
        headers.push((key, "Authorization".to_owned(), format!("Bearer {token}")));
    }
    let checked = |(key, name, text): (&str, String, String)| {
        let is_right =
            HeaderName::from_bytes(name.as_bytes()).is_ok() && HeaderValue::from_str(&text).is_ok();
        let value = entry.value.get(key).unwrap_or_else(|| entry.value.clone());
        let wrong = || entry.form(&value, &format!("{key}.{name}"), "a header that HTTP allows");
        if is_right { Ok((name, Secret::new(text))) } else { Err(wrong()) }
    };
    headers.into_iter().map(checked).collect()
}

fn of_variable(entry: &Entry<'_>, key: &str, variable: &str) -> Result<String, ConfigError> {
    let value = entry.value.get(key).unwrap_or_else(|| entry.value.clone());
    let found = (entry.reader.environment)(variable).ok_or_else(|| ConfigError::Value {
        place: entry.reader.place(&value),
        key: key.to_owned(),
        error: ValueError::Unset(variable.to_owned()),
    })?;
    entry.reader.load_state.keep_secret(&found);
    Ok(found)
}

const COMMAND: &str = "a program, or a list of a program and its arguments";

pub(crate) fn read_program(entry: &Entry<'_>, command: &RawJson) -> Result<Program, ConfigError> {
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
    let mut environment = merge::environment();
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
    let variables =
        variables::read(&text).map_err(|line| wrong(ValueError::Line { file, line }))?;
    variables.iter().for_each(|(name, value)| reader.load_state.keep_variable(name, value));
    Ok(variables)
}
