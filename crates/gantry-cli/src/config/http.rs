//! `http`: what clients over HTTP may use up before and after they are authenticated.

use std::time::Duration;

use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use gantry_providers::units;
use gantry_server::Settings;

use crate::config::ConfigError;
use crate::config::read::Reader;

const KEYS: [&str; 16] = [
    "connections",
    "connectionsPerPeer",
    "connectionsUnauthenticated",
    "descriptorReserve",
    "receiving",
    "receivingPerCaller",
    "receivingHeads",
    "headTimeout",
    "bodyTimeout",
    "rateGrace",
    "headRate",
    "bodyRate",
    "readRate",
    "sending",
    "sendingPerCaller",
    "refusalsLogged",
];

/// What clients over HTTP may use up; what is not said stays as it is by default. The settings of
/// the server say what each means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is documented where it is applied to")]
pub struct HttpLimits {
    pub connections: Option<usize>,
    pub connections_per_peer: Option<usize>,
    pub connections_unauthenticated: Option<usize>,
    pub descriptor_reserve: Option<usize>,
    pub receiving: Option<usize>,
    pub receiving_per_caller: Option<usize>,
    pub receiving_heads: Option<usize>,
    pub head_timeout: Option<Duration>,
    pub body_timeout: Option<Duration>,
    pub rate_grace: Option<Duration>,
    pub head_rate: Option<usize>,
    pub body_rate: Option<usize>,
    pub read_rate: Option<usize>,
    pub sending: Option<usize>,
    pub sending_per_caller: Option<usize>,
    pub refusals_logged: Option<u32>,
}

impl HttpLimits {
    /// Puts what is said in place of the defaults.
    pub fn apply(&self, settings: &mut Settings) {
        fn set<T: Copy>(setting: &mut T, said: Option<T>) {
            *setting = said.unwrap_or(*setting);
        }
        set(&mut settings.connections, self.connections);
        set(&mut settings.connections_of_peer, self.connections_per_peer);
        set(&mut settings.connections_unauthenticated, self.connections_unauthenticated);
        set(&mut settings.descriptor_reserve, self.descriptor_reserve);
        set(&mut settings.receiving, self.receiving);
        set(&mut settings.receiving_of_principal, self.receiving_per_caller);
        set(&mut settings.receiving_heads, self.receiving_heads);
        set(&mut settings.head_timeout, self.head_timeout);
        set(&mut settings.body_timeout, self.body_timeout);
        set(&mut settings.rate_grace, self.rate_grace);
        set(&mut settings.head_rate, self.head_rate);
        set(&mut settings.body_rate, self.body_rate);
        set(&mut settings.read_rate, self.read_rate);
        set(&mut settings.sending, self.sending);
        set(&mut settings.sending_of_principal, self.sending_per_caller);
        set(&mut settings.refusals_logged, self.refusals_logged);
    }

    /// The value as it stands in a configuration.
    pub(crate) fn to_json(&self) -> RawJson {
        let milliseconds = |time: Option<Duration>| time.map(|time| time.as_millis() as u64);
        ObjectWriter::new()
            .value_some("connections", self.connections)
            .value_some("connectionsPerPeer", self.connections_per_peer)
            .value_some("connectionsUnauthenticated", self.connections_unauthenticated)
            .value_some("descriptorReserve", self.descriptor_reserve)
            .value_some("receiving", self.receiving)
            .value_some("receivingPerCaller", self.receiving_per_caller)
            .value_some("receivingHeads", self.receiving_heads)
            .value_some("headTimeout", milliseconds(self.head_timeout))
            .value_some("bodyTimeout", milliseconds(self.body_timeout))
            .value_some("rateGrace", milliseconds(self.rate_grace))
            .value_some("headRate", self.head_rate)
            .value_some("bodyRate", self.body_rate)
            .value_some("readRate", self.read_rate)
            .value_some("sending", self.sending)
            .value_some("sendingPerCaller", self.sending_per_caller)
            .value_some("refusalsLogged", self.refusals_logged)
            .finish()
    }
}

pub(crate) fn read(reader: &Reader<'_>, value: &RawJson) -> Result<HttpLimits, ConfigError> {
    if !value.is_object() {
        return Err(reader.form(value, "http", "an object with limits"));
    }
    reader.check_keys(value, &KEYS, &[])?;
    let above_zero = |value: &RawJson| value.read().filter(|number: &usize| *number > 0);
    let count = |key| reader.value(value, key, "a number above zero", above_zero);
    let number = |key| reader.value(value, key, "a number", RawJson::read::<usize>);
    let time = |key| reader.value(value, key, "milliseconds, or \"60s\"", units::duration);
    let bytes = |key| {
        let said = reader.value(value, key, "bytes, or a text such as \"64MiB\"", units::size)?;
        Ok(said.map(|it| usize::try_from(it).unwrap_or(usize::MAX)))
    };
    Ok(HttpLimits {
        connections: count("connections")?,
        connections_per_peer: count("connectionsPerPeer")?,
        connections_unauthenticated: count("connectionsUnauthenticated")?,
        descriptor_reserve: number("descriptorReserve")?,
        receiving: bytes("receiving")?,
        receiving_per_caller: bytes("receivingPerCaller")?,
        receiving_heads: bytes("receivingHeads")?,
        head_timeout: time("headTimeout")?,
        body_timeout: time("bodyTimeout")?,
        rate_grace: time("rateGrace")?,
        head_rate: number("headRate")?,
        body_rate: number("bodyRate")?,
        read_rate: number("readRate")?,
        sending: bytes("sending")?,
        sending_per_caller: bytes("sendingPerCaller")?,
        refusals_logged: reader.value(value, "refusalsLogged", "a number", RawJson::read)?,
    })
}

/// Whether callers over HTTP must say who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auth {
    /// By a token.
    #[default]
    Token,
    /// No: everyone is the local user. On loopback only.
    None,
}

impl Auth {
    /// All of them, as they are written.
    pub const NAMES: [&str; 2] = ["token", "none"];

    /// Reads one as it is written.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Token, Self::None].into_iter().find(|auth| auth.name() == text)
    }

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::None => "none",
        }
    }
}

/// Reads `auth` of an object; `expected` says what it may be there.
pub(crate) fn read_auth(
    reader: &Reader<'_>,
    object: &RawJson,
    expected: &'static str,
) -> Result<Option<Auth>, ConfigError> {
    let Some(text) = reader.text(object, "auth", expected)? else { return Ok(None) };
    let value = object.get("auth").unwrap_or(RawJson::NULL);
    Auth::parse(&text).map(Some).ok_or_else(|| reader.form(&value, "auth", expected))
}

const METRICS_KEYS: [&str; 1] = ["auth"];

/// Who may read `/metrics`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetricsConfig {
    /// Whether a token must be shown; callers' own setting does not matter.
    pub auth: Option<Auth>,
}

impl MetricsConfig {
    /// The value as it stands in a configuration.
    pub(crate) fn to_json(&self) -> RawJson {
        ObjectWriter::new().value_some("auth", self.auth.map(Auth::name)).finish()
    }
}

pub(crate) fn read_metrics(
    reader: &Reader<'_>,
    value: &RawJson,
) -> Result<MetricsConfig, ConfigError> {
    if !value.is_object() {
        return Err(reader.form(value, "metrics", "an object: {\"auth\": \"none\"}"));
    }
    reader.check_keys(value, &METRICS_KEYS, &[])?;
    Ok(MetricsConfig { auth: read_auth(reader, value, "\"token\" or \"none\"")? })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Config;

    fn parse(value: &str) -> Result<HttpLimits, String> {
        let text = format!("{{\"http\": {value}}}");
        let config = Config::parse(Path::new("/g.json"), text.as_bytes(), &|_| None);
        config.map(|config| config.http.expect("it is given")).map_err(|error| error.to_string())
    }

    #[test]
    fn every_key_is_read_applied_and_shown() {
        let all = KEYS.map(|key| match key {
            "headTimeout" | "bodyTimeout" | "rateGrace" => format!("\"{key}\":7000"),
            _ => format!("\"{key}\":7"),
        });
        let text = format!("{{{}}}", all.join(","));
        let read = parse(&text).expect("all are known");
        assert_eq!(read.to_json().as_str(), text);
        let mut settings = Settings::default();
        read.apply(&mut settings);
        let debug = format!("{settings:?}");
        assert_eq!(debug.matches(": 7,").count(), 13, "{debug}");
        assert_eq!(debug.matches(": 7s,").count(), 3, "{debug}");
        assert_eq!(parse("{}").expect("nothing is said"), HttpLimits::default());
    }

    #[test]
    fn what_is_wrong() {
        let cases = [
            ("1", "`http` has the wrong form"),
            (r#"{"conections": 1}"#, "write `connections`"),
            (r#"{"connections": 0}"#, "`connections` has the wrong form"),
            (r#"{"receiving": "much"}"#, "`receiving` has the wrong form"),
            (r#"{"headTimeout": "soon"}"#, "`headTimeout` has the wrong form"),
            (r#"{"bodyRate": -1}"#, "`bodyRate` has the wrong form"),
        ];
        for (given, expected) in cases {
            let error = parse(given).expect_err(given);
            assert!(error.contains(expected), "{given}: {error}");
        }
    }
}
