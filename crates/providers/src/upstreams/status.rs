//! The status of a server, as `gantry status` and the administration show it.

use gantry_client::{Client, Endpoint, Health, HttpKind, State, Target};
use gantry_protocol::{RawJson, Redactor};
use serde::Serialize;

use super::pool::DedicatedConnection;
use super::upstream::Upstream;

/// The status of one server.
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
    /// Connections that it has for single users or sessions; none if all share one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<usize>,
    /// What is known of its program or connection, and summed up of those for single users or
    /// sessions.
    #[serde(skip)]
    pub health: Health,
}

impl Status {
    /// The status of a server now. `problems` are those of its names.
    pub(super) fn of(server: &Upstream, problems: &[String]) -> Self {
        let (mut state, exports, own) = (server.state(), server.offered(), server.dedicated());
        let unlisted = || server.lists.load().troubles().next().map(str::to_owned);
        let trouble = match state {
            State::Ready => {
                unlisted().or_else(|| server.listing_storm()).or_else(|| unwell(own.as_deref()?))
            }
            State::Configured => own.as_deref().and_then(unwell),
            _ => None,
        };
        state = trouble.map_or(state, State::Degraded);
        let mut health = server.shared().map(Client::health).unwrap_or_default();
        own.iter().flatten().for_each(|own| add(&mut health, &own.client.health()));
        let peer = server.shared().and_then(Client::known);
        let (transport, place) = match &server.config.target {
            Ok(target) => place(target, &server.redaction),
            Err(_) => ("", String::new()),
        };
        let shown = |text: &str| server.redaction.text(text).into_owned();
        Self {
            name: server.name().to_owned(),
            state: state.name(),
            reason: state.reason().map(&shown),
            transport,
            place,
            revision: peer.as_ref().map(|peer| peer.revision.as_str().to_owned()),
            server: peer.as_ref().and_then(|peer| title(&peer.info)).map(|it| shown(&it)),
            tools: exports.tools.len(),
            resources: exports.resources.len() + exports.templates.len(),
            prompts: exports.prompts.len(),
            problems: exports.problems.iter().chain(problems).map(|it| shown(it)).collect(),
            connections: own.map(|own| own.len()),
            health,
        }
    }
}

/// What is wrong with connections of single users or sessions.
fn unwell(own: &[DedicatedConnection]) -> Option<String> {
    let states: Vec<State> = own.iter().map(|own| own.client.state()).collect();
    let mut unwell = states.iter().filter_map(|state| Some((state.name(), state.reason()?)));
    let (name, reason) = unwell.next()?;
    let (count, all) = (unwell.count() + 1, states.len());
    Some(format!("{count} of {all} connections for single users or sessions: {name}: {reason}"))
}

fn add(sum: &mut Health, health: &Health) {
    sum.memory = match (sum.memory, health.memory) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    };
    sum.restarts += health.restarts;
    sum.in_flight += health.in_flight;
}

/// The transport, and the command or address as people may see it. What follows the path of an
/// address may be a token.
fn place(target: &Target, redaction: &Redactor) -> (&'static str, String) {
    let address = |endpoint: &Endpoint| {
        let (scheme, host) = (endpoint.url.scheme_str().unwrap_or("http"), endpoint.url.host());
        let port = endpoint.url.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        let address =
            format!("{scheme}://{}{port}{}", host.unwrap_or_default(), endpoint.url.path());
        redaction.place(&address)
    };
    match target {
        Target::Program(program) => {
            let command = redaction.place(&program.program.to_string_lossy());
            let words = [vec![command], redaction.arguments(&program.args)].concat();
            ("stdio", words.join(" "))
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
