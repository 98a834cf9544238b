//! A program that is spoken to over its standard streams: one message a line.

use gantry_process::{Program, Session, SessionLimits};
use tokio_util::sync::CancellationToken;

use super::{Outgoing, Pipe};
use crate::error::ClientError;
use crate::settings::Settings;

/// Starts the program. The pipe lives as long as the session.
pub(crate) fn open(program: &Program, settings: &Settings) -> Result<(Session, Pipe), ClientError> {
    let limits = SessionLimits {
        line: settings.message.size,
        queue: settings.queue,
        stderr: settings.log,
        stderr_rate: settings.flood.stderr,
        stderr_burst: settings.flood.burst,
        grace: settings.grace,
    };
    let (session, lines) = Session::start(program, &limits)
        .map_err(|error| ClientError::Unreachable(error.to_string()))?;
    let stop = CancellationToken::new();
    let outgoing = Outgoing::Program(lines.outgoing);
    Ok((session, Pipe { outgoing, incoming: lines.incoming, stop }))
}
