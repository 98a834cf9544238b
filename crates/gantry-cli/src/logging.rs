//! Log lines: on standard error, readable or as JSON, chosen by `GANTRY_LOG`. A line that is made
//! while a call is under way names it.

use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use arc_swap::ArcSwap;
use gantry_gateway::{CallContext, with_current};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::redact::ANYWHERE;
use gantry_protocol::{RawJson, Redactor, Secret};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{EnvFilter, fmt as lines};

use crate::args::LogFormat;
use crate::config::Config;
use crate::render;

/// What no line may show.
static HIDDEN: LazyLock<ArcSwap<Redactor>> = LazyLock::new(ArcSwap::default);

/// The secrets of the configuration that is in force.
static SECRETS: Mutex<Vec<Secret>> = Mutex::new(Vec::new());

/// Keeps the secrets of a configuration out of every line from now on. Those of the one before stay
/// hidden too: servers that are let go may still speak of them. Lines are about everything, and a
/// short value, such as the number of a port, has other meanings there.
pub(crate) fn hide(config: &Config) {
    let mut current = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
    let before = std::mem::replace(&mut *current, config.secrets.clone());
    let secrets = before.iter().chain(&*current).map(Secret::expose);
    HIDDEN.store(Arc::new(Redactor::new(secrets.filter(|it| it.len() >= ANYWHERE))));
}

/// The value as people may see it.
pub(crate) fn shown(value: &RawJson) -> RawJson {
    HIDDEN.load().value(value)
}

/// Standard error, but for secrets and for what cannot be seen. A line comes as a whole.
struct Lines(LogFormat);

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let shown = HIDDEN.load().text(&String::from_utf8_lossy(line)).into_owned();
        let shown = match self.0 {
            LogFormat::Text => render::log_line(&shown),
            LogFormat::Json => render::json_text(&shown),
        };
        // Nobody can be told that nobody reads the log, and the work goes on.
        let _ = io::stderr().write_all(shown.as_bytes());
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Starts to log. `GANTRY_LOG` takes a level or a filter such as `gantry_server=debug`; without it
/// a program that stays tells of what it does, and any other only of what is wrong.
pub(crate) fn start(format: LogFormat, stays: bool) {
    let level = if stays { "info" } else { "warn" };
    let filter = EnvFilter::try_from_env("GANTRY_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || Lines(format));
    match format {
        LogFormat::Text => {
            let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let plain = lines::format().with_target(false).with_ansi(colour);
            log.with_ansi(colour).event_format(OfCall { lines: plain, add: add_words }).init();
        }
        LogFormat::Json => {
            let json = OfCall { lines: lines::format().json(), add: add_members };
            log.fmt_fields(JsonFields::new()).event_format(json).init();
        }
    }
}

/// Lines with what is to be said of the call that is under way.
struct OfCall<F> {
    lines: F,
    /// Adds it to a line.
    add: fn(&mut String, &CallContext),
}

impl<S, N, F> FormatEvent<S, N> for OfCall<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        ctx: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::with_capacity(256);
        self.lines.format_event(ctx, Writer::new(&mut line), event)?;
        line.truncate(line.trim_end().len());
        with_current(|context| (self.add)(&mut line, context));
        writeln!(writer, "{line}")
    }
}

/// For people: enough to find everything else.
fn add_words(line: &mut String, context: &CallContext) {
    let _ = write!(line, " call={}", context.number());
    if let Some(trace) = context.trace() {
        let _ = write!(line, " trace={}", trace.id());
    }
}

/// For programs: members at the end of the object.
fn add_members(line: &mut String, context: &CallContext) {
    let call = context.call();
    let named = call.head.name.as_ref().or(call.head.uri.as_ref());
    let trace = context.trace();
    let members = ObjectWriter::new()
        .value("call", &context.number().to_string())
        .value("principal", &*call.caller.principal)
        .value("method", call.method.as_str())
        .value_some("name", named.and_then(RawJson::to_text))
        .value_some("trace_id", trace.as_ref().map(|trace| trace.id()))
        .finish();
    if line.pop() == Some('}') {
        line.push(',');
        line.push_str(members.as_str().trim_start_matches('{'));
    }
}
