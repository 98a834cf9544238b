//! Reads the keys of a configuration.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use gantry_protocol::json::JsonKind;
use gantry_protocol::{JsonError, JsonLimits, RawJson};
use gantry_providers::tools::manifest::expand::{ExpandError, expand};
use gantry_providers::tools::manifest::nearest::nearest;

use super::{Config, ConfigError, Inline, Lookup, Place, ToolLimits, jsonc, limits, standby};

const KEYS: [&str; 7] = ["listen", "tools", "uv", "standby", "toolLimits", "state", "$schema"];

/// Keys that have a meaning, but are not built yet.
const NOT_YET: [&str; 7] =
    ["mcpServers", "auth", "policy", "limits", "model", "workspace", "include"];

/// The text, and what is needed to read it.
pub(super) struct Reader<'a> {
    file: &'a Path,
    text: Bytes,
    environment: Lookup<'a>,
}

pub(super) fn document(
    file: &Path,
    text: &[u8],
    environment: Lookup<'_>,
) -> Result<Config, ConfigError> {
    let syntax = |offset: usize, reason: &str| ConfigError::Syntax {
        place: Place::of(file, text, offset),
        reason: reason.to_owned(),
    };
    let plain = jsonc::blank(text).map_err(|at| syntax(at, "the comment has no end"))?;
    let text = Bytes::from(plain);
    let document = RawJson::parse(text.clone(), JsonLimits::default()).map_err(|error| {
        let offset = offset_of(&text, &error);
        let whole = error_text(&error);
        syntax(offset, whole.split(" at line ").next().unwrap_or_default())
    })?;
    let reader = Reader { file, text, environment };
    if !document.is_object() {
        return Err(reader.form(
            &document,
            "the configuration",
            "an object: {\"tools\": [\"./tools\"]}",
        ));
    }
    reader.check_keys(&document, &KEYS, &NOT_YET)?;
    let mut config = Config {
        file: file.to_owned(),
        listen: reader.text(&document, "listen", "an address such as \"127.0.0.1:4268\"")?,
        state: reader.state(&document)?,
        uv: reader.uv(&document)?,
        tool_limits: match document.get("toolLimits") {
            Some(value) => limits::read(&reader, &value)?,
            None => ToolLimits::default(),
        },
        standby: document.get("standby").map(|it| standby::read(&reader, &it)).transpose()?,
        ..Config::default()
    };
    reader.tools(&document, &mut config)?;
    Ok(config)
}

impl Reader<'_> {
    /// Lets an object pass whose keys are all known, each once.
    pub(super) fn check_keys(
        &self,
        object: &RawJson,
        known: &[&str],
        later: &[&str],
    ) -> Result<(), ConfigError> {
        let mut seen: Vec<String> = Vec::new();
        for member in object.members() {
            let key = member.key().into_owned();
            let place = self.place_of_key(&key, &member.value());
            if later.contains(&key.as_str()) {
                return Err(ConfigError::NotYet { place, key });
            }
            if !known.contains(&key.as_str()) {
                let advice = match nearest(&key, &[known, later].concat()) {
                    Some(meant) => format!("write `{meant}`, or remove it"),
                    None => format!("remove it; the keys are {}", known.join(", ")),
                };
                return Err(ConfigError::UnknownKey { place, key, advice });
            }
            if seen.contains(&key) {
                return Err(ConfigError::Doubled { place, key });
            }
            seen.push(key);
        }
        Ok(())
    }

    /// A string with its variables replaced.
    fn text(
        &self,
        document: &RawJson,
        key: &str,
        expected: &'static str,
    ) -> Result<Option<String>, ConfigError> {
        document.get(key).map(|value| self.expanded(&value, key, expected)).transpose()
    }

    fn expanded(
        &self,
        value: &RawJson,
        key: &str,
        expected: &'static str,
    ) -> Result<String, ConfigError> {
        let text = value.to_text().filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| self.form(value, key, expected))?;
        expand(&text, self.environment).map_err(|error| match error {
            ExpandError::Unset(name) => {
                ConfigError::Unset { place: self.place(value), key: key.to_owned(), name }
            }
            ExpandError::Open => self.form(value, key, "`${VAR}` with its closing `}`"),
        })
    }

    fn tools(&self, document: &RawJson, config: &mut Config) -> Result<(), ConfigError> {
        const EXPECTED: &str = "a list of folders and manifests, such as [\"./tools\"]";
        let Some(tools) = document.get("tools") else { return Ok(()) };
        if tools.kind() != JsonKind::Array {
            return Err(self.form(&tools, "tools", EXPECTED));
        }
        for item in tools.elements() {
            if item.is_object() {
                config.inline.push(Inline { place: self.place(&item), manifest: item });
            } else {
                let folder = self.expanded(&item, "tools", EXPECTED)?;
                config.folders.push(self.path(&folder));
            }
        }
        Ok(())
    }

    /// A bare name is looked for on `PATH`; anything else is a path.
    fn uv(&self, document: &RawJson) -> Result<Option<PathBuf>, ConfigError> {
        let given = self.text(document, "uv", "the path of `uv`")?;
        Ok(given.map(|uv| if uv.contains('/') { self.path(&uv) } else { PathBuf::from(uv) }))
    }

    fn state(&self, document: &RawJson) -> Result<Option<String>, ConfigError> {
        const EXPECTED: &str = "the file of the store, or its address: \"sqlite://…\"";
        let Some(given) = self.text(document, "state", EXPECTED)? else { return Ok(None) };
        let path = given.strip_prefix("sqlite://").unwrap_or(&given);
        if path.contains("://") {
            let value = document.get("state").unwrap_or(RawJson::NULL);
            return Err(self.form(&value, "state", EXPECTED));
        }
        Ok(Some(format!("sqlite://{}", self.path(path).display())))
    }

    /// A value of the right form; `expected` says what that is.
    pub(super) fn value<T>(
        &self,
        object: &RawJson,
        key: &str,
        expected: &'static str,
        read: impl Fn(&RawJson) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(value) = object.get(key) else { return Ok(None) };
        read(&value).map(Some).ok_or_else(|| self.form(&value, key, expected))
    }

    /// A path from the file's folder; `~/` is the user's home.
    fn path(&self, path: &str) -> PathBuf {
        let home = path.strip_prefix("~/").zip((self.environment)("HOME"));
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        let whole =
            home.map_or_else(|| folder.join(path), |(rest, home)| Path::new(&home).join(rest));
        // `./tools` and `tools` are one folder and should be shown as one.
        whole.components().collect()
    }

    pub(super) fn form(&self, value: &RawJson, key: &str, expected: &'static str) -> ConfigError {
        ConfigError::Form { place: self.place(value), key: key.to_owned(), expected }
    }

    fn offset(&self, value: &RawJson) -> usize {
        // A value is a part of the file's own bytes, so its address tells where it stands.
        (value.bytes().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }

    fn place(&self, value: &RawJson) -> Place {
        Place::of(self.file, &self.text, self.offset(value))
    }

    /// Where the key of a value begins: the last time it is written before the value.
    fn place_of_key(&self, key: &str, value: &RawJson) -> Place {
        let offset = self.offset(value);
        let written = RawJson::string(key);
        let before = self.text.get(..offset).unwrap_or_default();
        let mut windows = before.windows(written.bytes().len());
        let found = windows.rposition(|window| window == &written.bytes()[..]);
        Place::of(self.file, &self.text, found.unwrap_or(offset))
    }
}

fn error_text(error: &JsonError) -> String {
    match error {
        JsonError::Syntax(error) => error.to_string(),
        other => other.to_string(),
    }
}

/// The byte at which the text stops being JSON.
fn offset_of(text: &[u8], error: &JsonError) -> usize {
    match error {
        JsonError::Syntax(error) => {
            let lines = text.split_inclusive(|byte| *byte == b'\n');
            let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
            before + error.column().saturating_sub(1)
        }
        JsonError::NotUtf8 { at } => *at,
        _ => 0,
    }
}
