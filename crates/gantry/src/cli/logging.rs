//! Log lines: on standard error, readable or as JSON, chosen by `GANTRY_LOG`.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, LazyLock};

use arc_swap::ArcSwap;
use gantry::config::Config;
use gantry_protocol::{Redactor, Secret};
use tracing_subscriber::EnvFilter;

use super::args::LogFormat;

/// What no line may show.
static HIDDEN: LazyLock<ArcSwap<Redactor>> = LazyLock::new(ArcSwap::default);

/// Keeps the secrets of a configuration out of every line from now on.
pub(crate) fn hide(config: &Config) {
    let secrets = config.secrets.iter().map(Secret::expose);
    HIDDEN.store(Arc::new(Redactor::new(secrets)));
}

/// The text without what no line may show.
pub(crate) fn redacted(text: &str) -> Cow<'_, str> {
    HIDDEN.load().text(text)
}

/// Standard error, but for secrets. A line comes as a whole.
struct Lines;

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let shown = HIDDEN.load().text(&String::from_utf8_lossy(line)).into_owned();
        io::stderr().write_all(shown.as_bytes()).map(|()| line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Starts to log. `GANTRY_LOG` takes a level or a filter such as `gantry_server=debug`; without it
/// a program that stays tells of what it does, and any other only of what is wrong.
pub(crate) fn start(format: LogFormat, stays: bool) {
    let level = if stays { "info" } else { "warn" };
    let filter = EnvFilter::try_from_env("GANTRY_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(|| Lines);
    match format {
        LogFormat::Text => {
            let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            lines.with_target(false).with_ansi(colour).init();
        }
        LogFormat::Json => lines.json().init(),
    }
}
