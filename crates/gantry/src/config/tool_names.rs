//! `toolNames`: what the names of tools and prompts look like that clients see.

use gantry_gateway::{LONGEST_NAME, NameStyle, SHORTEST_NAME};
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;

use super::ConfigError;
use super::read::Reader;

const KEYS: [&str; 2] = ["dots", "length"];

pub(super) fn read(reader: &Reader<'_>, value: &RawJson) -> Result<NameStyle, ConfigError> {
    if !value.is_object() {
        return Err(reader.form(value, "toolNames", "an object with `dots` and `length`"));
    }
    reader.check_keys(value, &KEYS, &[])?;
    let usual = NameStyle::default();
    let range = SHORTEST_NAME..=LONGEST_NAME;
    let length = |value: &RawJson| value.read().filter(|length| range.contains(length));
    Ok(NameStyle {
        dots: reader.value(value, "dots", "true or false", RawJson::read)?.unwrap_or(usual.dots),
        length: reader
            .value(value, "length", "a number of characters from 18 to 128", length)?
            .unwrap_or(usual.length),
    })
}

/// The value as it stands in a configuration.
pub(super) fn to_json(style: &NameStyle) -> RawJson {
    ObjectWriter::new().value("dots", &style.dots).value("length", &style.length).finish()
}
