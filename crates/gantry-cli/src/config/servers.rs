//! The servers of one file, whichever dialect they are written in.

use gantry_client::Secret;
use gantry_protocol::json::JsonKind;
use gantry_protocol::{RawJson, Redactor};
use gantry_providers::upstreams::{Profile, UpstreamConfig};

use crate::config::dialect::{Section, sections};
use crate::config::entry::{self, Entry};
use crate::config::read::Reader;
use crate::config::source::LoadState;
use crate::config::{Config, ConfigError, Place};

/// What a name may be, for errors.
pub(crate) const NAME: &str = "a name of letters, digits, `-`, `_` and `.`";

const LONGEST_NAME: usize = 64;

/// Reads every server of a document.
pub(crate) fn read(
    reader: &Reader<'_>,
    document: &RawJson,
    is_own: bool,
    config: &mut Config,
) -> Result<(), ConfigError> {
    for section in sections(document) {
        if !matches!(section.servers.kind(), JsonKind::Object | JsonKind::Array) {
            let expected = "an object of servers: {\"name\": {\"command\": \"…\"}}";
            let error = reader.form(&section.servers, section.key, expected);
            forgive(error, is_own, reader.load_state)?;
            continue;
        }
        // In a section of another program's form, its own keys may stand beside those known here.
        let is_strict = is_own && section.key == "mcpServers";
        for (name, value) in entries(&section) {
            let place = match section.servers.kind() {
                JsonKind::Array => reader.place(&value),
                _ => reader.source.place_of_key(&name, &value),
            };
            match one(reader, &name, value, &place, is_strict) {
                Ok(server) if is_strict && config.places.contains_key(&name) => {
                    return Err(ConfigError::Doubled { place, key: server.name });
                }
                Ok(server) => add(config, server, place, reader.load_state),
                Err(error) => forgive(error, is_strict, reader.load_state)?,
            }
        }
    }
    Ok(())
}

/// Adds a server unless one of that name is there: the earlier one wins.
pub(crate) fn add(
    config: &mut Config,
    server: UpstreamConfig,
    place: Place,
    load_state: &LoadState,
) {
    if let Some(first) = config.places.get(&server.name) {
        let name = &server.name;
        load_state.warn(format!(
            "{place}: the server `{name}` is given at {first} already; this one is not used, \
             rename it or remove one of them"
        ));
        return;
    }
    config.places.insert(server.name.clone(), place);
    config.servers.push(server);
}

/// What is wrong in a file of another program must not keep this one from running.
fn forgive(error: ConfigError, is_strict: bool, load_state: &LoadState) -> Result<(), ConfigError> {
    if is_strict {
        return Err(error);
    }
    load_state.warn(error.to_string());
    Ok(())
}

/// The entries with their names: the keys of an object, or what the elements of a list say.
fn entries(section: &Section) -> Vec<(String, RawJson)> {
    let named = |entry: RawJson| {
        let name = entry.get("name").and_then(|name| name.to_text()).unwrap_or_default();
        (name, entry)
    };
    match section.servers.kind() {
        JsonKind::Array => section.servers.elements().map(named).collect(),
        _ => {
            let members = section.servers.members();
            members.map(|member| (member.key().into_owned(), member.value())).collect()
        }
    }
}

fn one(
    reader: &Reader<'_>,
    name: &str,
    value: RawJson,
    place: &Place,
    is_strict: bool,
) -> Result<UpstreamConfig, ConfigError> {
    if !is_name(name) {
        let (place, name) = (place.clone(), name.to_owned());
        return Err(ConfigError::Name { place, better: better(&name), name });
    }
    if !value.is_object() {
        return Err(reader.form(&value, name, "an object with `command` or `url`"));
    }
    let entry = Entry { reader, name, value, is_strict };
    let (read, secrets) = reader.load_state.collect(|| entry::read(&entry));
    let mut server = match read {
        // A file of another program: whatever is wrong concerns this server only.
        Err(error) if !is_strict => entry::unavailable(name, reader, &error),
        read => read?,
    };
    if let Err(reason) = &mut server.target {
        // It may name a file whose path has a reference in it.
        *reason = Redactor::new(secrets.iter().map(Secret::expose)).place(reason);
    }
    server.secrets = secrets;
    Ok(server)
}

/// Whether a server or profile may have this name.
pub(crate) fn is_name(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    !name.is_empty()
        && name.len() <= LONGEST_NAME
        && !name.starts_with('.')
        && name.chars().all(is_plain)
}

/// The nearest name that may be used.
fn better(name: &str) -> String {
    let plain = |letter: char| match letter.is_ascii_alphanumeric() || "-_.".contains(letter) {
        true => letter,
        false => '-',
    };
    let better: String = name.trim().chars().map(plain).take(LONGEST_NAME).collect();
    let better = better.trim_matches(['-', '.']).to_owned();
    if better.is_empty() { "server".to_owned() } else { better }
}

/// A list of texts.
pub(crate) fn texts(
    reader: &Reader<'_>,
    object: &RawJson,
    key: &str,
) -> Result<Option<Vec<String>>, ConfigError> {
    reader.value(object, key, "a list of texts", RawJson::read::<Vec<String>>)
}

const PROFILE_KEYS: [&str; 3] = ["servers", "include", "exclude"];

pub(crate) fn read_profiles(
    reader: &Reader<'_>,
    document: &RawJson,
) -> Result<Vec<Profile>, ConfigError> {
    const EXPECTED: &str = "an object of profiles, such as {\"work\": {\"servers\": [\"github\"]}}";
    let Some(value) = document.get("profiles") else { return Ok(Vec::new()) };
    if !value.is_object() {
        return Err(reader.form(&value, "profiles", EXPECTED));
    }
    let mut profiles: Vec<Profile> = Vec::new();
    for member in value.members() {
        let (name, profile) = (member.key().into_owned(), member.value());
        let place = || reader.source.place_of_key(&name, &profile);
        if !is_name(&name) {
            return Err(ConfigError::Form { place: place(), key: name, expected: NAME });
        }
        if profiles.iter().any(|known| known.name == name) {
            return Err(ConfigError::Doubled { place: place(), key: name });
        }
        if !profile.is_object() {
            return Err(reader.form(&profile, &name, EXPECTED));
        }
        reader.check_keys(&profile, &PROFILE_KEYS, &[])?;
        let list = |key| texts(reader, &profile, key).map(Option::unwrap_or_default);
        let (servers, include, exclude) = (list("servers")?, list("include")?, list("exclude")?);
        profiles.push(Profile { name, servers, include, exclude });
    }
    Ok(profiles)
}
