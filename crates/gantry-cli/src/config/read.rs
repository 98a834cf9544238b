//! Reads one file: the keys of Gantry's own, and the servers of any dialect.

use std::path::{Path, PathBuf};
use std::time::Duration;

use gantry_protocol::RawJson;
use gantry_protocol::json::JsonKind;
use gantry_providers::suggestion::nearest;
use gantry_providers::units;

use crate::config::source::{LoadState, Source};
use crate::config::variables::{ValueError, expand};
use crate::config::{
    ClientLimits, Config, ConfigError, Inline, Lookup, Place, Policy, ToolLimits, audit, dialect,
    http, layers, limits, names, otlp, policy, resources, servers, tools,
};

const KEYS: &[&str] = &[
    "listen",
    "auth",
    "allowedHosts",
    "allowedOrigins",
    "http",
    "metrics",
    "tools",
    "mcpServers",
    "include",
    "profiles",
    "policy",
    "startupWait",
    "workspace",
    "resources",
    "uv",
    "standby",
    "toolNames",
    "toolLimits",
    "clientLimits",
    "limits",
    "policy",
    "pins",
    "state",
    "audit",
    "telemetry",
    "servers",
    "inputs",
    "mcp",
    "context_servers",
    "$schema",
];

/// Keys that have a meaning, but are not built yet.
const NOT_YET: &[&str] = &["model"];

/// One file, and what is needed to read it.
pub(crate) struct Reader<'a> {
    pub(crate) source: Source,
    pub(crate) environment: Lookup<'a>,
    pub(crate) load_state: &'a LoadState,
    /// What VS Code would ask for, each with its default.
    pub(crate) inputs: Vec<(String, Option<String>)>,
}

/// Reads a file that the files of the chain have included, the last one first-hand.
pub(crate) fn document(
    file: &Path,
    text: &[u8],
    environment: Lookup<'_>,
    load_state: &LoadState,
    chain: &[PathBuf],
) -> Result<Config, ConfigError> {
    let source = Source::parse(file, text)?;
    let document = source.document.clone();
    let inputs = dialect::inputs(&document);
    let reader = Reader { source, environment, load_state, inputs };
    if !document.is_object() {
        return Err(reader.form(
            &document,
            "the configuration",
            "an object: {\"tools\": [\"./tools\"]}",
        ));
    }
    let is_own = dialect::is_own(file, chain.is_empty());
    let mut config = match is_own {
        true => reader.own(&document)?,
        false => Config::default(),
    };
    config.file = file.to_owned();
    servers::read(&reader, &document, is_own, &mut config)?;
    if is_own {
        config.profiles = servers::read_profiles(&reader, &document)?;
    }
    if let Some(value) = document.get("include") {
        layers::read_include(&reader, &value, is_own, chain, &mut config)?;
    }
    Ok(config)
}

impl Reader<'_> {
    /// The keys that only Gantry knows.
    fn own(&self, document: &RawJson) -> Result<Config, ConfigError> {
        self.check_keys(document, KEYS, NOT_YET)?;
        let mut config = Config {
            // Everyone who is to come is told where the gateway is and what it is called.
            listen: self.load_state.openly(|| {
                self.text(document, "listen", "an address such as \"127.0.0.1:4268\"")
            })?,
            auth: http::read_auth(self, document, "\"token\", or \"none\" on loopback")?,
            http: document.get("http").map(|it| http::read(self, &it)).transpose()?,
            metrics: document.get("metrics").map(|it| http::read_metrics(self, &it)).transpose()?,
            names: self.load_state.openly(|| names::read(self, document))?,
            state: self.state(document)?,
            startup_wait: self.startup_wait(document)?,
            resources: resources::read(self, document)?,
            uv: self.uv(document)?,
            tool_names: document
                .get("toolNames")
                .map(|it| tools::read_tool_names(self, &it))
                .transpose()?,
            tool_limits: match document.get("toolLimits") {
                Some(value) => limits::read_tool_limits(self, &value)?,
                None => ToolLimits::default(),
            },
            client_limits: match document.get("clientLimits") {
                Some(value) => limits::read_client_limits(self, &value)?,
                None => ClientLimits::default(),
            },
            limits: document
                .get("limits")
                .map(|it| limits::read_call_limits(self, &it))
                .transpose()?,
            audit: document.get("audit").map(|it| audit::read(self, &it)).transpose()?,
            pins: document.get("pins").map(|it| policy::read_pins(self, &it)).transpose()?,
            standby: document
                .get("standby")
                .map(|it| tools::read_standby(self, &it))
                .transpose()?,
            policy: match document.get("policy") {
                Some(value) => policy::read(self, &value)?,
                None => Policy::default(),
            },
            telemetry: document.get("telemetry").map(|it| otlp::read(self, &it)).transpose()?,
            ..Config::default()
        };
        if let Some(value) = document.get("policy") {
            config.trust = policy::trust::read(self, &value)?;
        }
        self.tools(document, &mut config)?;
        Ok(config)
    }

    /// Lets an object pass whose keys are all known, each once.
    pub(crate) fn check_keys(
        &self,
        object: &RawJson,
        known: &[&str],
        later: &[&str],
    ) -> Result<(), ConfigError> {
        let mut seen: Vec<String> = Vec::new();
        for member in object.members() {
            let key = member.key().into_owned();
            let place = self.source.place_of_key(&key, &member.value());
            if later.contains(&key.as_str()) {
                return Err(ConfigError::NotYet { place, key });
            }
            if !known.contains(&key.as_str()) {
                return Err(self.unknown_key(&key, &member.value(), known, later));
            }
            if seen.contains(&key) {
                return Err(ConfigError::Doubled { place, key });
            }
            seen.push(key);
        }
        Ok(())
    }

    /// What to say of a key that is none of those; `more` are others that could be meant.
    pub(crate) fn unknown_key(
        &self,
        key: &str,
        value: &RawJson,
        known: &[&str],
        more: &[&str],
    ) -> ConfigError {
        let advice = match nearest(key, &[known, more].concat()) {
            Some(meant) => format!("write `{meant}`, or remove it"),
            None => format!("remove it; the keys are {}", known.join(", ")),
        };
        let place = self.source.place_of_key(key, value);
        ConfigError::UnknownKey { place, key: key.to_owned(), advice }
    }

    /// A string with its variables replaced.
    pub(crate) fn text(
        &self,
        document: &RawJson,
        key: &str,
        expected: &'static str,
    ) -> Result<Option<String>, ConfigError> {
        document.get(key).map(|value| self.expanded(&value, key, expected)).transpose()
    }

    /// A string that is not empty, with its variables replaced.
    pub(crate) fn expanded(
        &self,
        value: &RawJson,
        key: &str,
        expected: &'static str,
    ) -> Result<String, ConfigError> {
        let text = value.to_text().filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| self.form(value, key, expected))?;
        expand(self, &text).map_err(|error| self.wrong_value(value, key, error))
    }

    /// What is wrong with a value, and where it stands.
    pub(crate) fn wrong_value(&self, value: &RawJson, key: &str, error: ValueError) -> ConfigError {
        let (place, key) = (self.place(value), key.to_owned());
        match error {
            ValueError::Unset(name) => ConfigError::Unset { place, key, name },
            ValueError::Open => self.form(value, &key, "`${VAR}` with its closing `}`"),
            error => ConfigError::Value { place, key, error },
        }
    }

    fn tools(&self, document: &RawJson, config: &mut Config) -> Result<(), ConfigError> {
        const EXPECTED: &str = "a list of folders and manifests, such as [\"./tools\"]";
        let Some(tools) = document.get("tools") else { return Ok(()) };
        if tools.kind() != JsonKind::Array {
            return Err(self.form(&tools, "tools", EXPECTED));
        }
        for item in tools.elements() {
            if item.is_object() {
                config.inline.push(Inline { place: self.place(&item), manifest: item });
            } else {
                let folder = self.expanded(&item, "tools", EXPECTED)?;
                config.folders.push(self.path(&folder));
            }
        }
        Ok(())
    }

    /// How long lists wait for servers that are being started. Clients give up after a minute.
    fn startup_wait(&self, document: &RawJson) -> Result<Option<Duration>, ConfigError> {
        let expected = "milliseconds, or a text such as \"5s\", up to 60s; 0 for no wait";
        let read = |value: &RawJson| match value.as_str() {
            "0" => Some(Duration::ZERO),
            _ => units::duration(value).filter(|wait| *wait <= Duration::from_secs(60)),
        };
        self.value(document, "startupWait", expected, read)
    }

    /// A bare name is looked for on `PATH`; anything else is a path.
    fn uv(&self, document: &RawJson) -> Result<Option<PathBuf>, ConfigError> {
        let given = self.text(document, "uv", "the path of `uv`")?;
        Ok(given.map(|uv| if uv.contains('/') { self.path(&uv) } else { PathBuf::from(uv) }))
    }

    fn state(&self, document: &RawJson) -> Result<Option<String>, ConfigError> {
        const EXPECTED: &str = "the file of the store, or its address: \"sqlite://…\"";
        let Some(given) = self.text(document, "state", EXPECTED)? else { return Ok(None) };
        let path = given.strip_prefix("sqlite://").unwrap_or(&given);
        if path.contains("://") {
            let value = document.get("state").unwrap_or(RawJson::NULL);
            return Err(self.form(&value, "state", EXPECTED));
        }
        Ok(Some(format!("sqlite://{}", self.path(path).display())))
    }

    /// A value of the right form; `expected` says what that is.
    pub(crate) fn value<T>(
        &self,
        object: &RawJson,
        key: &str,
        expected: &'static str,
        read: impl Fn(&RawJson) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(value) = object.get(key) else { return Ok(None) };
        read(&value).map(Some).ok_or_else(|| self.form(&value, key, expected))
    }

    /// A path from the file's folder; `~/` is the user's home.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        let home = path.strip_prefix("~/").zip((self.environment)("HOME"));
        let folder = self.source.folder();
        let whole =
            home.map_or_else(|| folder.join(path), |(rest, home)| Path::new(&home).join(rest));
        // `./tools` and `tools` are one folder and should be shown as one.
        whole.components().collect()
    }

    /// The folder of the project that the file belongs to. Editors keep theirs in one of their own.
    pub(crate) fn workspace(&self) -> &Path {
        let folder = self.source.folder();
        let is_editors = [".vscode", ".cursor", ".zed"].iter().any(|name| folder.ends_with(name));
        folder.parent().filter(|_| is_editors).unwrap_or(folder)
    }

    pub(crate) fn form(&self, value: &RawJson, key: &str, expected: &'static str) -> ConfigError {
        ConfigError::Form { place: self.place(value), key: key.to_owned(), expected }
    }

    pub(crate) fn place(&self, value: &RawJson) -> Place {
        self.source.place(value)
    }
}
