//! `pins`: what happens to definitions that are new, that change, or that are suspicious.

use gantry_policy::{PinMode, PinSettings, Suspicious};
use gantry_protocol::RawJson;
use gantry_protocol::json::{JsonKind, ObjectWriter};

use super::ConfigError;
use super::read::Reader;

const KEYS: [&str; 4] = ["mode", "suspicious", "own", "most"];

const MODES: &str = "\"compatible\", \"hold\", \"locked\" or \"off\"";

pub(super) fn read(reader: &Reader<'_>, value: &RawJson) -> Result<PinSettings, ConfigError> {
    let usual = PinSettings::default();
    match value.kind() {
        JsonKind::String => match mode(value) {
            Some(mode) => Ok(PinSettings { mode, ..usual }),
            None => Err(reader.form(value, "pins", MODES)),
        },
        JsonKind::Object => {
            reader.check_keys(value, &KEYS, &[])?;
            let sorts = "\"hidden\", \"flag\" or \"hold\"";
            let own = reader.value(value, "own", "true or false", RawJson::read)?;
            let most = reader.value(value, "most", "a number of pins", RawJson::read)?;
            Ok(PinSettings {
                mode: reader.value(value, "mode", MODES, mode)?.unwrap_or(usual.mode),
                suspicious: reader
                    .value(value, "suspicious", sorts, suspicious)?
                    .unwrap_or(usual.suspicious),
                own: own.unwrap_or(usual.own),
                most: most.unwrap_or(usual.most),
            })
        }
        _ => Err(reader.form(
            value,
            "pins",
            "\"compatible\", \"hold\", \"locked\", \"off\", or an object",
        )),
    }
}

fn mode(value: &RawJson) -> Option<PinMode> {
    PinMode::parse(value.as_text()?)
}

fn suspicious(value: &RawJson) -> Option<Suspicious> {
    Suspicious::ALL.into_iter().find(|it| value.as_text() == Some(it.word()))
}

/// The value as it stands in a configuration.
pub(super) fn to_json(pins: &PinSettings) -> RawJson {
    ObjectWriter::new()
        .value("mode", pins.mode.word())
        .value("suspicious", pins.suspicious.word())
        .value("own", &pins.own)
        .value("most", &pins.most)
        .finish()
}
