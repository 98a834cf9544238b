//! Composes the exports of many servers into one listing, with the route back from each name.
//!
//! The exports of a server that is away are withdrawn after a while, but its names and addresses
//! stay reserved, so that no other server can take its place.

mod addresses;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::HashMap;
use gantry_gateway::glob::chosen;
use gantry_gateway::{Effect, Listing, Matcher, PromptEntry, ToolEntry};
use gantry_protocol::RawJson;
use gantry_protocol::headers::HeaderParam;

use super::aliases::Aliases;
use super::canonical_names::{CanonicalNames, NamedExport};
use super::config::Profile;
use super::exports::{ExportedTool, Exports, Tasks};
use super::naming::{LONGEST, NameTable};

/// A server's part.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) server: Arc<str>,
    /// What its names begin with.
    pub(super) prefix: String,
    pub(super) exports: Arc<Exports>,
}

/// What of the parts is wanted, and under which names.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scope<'a> {
    /// Everything, under names that tell the servers apart.
    Everything,
    /// One server under its own names. It is the only part.
    Alone,
    /// A selection, under the names that everything has.
    Selected(&'a Profile),
}

/// The way back from the names of one listing.
#[derive(Default)]
pub(super) struct Routes {
    pub(super) tools: HashMap<String, ToolRoute>,
    pub(super) prompts: HashMap<String, Route>,
    pub(super) resources: HashMap<String, Arc<str>>,
    /// In the order of the catalog, in which the first that covers an address counts.
    templates: BTreeMap<String, (Arc<str>, Matcher)>,
    aliases: HashMap<Arc<str>, Arc<Aliases>>,
    /// Whose tools the names are that are kept for servers that are away.
    reserved: HashMap<String, Arc<str>>,
}

/// Whose it is, and what its server calls it.
#[derive(Debug, Clone)]
pub(super) struct Route {
    pub(super) server: Arc<str>,
    pub(super) own: String,
}

/// The same for a tool.
#[derive(Debug, Clone)]
pub(super) struct ToolRoute {
    pub(super) route: Route,
    pub(super) headers: Arc<[HeaderParam]>,
    pub(super) tasks: Tasks,
    /// Whether it only reads, or a second call changes nothing more.
    pub(super) is_repeatable: bool,
    /// The entry as it is offered, and the one it was made from.
    entry: Arc<ToolEntry>,
    base: Arc<ToolEntry>,
}

/// A listing, the way back, and what is wrong with names, by server.
#[derive(Debug, Default)]
pub(super) struct Composed {
    pub(super) listing: Listing,
    pub(super) routes: Routes,
    pub(super) problems: BTreeMap<Arc<str>, Vec<String>>,
}

impl Scope<'_> {
    pub(super) fn has_server(self, server: &str) -> bool {
        match self {
            Self::Everything | Self::Alone => true,
            Self::Selected(profile) => {
                profile.servers.is_empty() || profile.servers.iter().any(|it| it == server)
            }
        }
    }

    fn has_tool(self, name: &str) -> bool {
        match self {
            Self::Everything | Self::Alone => true,
            Self::Selected(profile) => chosen(&profile.include, &profile.exclude, name),
        }
    }
}

impl Routes {
    /// The other addresses of a server's resources, if it has some.
    pub(super) fn aliases(&self, server: &str) -> Option<&Arc<Aliases>> {
        self.aliases.get(server)
    }

    /// The server that is away and has a tool of that name.
    pub(super) fn reserved_for(&self, tool: &str) -> Option<&Arc<str>> {
        self.reserved.get(tool)
    }

    /// Whose template that is.
    pub(super) fn server_of_template(&self, text: &str) -> Option<&Arc<str>> {
        self.templates.get(text).map(|(server, _)| server)
    }

    /// Whose resource an address is.
    pub(super) fn server_of(&self, uri: &str) -> Option<&Arc<str>> {
        let covering = || self.templates.values().find(|(_, matches)| matches(uri));
        self.resources.get(uri).or_else(|| covering().map(|(server, _)| server))
    }
}

/// Puts the parts, which are in the order of their servers' names, into one listing. `names` has the
/// canonical names of all servers, of which these parts are some. What was made for the listing
/// `before` and is the same now is used again.
pub(super) fn compose(
    parts: &[Part],
    scope: Scope<'_>,
    names: &CanonicalNames,
    before: &Routes,
) -> Composed {
    let mut composed = Composed::default();
    name_tools(parts, scope, names, before, &mut composed);
    name_prompts(parts, scope, names, &mut composed);
    addresses::assign(parts, scope, names, &mut composed);
    composed
}

fn name_tools(
    parts: &[Part],
    scope: Scope<'_>,
    names: &CanonicalNames,
    before: &Routes,
    composed: &mut Composed,
) {
    let mut own_names = NameTable::new(LONGEST);
    for part in parts {
        for tool in &part.exports.tools {
            // All parts were named; what were not could not be told from others, and is not listed.
            let Some(named) = names.tool(&part.server, &tool.own) else { continue };
            let (name, clash) = match scope {
                // Names of one server that were made alike are kept apart all the same.
                Scope::Alone => {
                    let name = tool.entry.name.clone();
                    let given = own_names.assign_exact(&part.server, &tool.own, name, &tool.own);
                    (given.name, given.clash)
                }
                _ => (named.canonical.name.to_string(), named.clash.clone()),
            };
            let is_wanted = scope.has_server(&part.server) && scope.has_tool(&name);
            if part.exports.is_withdrawn {
                let reserved = is_wanted.then(|| (name, part.server.clone()));
                composed.routes.reserved.extend(reserved);
                continue;
            }
            composed.note(&part.server, clash);
            if !is_wanted {
                continue;
            }
            match tool_route(part, tool, &name, named, before) {
                Ok(route) => {
                    composed.listing.tools.push(route.entry.clone());
                    composed.routes.tools.insert(name, route);
                }
                Err(error) => composed.note(&part.server, Some(error)),
            }
        }
    }
}

fn tool_route(
    part: &Part,
    tool: &ExportedTool,
    name: &str,
    named: &NamedExport,
    before: &Routes,
) -> Result<ToolRoute, String> {
    let canonical = named.beside(name);
    let made = before.tools.get(name).filter(|made| Arc::ptr_eq(&made.base, &tool.entry));
    let is_same =
        |it: &&ToolRoute| it.route.server == part.server && it.entry.canonical == canonical;
    if let Some(made) = made.filter(is_same) {
        return Ok(made.clone());
    }
    let entry = match tool.entry.name == name && canonical.is_none() {
        true => tool.entry.clone(),
        false => {
            let entry = tool.entry.shown_as(name, canonical);
            Arc::new(entry.map_err(|error| error.to_string())?)
        }
    };
    Ok(ToolRoute {
        route: Route { server: part.server.clone(), own: tool.own.clone() },
        headers: entry.headers.clone().into(),
        is_repeatable: is_repeatable(&entry),
        tasks: tool.tasks,
        base: tool.entry.clone(),
        entry,
    })
}

fn name_prompts(parts: &[Part], scope: Scope<'_>, names: &CanonicalNames, composed: &mut Composed) {
    for part in parts.iter().filter(|part| !part.exports.is_withdrawn) {
        for prompt in &part.exports.prompts {
            let Some(named) = names.prompt(&part.server, &prompt.name) else { continue };
            let (name, definition) = match scope {
                Scope::Alone => (prompt.name.clone(), prompt.definition.clone()),
                _ => {
                    composed.note(&part.server, named.clash.clone());
                    let name = named.canonical.name.to_string();
                    let definition = prompt.definition.edit().set("name", RawJson::string(&name));
                    (name, definition.apply())
                }
            };
            if scope.has_server(&part.server) {
                composed.listing.prompts.push(Arc::new(PromptEntry {
                    canonical: named.beside(&name),
                    client_names: None,
                    name: name.clone(),
                    definition,
                    origin: prompt.origin.clone(),
                    own: prompt.own.clone(),
                    offered: None,
                    is_cached: prompt.is_cached,
                }));
                let route = Route { server: part.server.clone(), own: prompt.name.clone() };
                composed.routes.prompts.insert(name, route);
            }
        }
    }
}

impl Composed {
    fn note(&mut self, server: &Arc<str>, problem: Option<String>) {
        if let Some(problem) = problem {
            self.problems.entry(server.clone()).or_default().push(problem);
        }
    }
}

impl std::fmt::Debug for Routes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = [&self.tools.len(), &self.prompts.len(), &self.resources.len()];
        formatter.debug_tuple("Routes").field(&counts).finish()
    }
}

/// Whether a tool says that it only reads, or that a second call changes nothing more.
fn is_repeatable(tool: &ToolEntry) -> bool {
    let is_idempotent = tool.definition.at(&["annotations", "idempotentHint"]);
    tool.effect() == Effect::ReadOnly || is_idempotent.and_then(|it| it.read()) == Some(true)
}

/// The longest text of one server, in characters, and of all.
const MAX_INSTRUCTIONS_PER_SERVER: usize = 2_000;
const MAX_INSTRUCTIONS: usize = 8_000;

/// Puts the instructions of servers behind those of the gateway.
pub(super) fn merge_instructions<'a>(
    own: Option<&str>,
    servers: impl Iterator<Item = (&'a str, &'a str)>,
) -> Option<String> {
    let mut merged = own.unwrap_or_default().to_owned();
    let mut room = MAX_INSTRUCTIONS;
    for (name, text) in servers {
        let text = shortened(text.trim(), MAX_INSTRUCTIONS_PER_SERVER.min(room));
        if text.is_empty() {
            continue;
        }
        room -= text.chars().count().min(room);
        if !merged.is_empty() {
            merged.push_str("\n\n");
        }
        merged.push_str(&format!("## {name}\n\n{text}"));
    }
    (!merged.is_empty()).then_some(merged)
}

/// The beginning of a text, which shows that it is one.
fn shortened(text: &str, length: usize) -> String {
    match text.chars().count() {
        count if count <= length => text.to_owned(),
        _ if length == 0 => String::new(),
        _ => text.chars().take(length - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod instructions_tests {
    use super::*;

    #[test]
    fn every_server_speaks_under_its_name() {
        let cases = [
            (None, vec![], None),
            (Some("be kind"), vec![], Some("be kind")),
            (None, vec![("a", " do this\n"), ("b", "")], Some("## a\n\ndo this")),
            (Some("x"), vec![("a", "y")], Some("x\n\n## a\n\ny")),
            (None, vec![("a", "y"), ("b", "z")], Some("## a\n\ny\n\n## b\n\nz")),
        ];
        for (own, servers, expected) in cases {
            assert_eq!(
                merge_instructions(own, servers.iter().copied()).as_deref(),
                expected,
                "{servers:?}"
            );
        }
    }

    #[test]
    fn nobody_says_too_much() {
        let long = "ä".repeat(3_000);
        let servers = ["a", "b", "c", "d", "e"].map(|name| (name, long.as_str()));
        let merged = merge_instructions(None, servers.into_iter()).unwrap();
        assert_eq!(merged.matches('…').count(), 4, "the fifth has no room");
        assert!(merged.chars().count() < MAX_INSTRUCTIONS + 100);
    }
}
