//! `metrics`: who may read `/metrics`.

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use super::ConfigError;
use super::auth::{self, Auth};
use super::read::Reader;

const KEYS: [&str; 1] = ["auth"];

/// Who may read `/metrics`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetricsConfig {
    /// Whether a token must be shown; callers' own setting does not matter.
    pub auth: Option<Auth>,
}

impl MetricsConfig {
    /// The value as it stands in a configuration.
    pub(super) fn to_json(&self) -> RawJson {
        ObjectWriter::new().value_some("auth", self.auth.map(Auth::name)).finish()
    }
}

pub(super) fn read(reader: &Reader<'_>, value: &RawJson) -> Result<MetricsConfig, ConfigError> {
    if !value.is_object() {
        return Err(reader.form(value, "metrics", "an object: {\"auth\": \"none\"}"));
    }
    reader.check_keys(value, &KEYS, &[])?;
    Ok(MetricsConfig { auth: auth::read(reader, value, "\"token\" or \"none\"")? })
}
