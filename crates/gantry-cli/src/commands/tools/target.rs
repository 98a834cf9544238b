//! The tools of this process, of the servers of the configuration, or of one server that is named.

use std::net::SocketAddr;

use gantry::{Problem, RawJson, Server, Tools, UpstreamConfig, UpstreamSettings, Upstreams};
use gantry_client::{Endpoint, HttpKind, Secret, Target};
use gantry_providers::suggestion::nearest;
use http::Uri;
use http::uri::Authority;

use crate::admin_client::{AdminClient, Session, page_in};
use crate::args::{GatewayTarget, ToolSource};
use crate::commands::tools::Opened;
use crate::config::Config;
use crate::exit::{Code, Exit};
use crate::lock_file::LockFile;
use crate::runtime::{instance_file, policies};
use crate::{render, state_dir, tool_sources};

/// Opens what the options name. Servers of the configuration are connected to only when the tool
/// that is wanted is not here, or when none is named.
pub(crate) async fn open_target(
    reach: &GatewayTarget,
    wanted: Option<&str>,
) -> Result<Opened, Exit> {
    if let Some(url) = &reach.url {
        return remote(url, &reach.header).await;
    }
    let config = tool_sources::configuration(reach.origin.config.as_deref())?;
    let guarding = policies::open(config.as_ref()).await?;
    // This process ends with what it is asked to do; nobody else can answer an approval of it.
    guarding.policies.trust().approvals().set_client_only();
    let mut opened =
        crate::commands::tools::guarded(&reach.origin, config.as_ref(), Some(guarding))?;
    let lock = LockFile::of(config.as_ref())?;
    let config = config.unwrap_or_default();
    let is_here = wanted.is_some_and(|name| opened.find(name).is_ok());
    if is_here || !reach.origin.tools.is_empty() || config.servers.is_empty() {
        return Ok(opened);
    }
    let folder = Some(state_dir::servers()?);
    let servers = Upstreams::new(UpstreamSettings { folder, ..UpstreamSettings::default() });
    servers.attach(opened.server.gateway());
    connect(&servers, config).await;
    if let Some(guarding) = &opened.guarding {
        lock.keep_new(guarding.policies.pins());
    }
    opened._servers = Some(servers);
    Ok(opened)
}

/// Connects to the servers of a configuration, and says which cannot be reached.
async fn connect(servers: &Upstreams, config: Config) {
    servers.configure(config.servers, Vec::new());
    servers.settled().await;
    for status in servers.status() {
        if let Some(reason) = status.reason.filter(|_| status.state != "disabled") {
            render::say(&format!("`{}` cannot be reached: {reason}", status.name));
        }
    }
}

/// The same URL with the address in the place of its host.
fn at(url: Uri, address: SocketAddr) -> Result<Uri, Exit> {
    let mut parts = url.into_parts();
    let authority = Authority::try_from(address.to_string());
    parts.authority = Some(authority.map_err(|error| Exit::bug(error.to_string()))?);
    Uri::from_parts(parts).map_err(|error| Exit::bug(error.to_string()))
}

/// One server, under the names that it gives itself.
async fn remote(url: &str, headers: &[String]) -> Result<Opened, Exit> {
    let wrong = |text: String| Exit::new(Code::Usage, text).hint("write `http://…` or `ws://…`");
    let address =
        url.parse().map_err(|error| wrong(format!("`{url}` is not a valid URL: {error}")))?;
    let mut endpoint = Endpoint::new(address);
    for header in headers {
        let Some((name, value)) = header.split_once(':') else {
            let text = "`--header` has the wrong form".to_owned();
            return Err(Exit::new(Code::Usage, text).hint("write it as `--header 'Name: value'`"));
        };
        endpoint.headers.push((name.trim().to_owned(), Secret::new(value.trim())));
    }
    let is_said = |(name, _): &(String, Secret)| name.eq_ignore_ascii_case("authorization");
    if !endpoint.headers.iter().any(is_said)
        && let Some(ours) = instance_file::ours(&endpoint.url)?
        && let Some(token) = state_dir::find_client_token()?
    {
        endpoint.url = at(endpoint.url, ours)?;
        let value = Secret::new(format!("Bearer {}", token.expose()));
        endpoint.headers.push(("Authorization".to_owned(), value));
    }
    let target = match endpoint.url.scheme_str() {
        Some("http" | "https") => Target::Http(endpoint, HttpKind::Auto),
        Some("ws" | "wss") => Target::WebSocket(endpoint),
        _ => return Err(wrong(format!("`{url}` is not the URL of a server"))),
    };
    let servers = Upstreams::new(UpstreamSettings::default());
    let builder = Server::new("gantry", env!("CARGO_PKG_VERSION")).upstreams(servers.clone());
    let server = builder.build().map_err(|error| Exit::bug(error.to_string()))?;
    let upstream =
        UpstreamConfig { prefix: Some(String::new()), ..UpstreamConfig::new("server", target) };
    servers.configure(vec![upstream], Vec::new());
    servers.settled().await;
    if let Some(status) = servers.status().into_iter().find(|status| status.state != "ready") {
        let reason = status.reason.unwrap_or_else(|| status.state.to_owned());
        let text = format!("the server at {url} cannot be reached: {reason}");
        return Err(Exit::new(Code::Unreachable, text));
    }
    let tools = Tools::open(Vec::new(), tool_sources::settings(None));
    Ok(Opened { server, tools, problems: Vec::new(), guarding: None, _servers: Some(servers) })
}

/// A connection to the gateway that is meant; none if this process is, or no gateway runs.
pub(crate) async fn running(source: &ToolSource) -> Result<Option<Session>, Exit> {
    let Some(reach) = source.running() else { return Ok(None) };
    match AdminClient::find_any(&reach).await? {
        Some(running) => running.connect().await.map(Some),
        None => Ok(None),
    }
}

/// The definition of the tool of that name, which may have a version or be the name in the contract.
pub(crate) fn definition(definitions: &[RawJson], name: &str) -> Option<RawJson> {
    let (base, version) = match name.split_once('@') {
        Some((base, version)) => (base, Some(version)),
        None => (name, None),
    };
    let shown = base.replace('.', "_");
    let text = |it: &RawJson, path: &[&str]| it.at(path).and_then(|it| it.to_text());
    let is_named = |it: &&RawJson, name: &str| text(it, &["name"]).as_deref() == Some(name);
    let found = definitions.iter().find(|it| is_named(it, base));
    let found = found.or_else(|| definitions.iter().find(|it| is_named(it, &shown)))?;
    // An older version may take other arguments.
    let listed = text(found, &["_meta", "gantry/tool", "version"]);
    (version.is_none() || version == listed.as_deref()).then(|| found.clone())
}

/// That the running gateway has no tool of that name.
pub(crate) fn unlisted(definitions: &[RawJson], name: &str, source: &ToolSource) -> Exit {
    let names: Vec<String> =
        definitions.iter().filter_map(|it| it.get("name")?.to_text()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let words = source.words();
    let hint = match nearest(name, &names) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!(
            "`gantry tools list{words}` shows its tools; `--local` reads the configuration of this \
             folder instead"
        ),
    };
    let text = format!("the running gateway has no tool `{name}`");
    Exit::new(Code::NotFound, text).hint(hint)
}

impl Session {
    /// What is wrong with tools that the gateway left out.
    pub(crate) async fn problems(&self) -> Result<Vec<Problem>, Exit> {
        let told = self.running.get("/api/tools").await?;
        let problem = |it: RawJson| {
            let text = |key: &str| it.get(key).and_then(|it| it.to_text()).unwrap_or_default();
            Problem {
                file: text("file").into(),
                line: it.get("line").and_then(|it| it.read()),
                message: text("message"),
                advice: text("advice"),
                is_warning: it.get("warning").and_then(|it| it.read()).unwrap_or_default(),
            }
        };
        Ok(told.get("problems").iter().flat_map(RawJson::elements).map(problem).collect())
    }

    /// A line for each server whose definitions are not as they were pinned.
    pub(crate) async fn changed(&self) -> Result<Vec<String>, Exit> {
        let told = self.running.get("/api/servers").await?;
        Ok(told.get("pins").and_then(|it| it.read()).unwrap_or_default())
    }

    /// What the registry of the gateway has under a name, if it is the name of a program.
    pub(crate) async fn registered(&self, name: &str) -> Option<RawJson> {
        self.running.get(&page_in("/api/tools/", name, "")).await.ok()
    }

    /// How a tool stands with the policies of the gateway.
    pub(crate) async fn standing(&self, name: &str) -> Result<RawJson, Exit> {
        self.running.get(&page_in("/api/tools/", name, "/standing")).await
    }
}
