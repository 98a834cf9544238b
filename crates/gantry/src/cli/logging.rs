//! Log lines: on standard error, readable or as JSON, chosen by `GANTRY_LOG`.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use super::args::LogFormat;

/// Starts to log. `GANTRY_LOG` takes a level or a filter such as `gantry_server=debug`; without it
/// a program that stays tells of what it does, and any other only of what is wrong.
pub(crate) fn start(format: LogFormat, stays: bool) {
    let level = if stays { "info" } else { "warn" };
    let filter = EnvFilter::try_from_env("GANTRY_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => {
            let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            lines.with_target(false).with_ansi(colour).init();
        }
        LogFormat::Json => lines.json().init(),
    }
}
