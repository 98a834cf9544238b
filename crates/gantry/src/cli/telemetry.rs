//! The way to a collector, and the numbers of `/metrics` that only the program knows.

use std::sync::Arc;

use gantry::config::Config;
use gantry::telemetry::{Telemetry, TelemetrySettings};

use super::exit::{Code, Exit};
use super::origin;

/// Begins to send to the collector that the configuration or the environment names, if any.
pub(crate) fn open(config: Option<&Config>) -> Result<Option<Arc<Telemetry>>, Exit> {
    let wrong = |text: String| Exit::new(Code::Configuration, text);
    let said = config.and_then(|config| config.telemetry.as_ref());
    let found = TelemetrySettings::find(said, &origin::variable);
    let Some(settings) = found.map_err(|error| wrong(error.to_string()))? else {
        return Ok(None);
    };
    let started = Telemetry::start(&settings);
    started
        .map(Some)
        .map_err(|error| wrong(format!("nothing can be sent to the collector: {error}")))
}
