//! The canonical name of each export: the one that it has in the list of all servers.
//!
//! Every endpoint takes them from here, also one that shows a single server under its own names,
//! so that rules, pins, limits and the audit log mean the same thing by a name wherever it is
//! called.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use gantry_gateway::{AddressAlias, CanonicalName, NameStyle};

use super::aliases::Aliases;
use super::naming::{AssignedName, LONGEST, NameTable, begins_with, fit};
use super::publish::Part;

/// The canonical names of all servers.
#[derive(Debug, Default)]
pub(super) struct CanonicalNames(BTreeMap<Arc<str>, ServerNames>);

/// Those of one server, by its own names.
#[derive(Debug, Default, PartialEq, Eq)]
struct ServerNames {
    tools: HashMap<String, NamedExport>,
    prompts: HashMap<String, NamedExport>,
    aliases: Option<Arc<Aliases>>,
}

/// A name that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedExport {
    pub(super) canonical: Arc<CanonicalName>,
    /// Why it is not the one that was to be expected.
    pub(super) clash: Option<String>,
}

impl CanonicalNames {
    /// Names all that these parts offer, which must be those of all servers, in the order of their
    /// names. What is withdrawn keeps its names.
    pub(super) fn assign(parts: &[Part], length: usize) -> Self {
        let (mut tools, mut prompts) = (NameTable::new(length), NameTable::new(length));
        let (mut uris, mut texts) = (HashSet::new(), HashSet::new());
        let mut all = BTreeMap::new();
        for part in parts {
            let contenders = contenders(part, parts, length);
            let name = |names: &mut NameTable, own: &str| {
                let given = names.assign(&part.server, &part.prefix, own);
                (own.to_owned(), NamedExport::new(given, &contenders))
            };
            let named = ServerNames {
                tools: part.exports.tools.iter().map(|it| name(&mut tools, &it.own)).collect(),
                prompts: part
                    .exports
                    .prompts
                    .iter()
                    .map(|it| name(&mut prompts, &it.name))
                    .collect(),
                aliases: aliases(part, parts, &mut uris, &mut texts).map(Arc::new),
            };
            all.insert(part.server.clone(), named);
        }
        Self(all)
    }

    pub(super) fn tool(&self, server: &str, own: &str) -> Option<&NamedExport> {
        self.0.get(server)?.tools.get(own)
    }

    pub(super) fn prompt(&self, server: &str, own: &str) -> Option<&NamedExport> {
        self.0.get(server)?.prompts.get(own)
    }

    /// The addresses of a server that others have too.
    pub(super) fn aliases(&self, server: &str) -> Option<&Arc<Aliases>> {
        self.0.get(server)?.aliases.as_ref()
    }

    /// The servers that have other names than before.
    pub(super) fn changed_since(&self, before: &Self) -> BTreeSet<Arc<str>> {
        let differs = |server: &&Arc<str>| self.0.get(*server) != before.0.get(*server);
        self.0.keys().filter(differs).cloned().collect()
    }
}

impl NamedExport {
    fn new(given: AssignedName, contenders: &[&str]) -> Self {
        let AssignedName { name, full, clash } = given;
        // What clients see has no dots, and may begin like the names of another server only then.
        let begins = |text: &str| {
            let shown = NameStyle { dots: false, length: LONGEST }.clean(text);
            contenders.iter().any(|prefix| {
                begins_with(text, prefix) || begins_with(&shown, &prefix.replace('.', "_"))
            })
        };
        let is_contested = begins(&name) || full.as_deref().is_some_and(begins);
        let (name, full) = (name.into(), full.map(Arc::from));
        Self { canonical: Arc::new(CanonicalName { name, full, is_contested }), clash }
    }

    /// What the entry must say of its canonical name that shows it as this; nothing if the name
    /// says it all.
    pub(super) fn beside(&self, shown: &str) -> Option<Arc<CanonicalName>> {
        let CanonicalName { name, full, is_contested } = &*self.canonical;
        let says_all = **name == *shown && full.is_none() && !is_contested;
        (!says_all).then(|| self.canonical.clone())
    }
}

/// The prefixes of other servers with which a name of this one may begin, if the server so chooses:
/// those that are more specific than its own.
fn contenders<'a>(part: &Part, parts: &'a [Part], length: usize) -> Vec<&'a str> {
    let own = fit(&part.prefix, length);
    let others = parts.iter().map(|it| it.prefix.as_str());
    others.filter(|it| it.len() > own.len() && fit(it, length) != own).collect()
}

/// The addresses of a part that an earlier one has too.
fn aliases<'a>(
    part: &'a Part,
    parts: &[Part],
    uris: &mut HashSet<&'a str>,
    texts: &mut HashSet<&'a str>,
) -> Option<Aliases> {
    let mut aliases = None;
    let new = || Aliases::new(&part.server, |prefix| is_used(parts, prefix));
    for resource in &part.exports.resources {
        if !uris.insert(&resource.uri) {
            aliases.get_or_insert_with(new).add(&resource.uri);
        }
    }
    for (template, parsed) in &part.exports.templates {
        if !texts.insert(&template.uri_template) {
            let aliases = aliases.get_or_insert_with(new);
            aliases.add_template(&template.uri_template, parsed.as_ref());
        }
    }
    aliases
}

/// What an entry must say of the address that it has in the list of all servers.
pub(super) fn alias(aliases: &Aliases, is_shown: bool) -> AddressAlias {
    AddressAlias { prefix: aliases.prefix().clone(), is_shown }
}

/// Whether something that is listed begins so.
fn is_used(parts: &[Part], prefix: &str) -> bool {
    parts.iter().any(|part| {
        part.exports.resources.iter().any(|it| it.uri.starts_with(prefix))
            || part.exports.templates.iter().any(|(it, _)| it.uri_template.starts_with(prefix))
    })
}
