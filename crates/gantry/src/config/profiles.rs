//! `profiles`: selections of servers and tools, each under a name of its own.

use gantry_protocol::RawJson;
use gantry_providers::upstreams::Profile;

use super::ConfigError;
use super::read::Reader;
use super::servers::{NAME, is_name, texts};

const KEYS: [&str; 3] = ["servers", "include", "exclude"];

pub(super) fn read(reader: &Reader<'_>, document: &RawJson) -> Result<Vec<Profile>, ConfigError> {
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
        reader.check_keys(&profile, &KEYS, &[])?;
        let list = |key| texts(reader, &profile, key).map(Option::unwrap_or_default);
        let (servers, include, exclude) = (list("servers")?, list("include")?, list("exclude")?);
        profiles.push(Profile { name, servers, include, exclude });
    }
    Ok(profiles)
}
