//! The way to a collector, and the numbers of `/metrics` that only the program knows.

use std::sync::Arc;

use gantry::config::Config;
use gantry::telemetry::{Telemetry, TelemetrySettings};
use gantry_policy::{Audit, ObservedAuditRecord};
use tokio::task::JoinHandle;

use super::exit::{Code, Exit};
use super::tool_sources;

/// Records that may wait until they are sent; more are left out and counted.
const UNREAD: usize = 4096;

/// Sends the record of every call too, until the task is ended.
pub(crate) fn follow(telemetry: &Arc<Telemetry>, audit: &Audit) -> Option<JoinHandle<()>> {
    let (telemetry, mut records) = (telemetry.clone(), audit.listen(UNREAD)?);
    Some(tokio::spawn(async move {
        while let Some(ObservedAuditRecord { record, trace }) = records.recv().await {
            telemetry.export_record(&record, trace.as_ref());
        }
    }))
}

/// Begins to send to the collector that the configuration or the environment names, if any.
pub(crate) fn open(config: Option<&Config>) -> Result<Option<Arc<Telemetry>>, Exit> {
    let wrong = |text: String| Exit::new(Code::Configuration, text);
    let said = config.and_then(|config| config.telemetry.as_ref());
    let found = TelemetrySettings::find(said, &tool_sources::variable);
    let Some(settings) = found.map_err(|error| wrong(error.to_string()))? else {
        return Ok(None);
    };
    let started = Telemetry::start(&settings);
    started
        .map(Some)
        .map_err(|error| wrong(format!("nothing can be sent to the collector: {error}")))
}
