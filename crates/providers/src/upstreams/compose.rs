//! Many servers' offers as one listing, with the way back from every name.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use foldhash::HashMap;
use gantry_gateway::{Listing, Matcher, PromptEntry, ResourceEntry, TemplateEntry, ToolEntry};
use gantry_protocol::RawJson;
use gantry_protocol::headers::HeaderParam;

use super::aliases::Aliases;
use super::naming::{LONGEST, Names};
use super::offer::{Offer, OfferedTool, Tasks};
use super::settings::Profile;
use gantry_gateway::pattern::chosen;

/// A server's part.
#[derive(Debug, Clone)]
pub(super) struct Part {
    pub(super) server: Arc<str>,
    /// What its names begin with.
    pub(super) prefix: String,
    pub(super) offer: Arc<Offer>,
}

/// What of the parts is wanted, and under which names.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scope<'a> {
    /// Everything, under names that tell the servers apart.
    Everything {
        /// The longest name.
        length: usize,
    },
    /// One server under its own names. It is the only part.
    Alone,
    /// A selection, under the names that everything has.
    Selected {
        /// The longest name.
        length: usize,
        profile: &'a Profile,
    },
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
    fn length(self) -> usize {
        match self {
            Self::Everything { length } | Self::Selected { length, .. } => length,
            Self::Alone => LONGEST,
        }
    }

    pub(super) fn has_server(self, server: &str) -> bool {
        match self {
            Self::Everything { .. } | Self::Alone => true,
            Self::Selected { profile, .. } => {
                profile.servers.is_empty() || profile.servers.iter().any(|it| it == server)
            }
        }
    }

    fn has_tool(self, name: &str) -> bool {
        match self {
            Self::Everything { .. } | Self::Alone => true,
            Self::Selected { profile, .. } => chosen(&profile.include, &profile.exclude, name),
        }
    }
}

impl Routes {
    /// The other addresses of a server's resources, if it has some.
    pub(super) fn aliases(&self, server: &str) -> Option<&Arc<Aliases>> {
        self.aliases.get(server)
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

/// Puts the parts, which are in the order of their servers' names, into one listing. What was made
/// for the listing `before` and is the same now is used again.
pub(super) fn compose(parts: &[Part], scope: Scope<'_>, before: &Routes) -> Composed {
    let mut composed = Composed::default();
    name_tools(parts, scope, before, &mut composed);
    name_prompts(parts, scope, &mut composed);
    address_resources(parts, scope, &mut composed);
    composed
}

fn name_tools(parts: &[Part], scope: Scope<'_>, before: &Routes, composed: &mut Composed) {
    let mut names = Names::new(scope.length());
    for part in parts {
        for tool in &part.offer.tools {
            let name = match scope {
                // Names of one server that were made alike are kept apart all the same.
                Scope::Alone => {
                    let name = tool.entry.name.clone();
                    names.give_as(&part.server, &tool.own, name, &tool.own)
                }
                _ => names.give(&part.server, &part.prefix, &tool.own),
            };
            composed.note(&part.server, name.clash);
            if !scope.has_server(&part.server) || !scope.has_tool(&name.name) {
                continue;
            }
            match tool_route(part, tool, &name.name, before) {
                Ok(route) => {
                    composed.listing.tools.push(route.entry.clone());
                    composed.routes.tools.insert(name.name, route);
                }
                Err(error) => composed.note(&part.server, Some(error)),
            }
        }
    }
}

fn tool_route(
    part: &Part,
    tool: &OfferedTool,
    name: &str,
    before: &Routes,
) -> Result<ToolRoute, String> {
    let made = before.tools.get(name).filter(|made| Arc::ptr_eq(&made.base, &tool.entry));
    if let Some(made) = made.filter(|made| made.route.server == part.server) {
        return Ok(made.clone());
    }
    let entry = match tool.entry.name == name {
        true => tool.entry.clone(),
        false => Arc::new(tool.entry.renamed(name).map_err(|error| error.to_string())?),
    };
    Ok(ToolRoute {
        route: Route { server: part.server.clone(), own: tool.own.clone() },
        headers: entry.headers.clone().into(),
        tasks: tool.tasks,
        base: tool.entry.clone(),
        entry,
    })
}

fn name_prompts(parts: &[Part], scope: Scope<'_>, composed: &mut Composed) {
    let mut names = Names::new(scope.length());
    for part in parts {
        for prompt in &part.offer.prompts {
            let (name, entry) = match scope {
                Scope::Alone => (prompt.name.clone(), prompt.clone()),
                _ => {
                    let given = names.give(&part.server, &part.prefix, &prompt.name);
                    composed.note(&part.server, given.clash);
                    let definition = &prompt.definition;
                    let definition =
                        definition.edit().set("name", RawJson::string(&given.name)).apply();
                    let name = given.name.clone();
                    (
                        name,
                        Arc::new(PromptEntry {
                            name: given.name,
                            definition,
                            origin: prompt.origin.clone(),
                            own: prompt.own.clone(),
                        }),
                    )
                }
            };
            if scope.has_server(&part.server) {
                composed.listing.prompts.push(entry);
                let route = Route { server: part.server.clone(), own: prompt.name.clone() };
                composed.routes.prompts.insert(name, route);
            }
        }
    }
}

fn address_resources(parts: &[Part], scope: Scope<'_>, composed: &mut Composed) {
    let (mut uris, mut texts) = (HashSet::new(), HashSet::new());
    for part in parts {
        let mut aliases = None;
        let new = || Aliases::new(&part.server, |prefix| is_used(parts, prefix));
        let is_wanted = scope.has_server(&part.server);
        for resource in &part.offer.resources {
            let entry = match uris.insert(resource.uri.as_str()) {
                true => resource.clone(),
                false => {
                    let aliases = aliases.get_or_insert_with(new);
                    Arc::new(readdressed(resource, aliases.add(&resource.uri)))
                }
            };
            if is_wanted {
                composed.routes.resources.insert(entry.uri.clone(), part.server.clone());
                composed.listing.resources.push(entry);
            }
        }
        for (template, parsed) in &part.offer.templates {
            let text = template.uri_template.as_str();
            let entry = match texts.insert(text) {
                true => template.clone(),
                false => {
                    let aliases = aliases.get_or_insert_with(new);
                    let alias = aliases.add_template(text, parsed.as_ref());
                    Arc::new(readdressed_template(template, alias))
                }
            };
            let prefix = entry.uri_template.len() - text.len();
            let prefix = entry.uri_template[..prefix].to_owned();
            let parsed = parsed.clone();
            let matcher: Matcher = Arc::new(move |uri: &str| {
                let own = uri.strip_prefix(prefix.as_str());
                own.zip(parsed.as_ref()).is_some_and(|(own, it)| it.matches(own).is_some())
            });
            if is_wanted {
                composed.list_template(&part.server, entry, matcher);
            }
        }
        if let Some(aliases) = aliases {
            composed.routes.aliases.insert(part.server.clone(), Arc::new(aliases));
        }
    }
}

/// Whether something that is listed begins so.
fn is_used(parts: &[Part], prefix: &str) -> bool {
    parts.iter().any(|part| {
        part.offer.resources.iter().any(|it| it.uri.starts_with(prefix))
            || part.offer.templates.iter().any(|(it, _)| it.uri_template.starts_with(prefix))
    })
}

fn readdressed(resource: &ResourceEntry, uri: String) -> ResourceEntry {
    let definition = resource.definition.edit().set("uri", RawJson::string(&uri)).apply();
    ResourceEntry { uri, definition, origin: resource.origin.clone() }
}

fn readdressed_template(template: &TemplateEntry, uri_template: String) -> TemplateEntry {
    let text = RawJson::string(&uri_template);
    let definition = template.definition.edit().set("uriTemplate", text).apply();
    TemplateEntry { uri_template, definition, origin: template.origin.clone() }
}

impl Composed {
    fn note(&mut self, server: &Arc<str>, problem: Option<String>) {
        if let Some(problem) = problem {
            self.problems.entry(server.clone()).or_default().push(problem);
        }
    }

    fn list_template(&mut self, server: &Arc<str>, entry: Arc<TemplateEntry>, matcher: Matcher) {
        let route = (server.clone(), matcher.clone());
        self.routes.templates.insert(entry.uri_template.clone(), route);
        self.listing.templates.push((entry, matcher));
    }
}

impl std::fmt::Debug for Routes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = [&self.tools.len(), &self.prompts.len(), &self.resources.len()];
        formatter.debug_tuple("Routes").field(&counts).finish()
    }
}

#[cfg(test)]
mod tests;
