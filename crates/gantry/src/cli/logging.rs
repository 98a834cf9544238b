//! Log lines: on standard error, readable or as JSON, chosen by `GANTRY_LOG`.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use super::args::LogFormat;

/// Starts to log. `GANTRY_LOG` takes a level or a filter such as `gantry_server=debug`.
pub(crate) fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_env("GANTRY_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        LogFormat::Text => {
            let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            lines.with_target(false).with_ansi(colour).init();
        }
        LogFormat::Json => lines.json().init(),
    }
}
