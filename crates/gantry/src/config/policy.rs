//! `policy`: who may do what.

pub(super) mod trust;

use gantry_protocol::RawJson;

use super::ConfigError;
use super::read::Reader;

pub use trust::TrustConfig;

/// Lets a section pass that is an object of known keys.
pub(super) fn check(reader: &Reader<'_>, value: &RawJson) -> Result<(), ConfigError> {
    if !value.is_object() {
        return Err(reader.form(value, "policy", "an object, such as {\"trust\": \"verified\"}"));
    }
    reader.check_keys(value, &trust::KEYS, &[])
}
