//! The entry of one server: what is said of it in any dialect, and what that means here.

pub(crate) mod options;
pub(crate) mod target;

use gantry_client::Settings;
use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;
use gantry_providers::units;
use gantry_providers::upstreams::{Share, UpstreamConfig};

use crate::config::ConfigError;
use crate::config::read::Reader;
use crate::config::variables::expand;

/// One entry, and the file it stands in.
pub(crate) struct Entry<'a> {
    pub(crate) reader: &'a Reader<'a>,
    pub(crate) name: &'a str,
    pub(crate) value: RawJson,
    /// Whether every key must be known.
    pub(crate) is_strict: bool,
}

/// The server that an entry describes. Where its surroundings lack something, it is described all
/// the same, with the reason in the place of its target.
pub(crate) fn read(entry: &Entry<'_>) -> Result<UpstreamConfig, ConfigError> {
    check(entry)?;
    let mut server = bare(entry.name, entry.reader, Err(String::new()));
    options::read(entry, &mut server)?;
    read_limits(entry, &mut server)?;
    server.target = match target::read(entry) {
        Ok(target) => Ok(target),
        // One that is switched off need not be complete.
        Err(error) if error.is_of_surroundings() || server.disabled => Err(error.to_string()),
        Err(error) => return Err(error),
    };
    Ok(server)
}

/// A server that cannot be used, and why.
pub(crate) fn unavailable(name: &str, reader: &Reader<'_>, error: &ConfigError) -> UpstreamConfig {
    bare(name, reader, Err(error.to_string()))
}

fn bare(
    name: &str,
    reader: &Reader<'_>,
    target: Result<gantry_client::Target, String>,
) -> UpstreamConfig {
    UpstreamConfig {
        name: name.to_owned(),
        source: Some(reader.source.file.clone()),
        target,
        client: Settings::default(),
        disabled: false,
        prefix: None,
        include: Vec::new(),
        exclude: Vec::new(),
        overrides: Default::default(),
        task: false,
        share: Share::default(),
        refresh: None,
        validation: None,
        templates: 1024 * 1024,
        secrets: Vec::new(),
    }
}

impl Entry<'_> {
    /// The first of these keys that is there, with its value.
    fn first<'k>(&self, keys: &[&'k str]) -> Option<(&'k str, RawJson)> {
        keys.iter().find_map(|key| Some((*key, self.value.get(key)?)))
    }

    fn form(&self, value: &RawJson, key: &str, expected: &'static str) -> ConfigError {
        self.reader.form(value, key, expected)
    }

    /// What is wrong with the entry as a whole.
    fn fault(&self, reason: &'static str) -> ConfigError {
        let place = self.reader.source.place_of_key(self.name, &self.value);
        ConfigError::Server { place, name: self.name.to_owned(), reason }
    }

    /// A text, or a number or boolean as text, with its variables replaced. It may be empty.
    fn scalar(&self, value: &RawJson, key: &str) -> Result<String, ConfigError> {
        let text = match value.kind() {
            JsonKind::String => value.to_text(),
            JsonKind::Number | JsonKind::Boolean => Some(value.as_str().to_owned()),
            _ => None,
        };
        let text = text.ok_or_else(|| self.form(value, key, "a text"))?;
        expand(self.reader, &text).map_err(|error| self.reader.wrong_value(value, key, error))
    }

    /// A list of texts with their variables replaced.
    fn scalars(&self, value: &RawJson, key: &str) -> Result<Vec<String>, ConfigError> {
        if value.kind() != JsonKind::Array {
            return Err(self.form(value, key, "a list of texts"));
        }
        value.elements().map(|element| self.scalar(&element, key)).collect()
    }

    /// An object of texts with their variables replaced; a null is nothing.
    fn pairs(&self, key: &str) -> Result<Vec<(String, Option<String>)>, ConfigError> {
        let Some(value) = self.value.get(key) else { return Ok(Vec::new()) };
        self.pairs_of(&value, key)
    }

    fn pairs_of(
        &self,
        value: &RawJson,
        key: &str,
    ) -> Result<Vec<(String, Option<String>)>, ConfigError> {
        if !value.is_object() {
            return Err(self.form(value, key, "an object of texts: {\"NAME\": \"value\"}"));
        }
        let mut pairs = Vec::new();
        for member in value.members() {
            let (name, value) = (member.key().into_owned(), member.value());
            let text = match value.is_null() {
                true => None,
                false => Some(self.scalar(&value, &format!("{key}.{name}"))?),
            };
            pairs.push((name, text));
        }
        Ok(pairs)
    }
}

const LIMIT_KEYS: [&str; 10] = [
    "items",
    "definition",
    "definitions",
    "page",
    "batch",
    "messages",
    "stderr",
    "disconnectAfter",
    "validation",
    "templates",
];
const SIZE: &str = "bytes, or a text such as \"64KiB\"";
const NUMBER: &str = "a number above zero";

pub(crate) fn read_limits(
    entry: &Entry<'_>,
    server: &mut UpstreamConfig,
) -> Result<(), ConfigError> {
    let Some(value) = entry.value.get("limits") else { return Ok(()) };
    if !value.is_object() {
        return Err(entry.form(&value, "limits", "an object: {\"definition\": \"64KiB\"}"));
    }
    if entry.is_strict {
        entry.reader.check_keys(&value, &LIMIT_KEYS, &[])?;
    }
    let reader = entry.reader;
    let bytes = |key| {
        let read = reader.value(&value, key, SIZE, units::size)?;
        Ok::<_, ConfigError>(read.map(|it| usize::try_from(it).unwrap_or(usize::MAX)))
    };
    let number = |key| reader.value(&value, key, NUMBER, above_zero);
    let client = &mut server.client;
    set(&mut client.lists.items, number("items")?);
    set(&mut client.lists.definition, bytes("definition")?);
    set(&mut client.lists.total, bytes("definitions")?);
    set(&mut client.lists.page, bytes("page")?);
    set(&mut client.batch, number("batch")?);
    set(&mut client.flood.messages, reader.value(&value, "messages", NUMBER, above_zero)?);
    let stderr = bytes("stderr")?.map(|it| u32::try_from(it).unwrap_or(u32::MAX));
    set(&mut client.flood.stderr, stderr);
    let time = "milliseconds, or \"30s\"";
    let after = reader.value(&value, "disconnectAfter", time, units::duration)?;
    set(&mut client.flood.disconnect_after, after);
    server.validation = number("validation")?.or(server.validation);
    set(&mut server.templates, bytes("templates")?);
    Ok(())
}

fn above_zero<T>(value: &RawJson) -> Option<T>
where
    T: serde::de::DeserializeOwned + PartialOrd + Default,
{
    value.read().filter(|number: &T| *number > T::default())
}

fn set<T>(setting: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *setting = given;
    }
}

/// Keys that mean something here.
const OURS: &[&str] = &[
    "command", "args", "env", "cwd", "envFile", "url", "headers", "type", "enabled", "disabled",
    "timeout", "prefix", "include", "exclude", "tools", "task", "share", "era", "start", "idle",
    "lifetime", "refresh", "restart", "retry", "roots", "limits", "name",
];

/// Words of other programs for the same things.
const THEIRS: &[&str] = &[
    "environment",
    "httpUrl",
    "serverUrl",
    "transport",
    "transportType",
    "protocol",
    "protocolEra",
    "requestTimeout",
    "includeTools",
    "excludeTools",
    "disabledTools",
    "enabled_tools",
    "disabled_tools",
    "options",
    "env_vars",
    "bearer_token_env_var",
    "http_headers",
    "env_http_headers",
    "startup_timeout_sec",
    "startup_timeout_ms",
    "tool_timeout_sec",
];

/// Keys of other programs that are known and mean nothing here.
const WITHOUT_MEANING: &[&str] = &[
    "alwaysAllow",
    "autoApprove",
    "auth",
    "authProviderType",
    "dev",
    "debug",
    "description",
    "displayName",
    "experimental_environment",
    "default_tools_approval_mode",
    "gallery",
    "group",
    "icon",
    "id",
    "isActive",
    "isolation",
    "metadata",
    "note",
    "oauth",
    "oauth_resource",
    "registryUrl",
    "required",
    "sandbox",
    "sandboxEnabled",
    "scopes",
    "settings",
    "source",
    "startup",
    "supports_parallel_tool_calls",
    "tags",
    "targetAudience",
    "title",
    "trust",
    "version",
];

/// Lets the keys of an entry pass, and notes those without a meaning.
pub(crate) fn check(entry: &Entry<'_>) -> Result<(), ConfigError> {
    let mut seen: Vec<String> = Vec::new();
    for member in entry.value.members() {
        let (key, value) = (member.key().into_owned(), member.value());
        let place = || entry.reader.source.place_of_key(&key, &value);
        if entry.is_strict && seen.contains(&key) {
            return Err(ConfigError::Doubled { place: place(), key });
        }
        // Keys such as `_comment` and `//` are how plain JSON is commented.
        let is_comment = key.starts_with(['_', '/', '#', '$']);
        if OURS.contains(&&*key) || THEIRS.contains(&&*key) {
            seen.push(key);
        } else if entry.is_strict && !is_comment && !WITHOUT_MEANING.contains(&&*key) {
            return Err(entry.reader.unknown_key(&key, &value, OURS, THEIRS));
        } else {
            let name = entry.name;
            let text = format!("{}: `{key}` of the server `{name}` means nothing here", place());
            entry.reader.load_state.note(text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{OURS, THEIRS, WITHOUT_MEANING};
    use crate::config::SCHEMA;

    #[test]
    fn the_schema_has_every_key() {
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).expect("JSON");
        let keys = schema["$defs"]["server"]["properties"].as_object().expect("keys");
        let written: BTreeSet<&str> = keys.keys().map(String::as_str).collect();
        let known = [OURS, THEIRS, WITHOUT_MEANING].concat();
        assert_eq!(written, known.into_iter().collect());
    }
}
