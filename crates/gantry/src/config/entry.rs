//! The entry of one server: what is said of it in any dialect, and what that means here.

mod keys;
mod limits;
mod options;
mod program;
mod target;

use gantry_client::Settings;
use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;
use gantry_providers::upstreams::{Share, UpstreamConfig};

use super::ConfigError;
use super::read::Reader;
use super::variables::expand;

/// One entry, and the file it stands in.
pub(super) struct Entry<'a> {
    pub(super) reader: &'a Reader<'a>,
    pub(super) name: &'a str,
    pub(super) value: RawJson,
    /// Whether every key must be known.
    pub(super) is_strict: bool,
}

/// The server that an entry describes. Where its surroundings lack something, it is described all
/// the same, with the reason in the place of its target.
pub(super) fn read(entry: &Entry<'_>) -> Result<UpstreamConfig, ConfigError> {
    keys::check(entry)?;
    let mut server = bare(entry.name, entry.reader, Err(String::new()));
    options::read(entry, &mut server)?;
    limits::read(entry, &mut server)?;
    server.target = match target::read(entry) {
        Ok(target) => Ok(target),
        // One that is switched off need not be complete.
        Err(error) if error.is_of_surroundings() || server.disabled => Err(error.to_string()),
        Err(error) => return Err(error),
    };
    Ok(server)
}

/// A server that cannot be used, and why.
pub(super) fn unavailable(name: &str, reader: &Reader<'_>, error: &ConfigError) -> UpstreamConfig {
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
