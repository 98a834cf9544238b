//! Resource URIs and URI templates in one listing: the server's own, or an alias where another
//! server has the same.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use gantry_gateway::{Matcher, ResourceEntry, TemplateEntry};
use gantry_protocol::RawJson;

use super::super::aliases::Aliases;
use super::super::canonical_names::{self, CanonicalNames};
use super::{Composed, Part, Scope};
use crate::uri_template::Template;

/// The addresses of servers that are away, by which nobody else is to be reached.
#[derive(Debug, Default)]
struct Reserved {
    uris: HashSet<String>,
    templates: BTreeMap<String, Cover>,
}

/// Which addresses a template covers: those that it matches behind a prefix.
#[derive(Debug, Clone)]
struct Cover {
    prefix: String,
    parsed: Option<Arc<Template>>,
}

/// Gives every resource and template the address that no other has, or where a server is shown
/// alone its own.
pub(super) fn assign(
    parts: &[Part],
    scope: Scope<'_>,
    names: &CanonicalNames,
    composed: &mut Composed,
) {
    let is_shown = !matches!(scope, Scope::Alone);
    let (mut reserved, mut offered) = (Reserved::default(), Vec::new());
    for part in parts {
        let aliases = names.aliases(&part.server);
        let is_wanted = scope.has_server(&part.server);
        for resource in &part.exports.resources {
            let entry = match aliases.filter(|aliases| aliases.has(&resource.uri)) {
                None => resource.clone(),
                Some(aliases) => Arc::new(readdressed(resource, aliases, is_shown)),
            };
            if is_wanted && part.exports.is_withdrawn {
                reserved.uris.insert(entry.uri.clone());
            } else if is_wanted {
                composed.routes.resources.insert(entry.uri.clone(), part.server.clone());
                composed.listing.resources.push(entry);
            }
        }
        for (template, parsed) in &part.exports.templates {
            let text = template.uri_template.as_str();
            let entry = match aliases.filter(|aliases| aliases.has_template(text)) {
                None => template.clone(),
                Some(aliases) => Arc::new(readdressed_template(template, aliases, is_shown)),
            };
            let prefix = entry.uri_template.len() - text.len();
            let prefix = entry.uri_template[..prefix].to_owned();
            let cover = Cover { prefix, parsed: parsed.clone() };
            if is_wanted && part.exports.is_withdrawn {
                reserved.templates.insert(entry.uri_template.clone(), cover);
            } else if is_wanted {
                offered.push((part.server.clone(), entry, cover));
            }
        }
        if let Some(aliases) = aliases.filter(|_| is_shown) {
            composed.routes.aliases.insert(part.server.clone(), aliases.clone());
        }
    }
    let reserved = Arc::new(reserved);
    for (server, entry, cover) in offered {
        let (text, reserved) = (entry.uri_template.clone(), reserved.clone());
        let is_covered = move |uri: &str| {
            cover.has(uri) && !reserved.uris.contains(uri) && !reserved.covers(&text, uri)
        };
        composed.list_template(&server, entry, Arc::new(is_covered));
    }
}

impl Cover {
    fn has(&self, uri: &str) -> bool {
        let own = uri.strip_prefix(self.prefix.as_str());
        own.zip(self.parsed.as_ref()).is_some_and(|(own, it)| it.matches(own).is_some())
    }
}

impl Reserved {
    /// Whether a template covers an address that comes before this one, as it would if its server
    /// were there.
    fn covers(&self, text: &str, uri: &str) -> bool {
        self.templates.range(..text.to_owned()).any(|(_, cover)| cover.has(uri))
    }
}

/// The same resource, which has an alias in the list of all servers. Where that is not shown, only
/// policies know of it.
fn readdressed(resource: &ResourceEntry, aliases: &Aliases, is_shown: bool) -> ResourceEntry {
    let (origin, alias) =
        (resource.origin.clone(), Some(canonical_names::alias(aliases, is_shown)));
    if !is_shown {
        let (uri, definition) = (resource.uri.clone(), resource.definition.clone());
        return ResourceEntry { uri, definition, origin, alias };
    }
    let uri = aliases.alias(&resource.uri);
    let definition = resource.definition.edit().set("uri", RawJson::string(&uri)).apply();
    ResourceEntry { uri, definition, origin, alias }
}

fn readdressed_template(
    template: &TemplateEntry,
    aliases: &Aliases,
    is_shown: bool,
) -> TemplateEntry {
    let (origin, alias) =
        (template.origin.clone(), Some(canonical_names::alias(aliases, is_shown)));
    if !is_shown {
        let (uri_template, definition) =
            (template.uri_template.clone(), template.definition.clone());
        return TemplateEntry { uri_template, definition, origin, alias };
    }
    let uri_template = aliases.alias(&template.uri_template);
    let text = RawJson::string(&uri_template);
    let definition = template.definition.edit().set("uriTemplate", text).apply();
    TemplateEntry { uri_template, definition, origin, alias }
}

impl Composed {
    fn list_template(&mut self, server: &Arc<str>, entry: Arc<TemplateEntry>, matcher: Matcher) {
        let route = (server.clone(), matcher.clone());
        self.routes.templates.insert(entry.uri_template.clone(), route);
        self.listing.templates.push((entry, matcher));
    }
}
