//! The tools of this process, of the servers of the configuration, or of one server that is named.

use gantry::config::Config;
use gantry::{Server, Tools, UpstreamConfig, UpstreamSettings, Upstreams};
use gantry_client::{Endpoint, HttpKind, Secret, Target};

use super::Opened;
use crate::cli::args::GatewayTarget;
use crate::cli::exit::{Code, Exit};
use crate::cli::lock::LockFile;
use crate::cli::{door, policy_set, render, state, tool_sources};

/// Opens what the options name. Servers of the configuration are connected to only when the tool
/// that is wanted is not here, or when none is named.
pub(crate) async fn reach(reach: &GatewayTarget, wanted: Option<&str>) -> Result<Opened, Exit> {
    if let Some(url) = &reach.url {
        return remote(url, &reach.header).await;
    }
    let config = tool_sources::configuration(reach.origin.config.as_deref())?;
    let guarding = policy_set::open(config.as_ref(), None).await?;
    // This process ends with what it is asked to do; nobody else can answer an approval of it.
    guarding.policies.trust().approvals().set_client_only();
    let mut opened = super::guarded(&reach.origin, config.as_ref(), Some(guarding))?;
    let lock = LockFile::of(config.as_ref())?;
    let config = config.unwrap_or_default();
    let is_here = wanted.is_some_and(|name| opened.find(name).is_ok());
    if is_here || !reach.origin.tools.is_empty() || config.servers.is_empty() {
        return Ok(opened);
    }
    let folder = Some(state::servers()?);
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

/// One server, under the names that it gives itself.
async fn remote(url: &str, headers: &[String]) -> Result<Opened, Exit> {
    let wrong = |text: String| Exit::new(Code::Usage, text).hint("write `http://…` or `ws://…`");
    let address = url.parse().map_err(|error| wrong(format!("`{url}` is no address: {error}")))?;
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
        && door::is_ours(&endpoint.url)?
        && let Some(token) = state::find_client_token()?
    {
        let value = Secret::new(format!("Bearer {}", token.expose()));
        endpoint.headers.push(("Authorization".to_owned(), value));
    }
    let target = match endpoint.url.scheme_str() {
        Some("http" | "https") => Target::Http(endpoint, HttpKind::Auto),
        Some("ws" | "wss") => Target::WebSocket(endpoint),
        _ => return Err(wrong(format!("`{url}` is no address of a server"))),
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
