//! The configuration, `gantry.json`: JSON with comments and trailing commas. What is unknown or
//! wrong is an error with its place, never silence.

mod error;
pub(crate) mod jsonc;
mod limits;
mod place;
mod read;
mod search;
mod standby;

use std::path::{Path, PathBuf};

use gantry_protocol::RawJson;

pub use error::ConfigError;
pub use limits::ToolLimits;
pub use place::Place;
pub use search::find;
pub use standby::Standby;

/// Finds the value of a variable.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The JSON Schema of the configuration, for editors.
pub const SCHEMA: &str = include_str!("config/schema.json");

/// What the configuration says. What it does not say is left to the one who asks.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The file.
    pub file: PathBuf,
    /// Where to listen.
    pub listen: Option<String>,
    /// Folders of tools, as whole paths.
    pub folders: Vec<PathBuf>,
    /// Tools that stand in the configuration itself.
    pub inline: Vec<Inline>,
    /// Where `uv` is.
    pub uv: Option<PathBuf>,
    /// Whether and how programs are started ahead.
    pub standby: Option<Standby>,
    /// What programs may use up.
    pub tool_limits: ToolLimits,
    /// The address of the store, such as `sqlite://…`.
    pub state: Option<String>,
}

/// A tool that stands in the configuration itself.
#[derive(Debug, Clone)]
pub struct Inline {
    /// Its manifest, in the form of `NAME.tool.json`.
    pub manifest: RawJson,
    /// Where it begins.
    pub place: Place,
}

impl Config {
    /// Reads a configuration.
    pub fn read(file: &Path, environment: Lookup<'_>) -> Result<Self, ConfigError> {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        let text = std::fs::read(&file)
            .map_err(|error| ConfigError::Unreadable { file: file.clone(), error })?;
        Self::parse(&file, &text, environment)
    }

    /// Reads the text of a configuration. Paths in it are taken from the file's folder.
    pub fn parse(file: &Path, text: &[u8], environment: Lookup<'_>) -> Result<Self, ConfigError> {
        read::document(file, text, environment)
    }
}

#[cfg(test)]
mod tests;
