//! The configuration of a project and that of its user, as one.

use std::path::{Path, PathBuf};

use gantry_server::AllowedHosts;

use super::load_state::LoadState;
use super::read::document;
use super::{Config, ConfigError, Lookup};

/// Reads the layers, the one that counts most first.
pub(super) fn read(
    layers: &[PathBuf],
    environment: Lookup<'_>,
    load_state: &LoadState,
) -> Result<Config, ConfigError> {
    let mut whole: Option<Config> = None;
    let mut read = Vec::new();
    for layer in layers {
        let file = std::path::absolute(layer).unwrap_or_else(|_| layer.clone());
        // It may be included by a layer before it.
        if !load_state.touch(&file) {
            continue;
        }
        let config = one(&file, environment, load_state)?;
        read.push(file);
        match &mut whole {
            None => whole = Some(config),
            Some(whole) => whole.underlay(config, load_state),
        }
    }
    let mut config = whole.unwrap_or_default();
    config.layers = read;
    Ok(config)
}

fn one(
    file: &Path,
    environment: Lookup<'_>,
    load_state: &LoadState,
) -> Result<Config, ConfigError> {
    let text = std::fs::read(file)
        .map_err(|error| ConfigError::Unreadable { file: file.to_owned(), error })?;
    document(file, &text, environment, load_state, &[])
}

impl Config {
    /// Takes over what another layer says and this one does not. How the gateway is reached, who may
    /// reach it and where it keeps its store is said by the first layer alone: a project that has its
    /// own file keeps its address and its tokens, whatever its user writes elsewhere.
    fn underlay(&mut self, mut other: Self, load_state: &LoadState) {
        other.listen = None;
        other.auth = None;
        other.http = None;
        other.metrics = None;
        other.names = AllowedHosts::default();
        other.state = None;
        let (above, below) = (self.file.display(), other.file.display());
        let places = &self.places;
        other.servers.retain(|server| {
            let is_above = places.contains_key(&server.name);
            if is_above {
                let name = &server.name;
                load_state
                    .note(format!("{above} has a server `{name}`, so that of {below} is not used"));
            }
            !is_above
        });
        let profiles = &self.profiles;
        other.profiles.retain(|profile| {
            let is_above = profiles.iter().any(|it| it.name == profile.name);
            if is_above {
                let name = &profile.name;
                load_state.note(format!(
                    "{above} has a profile `{name}`, so that of {below} is not used"
                ));
            }
            !is_above
        });
        self.absorb(other, load_state);
    }
}
