//! The configuration as it is in force, for people: variables replaced, paths whole, and every
//! value that may be secret as `…`.

use std::path::Path;

use gantry_client::{Endpoint, HttpKind, Secret, Target};
use gantry_process::Program;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::redact::HIDDEN;
use gantry_protocol::{RawJson, Redactor};
use gantry_providers::upstreams::{Profile, UpstreamConfig};

use crate::config::{
    AuditConfig, Auth, Config, HttpLimits, MetricsConfig, Standby, merge, policy, tools,
};

impl Config {
    /// What is in force.
    pub fn to_json(&self) -> RawJson {
        let redactor = self.redactor();
        let path = |path: &Path| redactor.place(&path.to_string_lossy());
        let folders = self.folders.iter().map(|folder| RawJson::string(&path(folder)));
        let manifests = self.inline.iter().map(|inline| inline.manifest.clone());
        let tools: Vec<RawJson> = folders.chain(manifests).collect();
        let servers = self.servers.iter().fold(ObjectWriter::new(), |servers, server| {
            servers.raw(&server.name, &self.server(server))
        });
        let profiles = self.profiles.iter().fold(ObjectWriter::new(), |profiles, profile| {
            profiles.raw(&profile.name, &profile_json(profile))
        });
        ObjectWriter::new()
            .value_some("listen", self.listen.as_ref())
            .value_some("auth", self.auth.map(Auth::name))
            .value_some("allowedHosts", Some(&self.names.hosts).filter(|it| !it.is_empty()))
            .value_some("allowedOrigins", Some(&self.names.origins).filter(|it| !it.is_empty()))
            .raw_some("http", self.http.as_ref().map(HttpLimits::to_json).as_ref())
            .raw_some("metrics", self.metrics.as_ref().map(MetricsConfig::to_json).as_ref())
            .array("tools", &tools)
            .raw_some("mcpServers", Some(&servers.finish()).filter(|_| !self.servers.is_empty()))
            .raw_some("profiles", Some(&profiles.finish()).filter(|_| !self.profiles.is_empty()))
            .value_some("startupWait", self.startup_wait.map(|wait| wait.as_millis() as u64))
            .value_some("workspace", self.resources.workspace.as_deref().map(path))
            .raw_some("resources", self.resources.to_json().as_ref())
            .value_some("uv", self.uv.as_deref().map(path))
            .raw_some("standby", self.standby.as_ref().map(Standby::to_json).as_ref())
            .raw_some("toolNames", self.tool_names.as_ref().map(tools::to_json).as_ref())
            .raw_some("clientLimits", self.client_limits.to_json().as_ref())
            .raw_some("limits", self.limits.as_ref().map(|limits| &limits.written))
            .raw_some("policy", self.policy.to_json(&self.trust).as_ref())
            .raw_some("pins", self.pins.as_ref().map(policy::to_json).as_ref())
            .value_some("state", self.state.as_ref().map(|state| redactor.place(state)))
            .raw_some("audit", self.audit.as_ref().map(AuditConfig::to_json).as_ref())
            .raw_some("telemetry", self.telemetry().as_ref())
            .finish()
    }

    fn telemetry(&self) -> Option<RawJson> {
        let telemetry = self.telemetry.as_ref()?;
        let collector = telemetry.collector.as_ref().map(ToString::to_string);
        Some(telemetry.to_json(collector.map(|url| self.redactor().place(&address(&url)))))
    }

    /// What hides the values that came from references.
    pub fn redactor(&self) -> Redactor {
        Redactor::new(self.secrets.iter().map(Secret::expose))
    }

    /// A command or an address in a line, without secrets.
    pub fn place_of(&self, target: &Target) -> String {
        let redactor = self.redactor();
        match target {
            Target::Program(program) => {
                let command = redactor.place(&program.program.to_string_lossy());
                [vec![command], redactor.arguments(&program.args)].concat().join(" ")
            }
            Target::Http(endpoint, _) | Target::WebSocket(endpoint) => self.address(endpoint),
        }
    }

    fn address(&self, endpoint: &Endpoint) -> String {
        self.redactor().place(&address(&endpoint.url.to_string()))
    }

    fn server(&self, server: &UpstreamConfig) -> RawJson {
        let object = ObjectWriter::new().value("type", transport(server));
        let object = match &server.target {
            Ok(Target::Program(program)) => self.program(object, program),
            Ok(Target::Http(endpoint, _) | Target::WebSocket(endpoint)) => {
                self.endpoint(object, endpoint)
            }
            Err(problem) => object.value("problem", problem),
        };
        let list = |texts: &[String]| Some(texts.to_vec()).filter(|texts| !texts.is_empty());
        object
            .value_some("disabled", Some(true).filter(|_| server.disabled))
            .value_some("prefix", server.prefix.as_ref())
            .value_some("include", list(&server.include))
            .value_some("exclude", list(&server.exclude))
            .finish()
    }

    fn program(&self, object: ObjectWriter, program: &Program) -> ObjectWriter {
        let redactor = self.redactor();
        let directory = program.directory.as_ref().map(|it| redactor.place(&it.to_string_lossy()));
        let inherited = merge::environment();
        let own = program.env.iter().filter(|variable| !inherited.contains(variable));
        let names: Vec<&str> = own.map(|(name, _)| name.as_str()).collect();
        let hidden = hidden(&names);
        object
            .value("command", &redactor.place(&program.program.to_string_lossy()))
            .value("args", &redactor.arguments(&program.args))
            .raw_some("env", Some(&hidden).filter(|_| !names.is_empty()))
            .value_some("cwd", directory)
    }

    fn endpoint(&self, object: ObjectWriter, endpoint: &Endpoint) -> ObjectWriter {
        let names: Vec<&str> = endpoint.headers.iter().map(|(name, _)| name.as_str()).collect();
        let hidden = hidden(&names);
        object
            .value("url", &self.address(endpoint))
            .raw_some("headers", Some(&hidden).filter(|_| !names.is_empty()))
    }
}

/// `stdio`, `http`, `sse` or `websocket`; `unknown` where the entry could not be read.
pub fn transport(server: &UpstreamConfig) -> &'static str {
    match &server.target {
        Ok(Target::Program(_)) => "stdio",
        Ok(Target::Http(_, HttpKind::Events)) => "sse",
        Ok(Target::Http(..)) => "http",
        Ok(Target::WebSocket(_)) => "websocket",
        Err(_) => "unknown",
    }
}

/// An address without the password of its user and without what stands in its query.
fn address(url: &str) -> String {
    let (base, query) = url.split_once('?').map_or((url, false), |(base, _)| (base, true));
    let base = match base.split_once("://") {
        Some((scheme, rest)) => {
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            match authority.rsplit_once('@') {
                Some((_, host)) => format!("{scheme}://{HIDDEN}@{host}{path}"),
                None => base.to_owned(),
            }
        }
        None => base.to_owned(),
    };
    if query { format!("{base}?{HIDDEN}") } else { base }
}

fn hidden(names: &[&str]) -> RawJson {
    names.iter().fold(ObjectWriter::new(), |object, name| object.value(name, HIDDEN)).finish()
}

fn profile_json(profile: &Profile) -> RawJson {
    ObjectWriter::new()
        .value("servers", &profile.servers)
        .value("include", &profile.include)
        .value("exclude", &profile.exclude)
        .finish()
}
