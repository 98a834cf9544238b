//! All names of what a call is for, and which of them a policy may go by.
//!
//! A tool of a server has one name in the list of all servers and another one at the server's own
//! endpoint, and the server can choose the latter freely. Every policy and the audit log take the
//! names from here, so that none of them depends on the endpoint through which a call came.

mod client_names;

use std::borrow::Cow;
use std::sync::Arc;

use crate::glob::matches;
use crate::provider::Target;

pub use self::client_names::{ClientNames, LONGEST_NAME, NameStyle, SHORTEST_NAME, contract_name};

/// The canonical name of a tool or prompt of a server: its name in the list of all servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CanonicalName {
    /// The name.
    pub name: Arc<str>,
    /// What it would be if it had not been too long, or the name of something else already.
    pub full: Option<Arc<str>>,
    /// Whether it begins like the names of another server.
    pub is_contested: bool,
}

/// The address of a resource in the list of all servers, where another server has the same address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressAlias {
    /// What stands before the server's own address there.
    pub prefix: Arc<str>,
    /// Whether the entry has that address, which is not so at the server's own endpoint.
    pub is_shown: bool,
}

/// The kinds of things that policies tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetKind {
    /// A tool.
    Tool,
    /// A resource, listed or covered by a template.
    Resource,
    /// A prompt.
    Prompt,
}

/// All names of a target.
#[derive(Debug, Clone)]
pub struct TargetNames<'a> {
    /// What sort of thing it is.
    pub kind: TargetKind,
    /// The name of its server in the configuration; none for tools of the gateway's own.
    pub server: Option<&'a str>,
    canonical: Cow<'a, str>,
    full: Option<&'a str>,
    own: &'a str,
    /// What its provider lists it as at this endpoint.
    listed: &'a str,
    written: Option<&'a str>,
    client: Option<&'a ClientNames>,
    is_contested: bool,
}

impl<'a> TargetNames<'a> {
    /// The names of a target. Copies nothing, but for an address that is an alias elsewhere.
    pub fn of(target: &'a Target) -> Self {
        let server = target.origin().map(|origin| &*origin.server);
        match target {
            Target::Tool(tool) => {
                let names = (tool.name.as_str(), tool.own.name.as_str());
                let client = tool.client_names.as_deref();
                let canonical = tool.canonical.as_deref();
                let written = tool.written.as_deref();
                let names = Self::named(TargetKind::Tool, server, names, canonical, client);
                Self { written, ..names }
            }
            Target::Prompt(prompt) => {
                let names = (prompt.name.as_str(), prompt.own.name.as_str());
                let client = prompt.client_names.as_deref();
                let canonical = prompt.canonical.as_deref();
                Self::named(TargetKind::Prompt, server, names, canonical, client)
            }
            Target::Resource(resource) => {
                Self::addressed(server, &resource.uri, resource.alias.as_ref())
            }
            Target::Template(template, uri) => {
                Self::addressed(server, uri, template.alias.as_ref())
            }
        }
    }

    fn named(
        kind: TargetKind,
        server: Option<&'a str>,
        (listed, own): (&'a str, &'a str),
        canonical: Option<&'a CanonicalName>,
        client: Option<&'a ClientNames>,
    ) -> Self {
        Self {
            kind,
            server,
            canonical: Cow::Borrowed(canonical.map_or(listed, |it| &*it.name)),
            full: canonical.and_then(|it| it.full.as_deref()),
            own,
            listed,
            written: None,
            client,
            is_contested: canonical.is_some_and(|it| it.is_contested)
                || client.is_some_and(|it| it.is_taken),
        }
    }

    fn addressed(server: Option<&'a str>, uri: &'a str, alias: Option<&'a AddressAlias>) -> Self {
        let (canonical, own) = match alias {
            Some(alias) if alias.is_shown => {
                (Cow::Borrowed(uri), uri.strip_prefix(&*alias.prefix).unwrap_or(uri))
            }
            Some(alias) => (Cow::Owned(format!("{}{uri}", alias.prefix)), uri),
            None => (Cow::Borrowed(uri), uri),
        };
        let kind = TargetKind::Resource;
        Self {
            kind,
            server,
            canonical,
            full: None,
            own,
            listed: uri,
            written: None,
            client: None,
            is_contested: false,
        }
    }

    /// The canonical name: the one in the list of all servers, whichever endpoint the call used. For
    /// a tool that the contract allows it is the `tool_name` of the contract too.
    pub fn canonical(&self) -> &str {
        &self.canonical
    }

    /// The canonical name for as long as the target is there, where it need not be made.
    pub fn into_canonical(self) -> Cow<'a, str> {
        self.canonical
    }

    /// What its server calls it.
    pub fn own(&self) -> &'a str {
        self.own
    }

    /// What the endpoint calls it that the call came through.
    pub fn shown(&self) -> &'a str {
        self.client.map_or(self.listed, |it| &it.shown)
    }

    /// The canonical name in the form that clients see, where that is another one.
    pub fn canonical_shown(&self) -> Option<&'a str> {
        self.client.map(|it| &*it.canonical).filter(|it| *it != self.canonical)
    }

    /// Whether clients see it under a name that follows from the canonical one.
    pub fn is_shown_canonically(&self) -> bool {
        let shown = self.shown();
        shown == self.canonical || self.canonical_shown() == Some(shown)
    }

    /// What it would be called if that had not been too long or taken, where it was.
    pub fn full(&self) -> Option<&'a str> {
        self.full
    }

    /// The names by which a permission may go, other than that of its server and its own name: the
    /// canonical one, and the form of it that clients see.
    ///
    /// A permission must not go by a name that the server chooses: one that calls its tool
    /// `github_push` would be taken for another server at its own endpoint. The canonical name
    /// begins with the prefix from the configuration, which the server cannot choose; but a server
    /// `my` that calls a tool `db_drop` gets the name `my_db_drop`, which begins like those of the
    /// server `my_db`. Such a name is contested, and permits nothing.
    pub fn permitting(&self) -> impl Iterator<Item = &str> {
        let names = [Some(&*self.canonical), self.canonical_shown()];
        let is_contested = self.is_contested;
        names.into_iter().flatten().filter(move |_| !is_contested)
    }

    /// The names by which a restriction goes: all of them. A server that chooses a name only takes
    /// rights away from itself.
    pub fn restricting(&self) -> impl Iterator<Item = &str> {
        let canonical: &str = &self.canonical;
        std::iter::once(canonical).chain(self.other_names().filter(move |it| *it != canonical))
    }

    /// All names but the canonical one. Some may come more than once.
    pub fn other_names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let client = self.client.into_iter().flat_map(|it| {
            let names = [&it.canonical, &it.shown, &it.own, &it.distinct].map(|it| Some(&**it));
            names.into_iter().chain([it.contract.as_deref()])
        });
        let more = [Some(self.own), Some(self.listed), self.full, self.written];
        more.into_iter().chain(client).flatten()
    }

    /// Whether a pattern of something that restricts means it by its server and one of its names,
    /// `SERVER/NAME`. Both parts are patterns.
    pub fn is_qualified_by(&self, pattern: &str) -> bool {
        self.is_qualified(pattern, self.restricting())
    }

    fn is_qualified<'n>(&self, pattern: &str, mut names: impl Iterator<Item = &'n str>) -> bool {
        let (Some((server, name)), Some(its)) = (qualified(pattern), self.server) else {
            return false;
        };
        matches(server, its) && names.any(|it| matches(name, it))
    }

    /// Whether a pattern of something that permits means it.
    pub fn is_permitted_by(&self, pattern: &str) -> bool {
        match self.server.and(qualified(pattern)) {
            Some(_) => {
                let names = [self.own, &*self.canonical].into_iter().chain(self.canonical_shown());
                self.is_qualified(pattern, names)
            }
            None => self.permitting().any(|name| matches(pattern, name)),
        }
    }

    /// Whether a pattern of something that restricts means it.
    pub fn is_restricted_by(&self, pattern: &str) -> bool {
        self.restricting().any(|name| matches(pattern, name)) || self.is_qualified_by(pattern)
    }
}

/// The parts of a pattern `SERVER/NAME`; none if it cannot be one, such as an address.
pub fn qualified(pattern: &str) -> Option<(&str, &str)> {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"-_.*".contains(&it);
    let is_server = |it: &str| !it.is_empty() && it.bytes().all(is_plain);
    pattern.split_once('/').filter(|(server, _)| is_server(server))
}

#[cfg(test)]
mod tests;
