//! An entry of any client as it stands in `gantry.json`, with what was lost on the way.

use std::path::{Path, PathBuf};

use gantry::{ObjectWriter, RawJson};
use gantry_protocol::JsonLimits;
use gantry_protocol::json::JsonKind;
use http::Uri;

use crate::config::timeout_in_seconds;

/// An entry of `gantry.json`.
#[derive(Debug)]
pub(crate) struct Translated {
    pub(crate) entry: RawJson,
    /// What the user should know of it.
    pub(crate) notes: Vec<String>,
}

/// Keys that go over, each with all words there are for it; in this order.
const KEPT: [&[&str]; 18] = [
    &["cwd"],
    &["envFile"],
    &["timeout", "requestTimeout"],
    &["startup_timeout_sec"],
    &["startup_timeout_ms"],
    &["prefix"],
    &["include", "includeTools", "enabled_tools"],
    &["exclude", "excludeTools", "disabledTools", "disabled_tools"],
    &["tools"],
    &["share"],
    &["era", "protocolEra"],
    &["start"],
    &["idle"],
    &["lifetime"],
    &["refresh"],
    &["restart"],
    &["roots"],
    &["oauth"],
];

/// Words for the way to a server, in the order in which they are believed.
const KINDS: [&str; 4] = ["type", "transport", "transportType", "protocol"];

/// Words for its address.
const ADDRESSES: [&str; 3] = ["url", "httpUrl", "serverUrl"];

/// Other keys that are read.
const READ: [&str; 13] = [
    "command",
    "args",
    "env",
    "environment",
    "env_vars",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "tool_timeout_sec",
    "enabled",
    "disabled",
    "source",
];

/// Translates an entry of a file, or says why there can be none.
pub(crate) fn translate(file: &Path, entry: &RawJson) -> Result<Translated, String> {
    if !entry.is_object() {
        return Err("its entry is not an object".to_owned());
    }
    let mut notes = Vec::new();
    let (entry, variables) = without_inputs(entry);
    notes.extend(variables.iter().map(|it| format!("set the variable `{it}`")));
    let unknown = entry.members().map(|it| it.key().into_owned());
    let unknown = unknown.filter(|key| {
        let others = [&KINDS[..], &ADDRESSES, &READ];
        !KEPT.iter().chain(&others).any(|words| words.contains(&key.as_str()))
    });
    notes.extend(unknown.map(|it| format!("left out `{it}`, which means nothing here")));
    let written = match place(&entry)? {
        Place::Command(words) => of_command(&entry, &words),
        Place::Address(kind, url) => of_address(&entry, kind, &url),
    };
    let seconds = entry.get("tool_timeout_sec").and_then(|it| it.read::<f64>());
    let seconds = seconds.or(timeout_in_seconds(file, &entry));
    let is_disabled =
        flag(&entry, "disabled") == Some(true) || flag(&entry, "enabled") == Some(false);
    let mut written = written
        .value_some("timeout", seconds.map(|it| (it * 1000.0) as u64))
        .value_some("disabled", is_disabled.then_some(true));
    for words in KEPT.iter().filter(|words| seconds.is_none() || words[0] != "timeout") {
        let value = words.iter().find_map(|word| entry.get(word)).filter(|it| !it.is_null());
        written = written.raw_some(words[0], value.as_ref());
    }
    Ok(Translated { entry: written.finish(), notes })
}

/// Where a server is.
enum Place {
    Command(Vec<String>),
    /// The type to write, if it cannot be seen from the address, and the address.
    Address(Option<&'static str>, String),
}

fn place(entry: &RawJson) -> Result<Place, String> {
    let text = |key: &str| entry.get(key).and_then(|it| it.to_text());
    let kind = KINDS.into_iter().find_map(text);
    let url = ADDRESSES.into_iter().find_map(text);
    let words = command(entry);
    let kind = match kind.as_deref() {
        None | Some("remote" | "auto") => None,
        Some("stdio" | "local") => {
            return words.map(Place::Command).ok_or_else(|| "it has no `command`".to_owned());
        }
        Some("http" | "streamable-http" | "streamableHttp" | "streamable_http") => Some("http"),
        Some("sse") => Some("sse"),
        Some("ws" | "websocket") => Some("ws"),
        Some(other) => return Err(format!("its type `{other}` is not known here")),
    };
    match (words, url) {
        (Some(words), _) if kind.is_none() => Ok(Place::Command(words)),
        (_, Some(url)) if is_address(&url, kind) => Ok(Place::Address(kind, url)),
        (_, Some(url)) => Err(format!("its address `{url}` cannot be reached from here")),
        (Some(_), None) => Err("it has no `url`".to_owned()),
        (None, None) => Err("it has neither `command` nor `url`".to_owned()),
    }
}

/// Whether a server of that type can be at an address. What variables will make of it is not known
/// yet.
pub(crate) fn is_address(url: &str, kind: Option<&str>) -> bool {
    if url.contains("${") || url.contains("{env:") {
        return true;
    }
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let is_fit = match (uri.scheme_str(), kind) {
        (Some("http" | "https"), kind) => kind != Some("ws"),
        (Some("ws" | "wss"), kind) => matches!(kind, None | Some("ws")),
        _ => false,
    };
    is_fit && uri.host().is_some_and(|it| !it.is_empty())
}

/// The words of the command: one string and `args`, one list, or an object with both.
fn command(entry: &RawJson) -> Option<Vec<String>> {
    let command = entry.get("command")?;
    let args = |object: &RawJson| object.get("args")?.read::<Vec<String>>();
    let words = match command.kind() {
        JsonKind::String => {
            let args = args(entry).unwrap_or_default();
            command.to_text().into_iter().chain(args).collect()
        }
        JsonKind::Array => {
            let args = args(entry).unwrap_or_default();
            command.read::<Vec<String>>()?.into_iter().chain(args).collect()
        }
        _ => {
            let path = command.get("path").and_then(|it| it.to_text());
            path.into_iter().chain(args(&command).unwrap_or_default()).collect::<Vec<_>>()
        }
    };
    Some(words).filter(|words| words.first().is_some_and(|it| !it.is_empty()))
}

fn of_command(entry: &RawJson, words: &[String]) -> ObjectWriter {
    let nested = entry.at(&["command", "env"]);
    let env = entry.get("env").or_else(|| entry.get("environment")).or(nested);
    let mut env = env.map(|env| pairs(&env)).unwrap_or_default();
    let passed = entry.get("env_vars").and_then(|it| it.read::<Vec<String>>());
    env.extend(passed.into_iter().flatten().map(|it| (it.clone(), format!("${{{it}}}"))));
    let (command, args) = words.split_first().map_or(("", words), |(it, rest)| (it.as_str(), rest));
    let written = ObjectWriter::new().value("command", command);
    let written = written.value_some("args", Some(args).filter(|it| !it.is_empty()));
    written.raw_some("env", object(env).as_ref())
}

fn of_address(entry: &RawJson, kind: Option<&str>, url: &str) -> ObjectWriter {
    let mut headers = Vec::new();
    if let Some(name) = entry.get("bearer_token_env_var").and_then(|it| it.to_text()) {
        headers.push(("Authorization".to_owned(), format!("Bearer ${{{name}}}")));
    }
    for key in ["headers", "http_headers"] {
        headers.extend(entry.get(key).map(|it| pairs(&it)).unwrap_or_default());
    }
    let named = entry.get("env_http_headers").map(|it| pairs(&it)).unwrap_or_default();
    headers.extend(named.into_iter().map(|(name, variable)| (name, format!("${{{variable}}}"))));
    let written = ObjectWriter::new().value_some("type", kind).value("url", url);
    written.raw_some("headers", object(headers).as_ref())
}

/// Names with values. A number or a truth value is given as its text, and a null is nothing.
fn pairs(object: &RawJson) -> Vec<(String, String)> {
    let value = |value: RawJson| value.to_text().unwrap_or_else(|| value.as_str().to_owned());
    let given = object.members().filter(|it| !it.value().is_null());
    given.map(|it| (it.key().into_owned(), value(it.value()))).collect()
}

fn object(pairs: Vec<(String, String)>) -> Option<RawJson> {
    let is_empty = pairs.is_empty();
    let written =
        pairs.into_iter().fold(ObjectWriter::new(), |object, (name, it)| object.value(&name, &it));
    (!is_empty).then(|| written.finish())
}

fn flag(entry: &RawJson, key: &str) -> Option<bool> {
    entry.get(key)?.read()
}

/// The entry with `${input:api-key}`, which asks a user of VS Code, as the variable `${API_KEY}`,
/// and the names of those variables.
fn without_inputs(entry: &RawJson) -> (RawJson, Vec<String>) {
    const BEGIN: &str = "${input:";
    let mut names: Vec<String> = Vec::new();
    let mut parts = entry.as_str().split(BEGIN);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let Some((id, rest)) = part.split_once('}') else {
            text.push_str(BEGIN);
            text.push_str(part);
            continue;
        };
        let letter =
            |it: char| if it.is_ascii_alphanumeric() { it.to_ascii_uppercase() } else { '_' };
        let name: String = id.chars().map(letter).collect();
        text.push_str(&format!("${{{name}}}{rest}"));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let changed = RawJson::parse(text, JsonLimits::default());
    (changed.unwrap_or_else(|_| entry.clone()), names)
}

/// The entry with paths that were seen from `base` as they are seen from `folder`.
pub(crate) fn rooted(entry: &RawJson, base: &Path, folder: &Path) -> RawJson {
    if base == folder {
        return entry.clone();
    }
    let whole = |path: String| -> Option<RawJson> {
        let is_plain = path.starts_with(['/', '~', '$', '{']);
        let whole: PathBuf = base.join(&path).components().collect();
        (!is_plain).then(|| RawJson::string(&whole.to_string_lossy()))
    };
    let text = |key: &str| entry.get(key).and_then(|it| it.to_text());
    // A command without a slash is looked for on `PATH`.
    let command = text("command").filter(|it| it.contains('/')).and_then(whole);
    let edit = entry.edit().set_some("command", command);
    let edit = edit.set_some("cwd", text("cwd").and_then(whole));
    edit.set_some("envFile", text("envFile").and_then(whole)).apply()
}

/// The longest name of a server.
const LONGEST: usize = 64;

/// The nearest name that a server may have; empty when nothing is left of it.
pub(crate) fn plain_name(name: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
    if !name.is_empty()
        && name.len() <= LONGEST
        && !name.starts_with('.')
        && name.chars().all(is_plain)
    {
        return name.to_owned();
    }
    let plain = name.trim().chars().map(|it| if is_plain(it) { it } else { '-' });
    plain.take(LONGEST).collect::<String>().trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_told() {
        let entry = RawJson::from_static(
            r#"{"command": "x", "env": {"K": "${input:my-key} ${input:my-key}", "N": 1}, "alwaysAllow": ["a"]}"#,
        );
        let translated = translate(Path::new(""), &entry).expect("an entry");
        let expected = r#"{"command":"x","env":{"K":"${MY_KEY} ${MY_KEY}","N":"1"}}"#;
        assert_eq!(translated.entry.compact().as_str(), expected);
        assert_eq!(
            translated.notes,
            ["set the variable `MY_KEY`", "left out `alwaysAllow`, which means nothing here"]
        );
    }

    #[test]
    fn paths_keep_their_meaning() {
        let cases = [
            (r#"{"command": "npx"}"#, r#"{"command": "npx"}"#),
            (r#"{"command": "./run"}"#, r#"{"command": "/a/run"}"#),
            (r#"{"command": "/bin/x", "cwd": "b"}"#, r#"{"command": "/bin/x", "cwd": "/a/b"}"#),
            (
                r#"{"command": "~/x", "cwd": "${workspaceFolder}"}"#,
                r#"{"command": "~/x", "cwd": "${workspaceFolder}"}"#,
            ),
        ];
        for (text, expected) in cases {
            let entry = RawJson::from_static(text);
            let moved = rooted(&entry, Path::new("/a"), Path::new("/b"));
            assert_eq!(moved.compact(), RawJson::from_static(expected).compact(), "{text}");
            assert_eq!(rooted(&entry, Path::new("/a"), Path::new("/a")), entry, "{text}");
        }
    }

    #[test]
    fn names() {
        let long = "x".repeat(65);
        let cases = [
            ("a-B_1.c", "a-B_1.c"),
            ("-a-", "-a-"),
            (" my server ", "my-server"),
            (".hidden", "hidden"),
            ("a/é", "a"),
            ("é/", ""),
            ("", ""),
            (&long, &long[..64]),
        ];
        for (name, expected) in cases {
            assert_eq!(plain_name(name), expected, "{name}");
        }
    }

    #[test]
    fn addresses() {
        let cases = [
            ("https://h/mcp", None, true),
            ("https://h/mcp", Some("http"), true),
            ("https://h/mcp", Some("sse"), true),
            ("https://h/mcp", Some("ws"), false),
            ("ws://h", None, true),
            ("wss://h", Some("ws"), true),
            ("wss://h", Some("sse"), false),
            ("${BASE}/mcp", Some("ws"), true),
            ("ftp://h", None, false),
            ("https://", None, false),
            ("https://a b", None, false),
            ("h:80", None, false),
        ];
        for (url, kind, expected) in cases {
            assert_eq!(is_address(url, kind), expected, "{url} {kind:?}");
        }
    }
}
