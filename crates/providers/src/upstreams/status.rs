//! How a server stands, for people.

use gantry_client::{Client, Endpoint, Health, HttpKind, State, Target};
use gantry_protocol::RawJson;
use serde::Serialize;

use super::server::Server;

/// How a server stands.
#[derive(Debug, Clone, Serialize)]
pub struct Status {
    /// What it is called here.
    pub name: String,
    /// One of the states, such as `ready`.
    pub state: &'static str,
    /// Why it is so.
    pub reason: Option<String>,
    /// `stdio`, `http`, `sse` or `websocket`.
    pub transport: &'static str,
    /// The command or address, without secrets.
    pub place: String,
    /// The revision spoken with it, once it was reached.
    pub revision: Option<String>,
    /// What it calls itself, and in which version.
    pub server: Option<String>,
    /// How many of each it offers.
    pub tools: usize,
    /// The same for resources and templates.
    pub resources: usize,
    /// The same for prompts.
    pub prompts: usize,
    /// What it lists that cannot be offered, each with the reason.
    pub problems: Vec<String>,
    /// What is known of its program or connection.
    #[serde(skip)]
    pub health: Health,
}

impl Status {
    /// How a server stands now. `problems` are those of its names.
    pub(super) fn of(server: &Server, problems: &[String]) -> Self {
        let (mut state, offer) = (server.state(), server.offered());
        if state == State::Ready
            && let Some(trouble) = server.lists.load().troubles().next()
        {
            state = State::Degraded(trouble.to_owned());
        }
        let peer = server.shared().and_then(Client::known);
        let (transport, place) = match &server.upstream.target {
            Ok(target) => place(target),
            Err(_) => ("", String::new()),
        };
        Self {
            name: server.name().to_owned(),
            state: state.name(),
            reason: state.reason().map(|reason| server.redaction.text(reason).into_owned()),
            transport,
            place: server.redaction.text(&place).into_owned(),
            revision: peer.as_ref().map(|peer| peer.revision.as_str().to_owned()),
            server: peer.as_ref().and_then(|peer| title(&peer.info)),
            tools: offer.tools.len(),
            resources: offer.resources.len() + offer.templates.len(),
            prompts: offer.prompts.len(),
            problems: offer.problems.iter().chain(problems).cloned().collect(),
            health: server.shared().map(Client::health).unwrap_or_default(),
        }
    }
}

/// The transport, and the command or address. What follows the path of an address may be a token.
fn place(target: &Target) -> (&'static str, String) {
    let address = |endpoint: &Endpoint| {
        let (scheme, host) = (endpoint.url.scheme_str().unwrap_or("http"), endpoint.url.host());
        let port = endpoint.url.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        format!("{scheme}://{}{port}{}", host.unwrap_or_default(), endpoint.url.path())
    };
    match target {
        Target::Program(program) => {
            let mut place = program.program.display().to_string();
            for argument in &program.args {
                place.push(' ');
                place.push_str(argument);
            }
            ("stdio", place)
        }
        Target::Http(endpoint, HttpKind::Events) => ("sse", address(endpoint)),
        Target::Http(endpoint, _) => ("http", address(endpoint)),
        Target::WebSocket(endpoint) => ("websocket", address(endpoint)),
    }
}

/// What a server calls itself, and in which version.
fn title(info: &RawJson) -> Option<String> {
    let name = info.get("name")?.to_text()?;
    match info.get("version").and_then(|version| version.to_text()) {
        Some(version) => Some(format!("{name} {version}")),
        None => Some(name),
    }
}
