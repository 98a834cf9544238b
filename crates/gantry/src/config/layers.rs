//! The configuration of a project and that of its user, as one.

use std::path::{Path, PathBuf};

use gantry_server::Names;

use super::gathered::Gathered;
use super::read::document;
use super::{Config, ConfigError, Lookup};

/// Reads the layers, the one that counts most first.
pub(super) fn read(
    layers: &[PathBuf],
    environment: Lookup<'_>,
    gathered: &Gathered,
) -> Result<Config, ConfigError> {
    let mut whole: Option<Config> = None;
    let mut read = Vec::new();
    for layer in layers {
        let file = std::path::absolute(layer).unwrap_or_else(|_| layer.clone());
        // It may be included by a layer before it.
        if !gathered.touch(&file) {
            continue;
        }
        let config = one(&file, environment, gathered)?;
        read.push(file);
        match &mut whole {
            None => whole = Some(config),
            Some(whole) => whole.underlay(config, gathered),
        }
    }
    let mut config = whole.unwrap_or_default();
    config.layers = read;
    Ok(config)
}

fn one(file: &Path, environment: Lookup<'_>, gathered: &Gathered) -> Result<Config, ConfigError> {
    let text = std::fs::read(file)
        .map_err(|error| ConfigError::Unreadable { file: file.to_owned(), error })?;
    document(file, &text, environment, gathered, &[])
}

impl Config {
    /// Takes over what another layer says and this one does not. How the gateway is reached, who may
    /// reach it and where it keeps its store is said by the first layer alone: a project that has its
    /// own file keeps its address and its tokens, whatever its user writes elsewhere.
    fn underlay(&mut self, mut other: Self, gathered: &Gathered) {
        other.listen = None;
        other.auth = None;
        other.http = None;
        other.metrics = None;
        other.names = Names::default();
        other.state = None;
        let (above, below) = (self.file.display(), other.file.display());
        let places = &self.places;
        other.servers.retain(|server| {
            let is_above = places.contains_key(&server.name);
            if is_above {
                let name = &server.name;
                gathered
                    .note(format!("{above} has a server `{name}`, so that of {below} is not used"));
            }
            !is_above
        });
        let profiles = &self.profiles;
        other.profiles.retain(|profile| {
            let is_above = profiles.iter().any(|it| it.name == profile.name);
            if is_above {
                let name = &profile.name;
                gathered.note(format!(
                    "{above} has a profile `{name}`, so that of {below} is not used"
                ));
            }
            !is_above
        });
        self.absorb(other, gathered);
    }
}
