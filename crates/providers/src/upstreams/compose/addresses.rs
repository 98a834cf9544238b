//! The addresses of resources and templates in one listing: each server's own, or an alias where
//! another has the same.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use gantry_gateway::{Matcher, ResourceEntry, TemplateEntry};
use gantry_protocol::RawJson;

use super::super::aliases::Aliases;
use super::{Composed, Part, Scope};
use crate::template::Template;

/// The addresses of servers that are away, by which nobody else is to be reached.
#[derive(Debug, Default)]
struct Kept {
    uris: HashSet<String>,
    templates: BTreeMap<String, Cover>,
}

/// Which addresses a template covers: those that it matches behind a prefix.
#[derive(Debug, Clone)]
struct Cover {
    prefix: String,
    parsed: Option<Arc<Template>>,
}

/// Gives every resource and template an address that no other has.
pub(super) fn give(parts: &[Part], scope: Scope<'_>, composed: &mut Composed) {
    let (mut uris, mut texts) = (HashSet::new(), HashSet::new());
    let (mut kept, mut offered) = (Kept::default(), Vec::new());
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
            if is_wanted && part.offer.is_withdrawn {
                kept.uris.insert(entry.uri.clone());
            } else if is_wanted {
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
            let cover = Cover { prefix, parsed: parsed.clone() };
            if is_wanted && part.offer.is_withdrawn {
                kept.templates.insert(entry.uri_template.clone(), cover);
            } else if is_wanted {
                offered.push((part.server.clone(), entry, cover));
            }
        }
        if let Some(aliases) = aliases {
            composed.routes.aliases.insert(part.server.clone(), Arc::new(aliases));
        }
    }
    let kept = Arc::new(kept);
    for (server, entry, cover) in offered {
        let (text, kept) = (entry.uri_template.clone(), kept.clone());
        let is_covered =
            move |uri: &str| cover.has(uri) && !kept.uris.contains(uri) && !kept.covers(&text, uri);
        composed.list_template(&server, entry, Arc::new(is_covered));
    }
}

impl Cover {
    fn has(&self, uri: &str) -> bool {
        let own = uri.strip_prefix(self.prefix.as_str());
        own.zip(self.parsed.as_ref()).is_some_and(|(own, it)| it.matches(own).is_some())
    }
}

impl Kept {
    /// Whether a template covers an address that comes before this one, as it would if its server
    /// were there.
    fn covers(&self, text: &str, uri: &str) -> bool {
        self.templates.range(..text.to_owned()).any(|(_, cover)| cover.has(uri))
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
    fn list_template(&mut self, server: &Arc<str>, entry: Arc<TemplateEntry>, matcher: Matcher) {
        let route = (server.clone(), matcher.clone());
        self.routes.templates.insert(entry.uri_template.clone(), route);
        self.listing.templates.push((entry, matcher));
    }
}
