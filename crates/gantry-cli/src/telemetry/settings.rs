//! What is sent where: from the configuration, and where it is silent from the variables that all
//! programs with OpenTelemetry know.

use std::sync::Arc;
use std::time::Duration;

use gantry_client::{Endpoint, Secret};
use gantry_policy::{Audit, ObservedAuditRecord};
use tokio::task::JoinHandle;

use crate::config::{Config, Lookup, Otlp, collector};
use crate::exit::{Code, Exit};
use crate::telemetry::Telemetry;
use crate::tool_sources;

/// Every limit of what is sent, with its default.
#[derive(Debug, Clone)]
pub(crate) struct TelemetrySettings {
    /// The collector; `/v1/traces` and `/v1/logs` stand below its address.
    pub collector: Endpoint,
    /// What this gateway is called there.
    pub service: String,
    /// The share of calls to trace that belong to no trace yet.
    pub sample: f64,
    /// Whether the records of calls are sent too.
    pub logs: bool,
    /// Calls and records that may wait to be sent; more are dropped.
    pub queue: usize,
    /// Calls and records in one request.
    pub batch: usize,
    /// How long to wait for more after the first.
    pub gather: Duration,
    /// How long the collector may take to answer.
    pub send_within: Duration,
    /// How often one request is tried.
    pub tries: u32,
    /// How long to wait before the second try, and twice as long before each after it.
    pub first_wait: Duration,
    /// How long the end of the program may wait for the rest to be sent.
    pub flush_within: Duration,
}

/// Why nothing can be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TelemetryError {
    /// A variable names no collector.
    #[error(
        "the variable `OTEL_EXPORTER_OTLP_ENDPOINT` is `{0}`, which is no address; \
         write it as http://127.0.0.1:4318"
    )]
    Endpoint(String),
    /// A variable holds no headers.
    #[error("the variable `OTEL_EXPORTER_OTLP_HEADERS` is not NAME=value,NAME=value")]
    Headers,
}

impl TelemetrySettings {
    /// The usual settings for this collector.
    pub(crate) fn new(collector: Endpoint) -> Self {
        Self {
            collector,
            service: "gantry".to_owned(),
            sample: 1.0,
            logs: true,
            queue: 4096,
            batch: 512,
            gather: Duration::from_secs(1),
            send_within: Duration::from_secs(10),
            tries: 3,
            first_wait: Duration::from_millis(500),
            flush_within: Duration::from_secs(5),
        }
    }

    /// What the configuration and the environment say; none if they name no collector.
    pub(crate) fn find(
        config: Option<&Otlp>,
        environment: Lookup<'_>,
    ) -> Result<Option<Self>, TelemetryError> {
        let config = config.cloned().unwrap_or_default();
        let variable = |name: &str| environment(name).filter(|value| !value.trim().is_empty());
        let url = match (config.collector, variable("OTEL_EXPORTER_OTLP_ENDPOINT")) {
            (Some(url), _) => url,
            (None, Some(text)) => collector(&text).ok_or(TelemetryError::Endpoint(text))?,
            (None, None) => return Ok(None),
        };
        let headers = match (config.headers, variable("OTEL_EXPORTER_OTLP_HEADERS")) {
            (Some(headers), _) => headers,
            (None, Some(text)) => pairs(&text).ok_or(TelemetryError::Headers)?,
            (None, None) => Vec::new(),
        };
        let usual = Self::new(Endpoint { headers, ..Endpoint::new(url) });
        let service = config.service.or_else(|| variable("OTEL_SERVICE_NAME"));
        Ok(Some(Self {
            service: service.unwrap_or(usual.service),
            sample: config.sample.unwrap_or(usual.sample),
            logs: config.logs.unwrap_or(usual.logs),
            ..usual
        }))
    }
}

/// Headers as the variable has them: `a=1,b=two%20words`.
fn pairs(text: &str) -> Option<Vec<(String, Secret)>> {
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let name = name.trim();
        (!name.is_empty()).then_some(())?;
        Some((name.to_owned(), Secret::new(decoded(value.trim())?)))
    };
    pairs.map(pair).collect()
}

/// A text with `%20` and the like replaced.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).ok()
}

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
    started.map(Some).map_err(|error| wrong(format!("the collector cannot be used: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(config: Option<&Otlp>, variables: &[(&str, &str)]) -> Option<TelemetrySettings> {
        let lookup = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, it)| (*it).to_owned())
        };
        TelemetrySettings::find(config, &lookup).expect("they can be read")
    }

    const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
    const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

    #[test]
    fn off_unless_a_collector_is_named() {
        assert!(find(None, &[]).is_none());
        assert!(find(Some(&Otlp::default()), &[(ENDPOINT, " ")]).is_none());
        let settings = find(None, &[(ENDPOINT, "http://host:1/base"), ("OTEL_SERVICE_NAME", "me")]);
        let settings = settings.expect("a collector");
        assert_eq!(settings.collector.url, "http://host:1/base");
        assert_eq!(settings.service, "me");
        assert!(settings.queue > 0 && settings.batch > 0 && settings.tries > 0);
    }

    #[test]
    fn the_configuration_comes_first() {
        let collector = "http://one:1".parse().ok();
        let headers = Some(vec![("x".to_owned(), Secret::new("1"))]);
        let config = Otlp { collector, headers, sample: Some(0.5), ..Otlp::default() };
        let variables = [(ENDPOINT, "http://two:2"), (HEADERS, "y=2")];
        let settings = find(Some(&config), &variables).expect("a collector");
        assert_eq!(settings.collector.url, "http://one:1");
        assert_eq!((settings.collector.headers[0].0.as_str(), settings.sample), ("x", 0.5));
    }

    #[test]
    fn headers_of_the_variable() {
        let cases = [
            ("a=1,b=two%20words", Some("a:1 b:two words")),
            (" a = 1 , ", Some("a:1")),
            ("a=b=c", Some("a:b=c")),
            ("a", None),
            ("=1", None),
            ("a=%2", None),
            ("a=%zz", None),
        ];
        for (text, expected) in cases {
            let read = pairs(text).map(|pairs| {
                let pairs = pairs.iter().map(|(name, it)| format!("{name}:{}", it.expose()));
                pairs.collect::<Vec<_>>().join(" ")
            });
            assert_eq!(read.as_deref(), expected, "{text}");
        }
        let wrong = |name: &str| (name == ENDPOINT).then(|| "nowhere".to_owned());
        assert!(TelemetrySettings::find(None, &wrong).is_err());
    }
}
