//! `telemetry`: where traces and records are sent, and which.

use gantry_client::Secret;
use gantry_protocol::RawJson;
use gantry_protocol::json::{Member, ObjectWriter};
use http::{HeaderName, HeaderValue, Uri};

use crate::config::ConfigError;
use crate::config::read::Reader;

const KEYS: [&str; 5] = ["otlp", "headers", "sample", "logs", "service"];

/// Where traces and records are sent; what is not said is left to the environment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Otlp {
    /// The collector.
    pub collector: Option<Uri>,
    /// Headers of every request to it.
    pub headers: Option<Vec<(String, Secret)>>,
    /// The share of calls to trace that belong to no trace yet.
    pub sample: Option<f64>,
    /// Whether the records of calls are sent too.
    pub logs: Option<bool>,
    /// What the gateway is called there.
    pub service: Option<String>,
}

impl Otlp {
    /// The value as it stands in a configuration, without secrets; the collector as it may be shown.
    pub(crate) fn to_json(&self, collector: Option<String>) -> RawJson {
        let headers = self.headers.as_ref().map(|headers| {
            let names = headers.iter().map(|(name, _)| name);
            names.fold(ObjectWriter::new(), |object, name| object.value(name, "…")).finish()
        });
        ObjectWriter::new()
            .value_some("otlp", collector)
            .raw_some("headers", headers.as_ref())
            .value_some("sample", self.sample)
            .value_some("logs", self.logs)
            .value_some("service", self.service.as_ref())
            .finish()
    }
}

pub(crate) fn read(reader: &Reader<'_>, value: &RawJson) -> Result<Otlp, ConfigError> {
    const COLLECTOR: &str = "an address such as \"http://127.0.0.1:4318\"";
    if !value.is_object() {
        return Err(reader.form(value, "telemetry", "an object: {\"otlp\": \"http://…\"}"));
    }
    reader.check_keys(value, &KEYS, &[])?;
    let collector = match reader.text(value, "otlp", COLLECTOR)? {
        Some(text) => {
            let place = value.get("otlp").unwrap_or(RawJson::NULL);
            let uri = collector(&text).ok_or_else(|| reader.form(&place, "otlp", COLLECTOR))?;
            Some(uri)
        }
        None => None,
    };
    Ok(Otlp {
        collector,
        headers: value.get("headers").map(|it| headers(reader, &it)).transpose()?,
        sample: reader.value(value, "sample", "a number from 0 to 1", |it| {
            it.read::<f64>().filter(|share| (0.0..=1.0).contains(share))
        })?,
        logs: reader.value(value, "logs", "true or false", RawJson::read)?,
        service: reader.text(value, "service", "a name")?,
    })
}

/// An address that requests can be sent to.
pub(crate) fn collector(text: &str) -> Option<Uri> {
    let uri: Uri = text.trim().parse().ok()?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    (is_web && uri.host().is_some_and(|host| !host.is_empty())).then_some(uri)
}

fn headers(reader: &Reader<'_>, value: &RawJson) -> Result<Vec<(String, Secret)>, ConfigError> {
    const EXPECTED: &str = "an object of headers that HTTP allows";
    if !value.is_object() {
        return Err(reader.form(value, "headers", EXPECTED));
    }
    let header = |member: Member<'_>| {
        let (name, value) = (member.key().into_owned(), member.value());
        let text = reader.expanded(&value, &name, EXPECTED)?;
        let fits =
            HeaderName::try_from(name.as_str()).is_ok() && HeaderValue::from_str(&text).is_ok();
        reader.load_state.keep_secret(&text);
        match fits {
            true => Ok((name, Secret::new(text))),
            false => Err(reader.form(&value, &name, EXPECTED)),
        }
    };
    value.members().map(header).collect()
}
