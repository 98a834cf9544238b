//! What is called, under all the names by which a rule may mean it.
//!
//! A thing of a server has one name where all servers are listed and another one at the server's
//! own face. A rule must fit both, or the other way would lead around it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gantry_gateway::{Caller, Target};

/// What the names of each server's things begin with where all servers are listed; the name of the
/// server where nothing else is said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prefixes(BTreeMap<String, String>);

/// The kinds of things that rules tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tool,
    Resource,
    Prompt,
}

/// What is called.
#[derive(Debug, Clone)]
pub(super) struct Thing<'a> {
    pub(super) kind: Kind,
    pub(super) server: Option<&'a str>,
    /// The name where everything is listed, or the address.
    pub(super) main: Cow<'a, str>,
    /// What its server calls it.
    pub(super) own: Cow<'a, str>,
    /// Whether this is a template as it is listed, which stands for many addresses.
    pub(super) is_template: bool,
}

impl Prefixes {
    /// These servers have prefixes that are not their names.
    pub fn new(prefixes: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(prefixes.into_iter().map(|(server, prefix)| (server, clean(&prefix))).collect())
    }

    fn of<'a>(&'a self, server: &'a str) -> &'a str {
        self.0.get(server).map_or(server, String::as_str)
    }
}

impl<'a> Thing<'a> {
    /// The thing itself, even if it is called like the template that covers it.
    pub(super) fn called(target: &'a Target, caller: &Caller, prefixes: &Prefixes) -> Self {
        Self { is_template: false, ..Self::of(target, caller, prefixes) }
    }

    /// The thing as it is listed.
    pub(super) fn of(target: &'a Target, caller: &Caller, prefixes: &Prefixes) -> Self {
        let server = target.origin().map(|origin| &*origin.server);
        let name = target.name();
        let kind = match target {
            Target::Tool(_) => Kind::Tool,
            Target::Prompt(_) => Kind::Prompt,
            Target::Resource(_) | Target::Template(..) => Kind::Resource,
        };
        let is_template =
            matches!(target, Target::Template(entry, uri) if entry.uri_template == *uri);
        let (main, own) = match (kind, server) {
            (_, None) => (name.into(), name.into()),
            (Kind::Resource, Some(_)) => (name.into(), inward(name).into()),
            (_, Some(server)) => names(name, prefixes.of(server), is_alone(server, caller)),
        };
        Self { kind, server, main, own, is_template }
    }
}

/// Whether the caller sees this server alone, under its own names.
pub(super) fn is_alone(server: &str, caller: &Caller) -> bool {
    caller.face.as_deref() == Some(server)
}

/// The name among all, and the server's own.
fn names<'a>(name: &'a str, prefix: &str, is_alone: bool) -> (Cow<'a, str>, Cow<'a, str>) {
    match (is_alone, prefix) {
        (true, "") => (clean(name).into(), name.into()),
        (true, prefix) => (format!("{prefix}_{}", clean(name)).into(), name.into()),
        (false, "") => (name.into(), name.into()),
        (false, prefix) => {
            let own = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('_'));
            (name.into(), own.unwrap_or(name).into())
        }
    }
}

/// The characters that names have where all are listed.
fn clean(name: &str) -> String {
    let is_allowed = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '.' | '-');
    name.chars().map(|it| if is_allowed(it) { it } else { '_' }).collect()
}

/// The server's own address behind one that was made because another server has it too.
fn inward(uri: &str) -> &str {
    let behind = uri.strip_prefix("gantry://").and_then(|rest| rest.split_once('/'));
    behind.map_or(uri, |(_, own)| own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thing_has_one_name_among_all_whichever_way_it_is_reached() {
        let cases = [
            // The name as it is listed, the prefix, alone or not; the name among all, its own.
            ("github_search", "github", false, "github_search", "search"),
            ("search", "github", true, "github_search", "search"),
            ("gh_search", "gh", false, "gh_search", "search"),
            ("search", "gh", true, "gh_search", "search"),
            ("search", "", true, "search", "search"),
            ("search", "", false, "search", "search"),
            ("a/b", "s", true, "s_a_b", "a/b"),
            ("s_a_b", "s", false, "s_a_b", "a_b"),
            ("other", "s", false, "other", "other"),
        ];
        for (name, prefix, is_alone, main, own) in cases {
            let found = names(name, prefix, is_alone);
            assert_eq!((&*found.0, &*found.1), (main, own), "{name} of {prefix}, {is_alone}");
        }
    }

    #[test]
    fn an_address_that_was_made_leads_to_the_servers_own() {
        let cases = [
            ("file:///a", "file:///a"),
            ("gantry://b/file:///a", "file:///a"),
            ("gantry://b.2/x:one", "x:one"),
            ("gantry://b", "gantry://b"),
        ];
        for (uri, own) in cases {
            assert_eq!(inward(uri), own, "{uri}");
        }
    }
}
