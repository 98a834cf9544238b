//! A tool or prompt as its server offers it now, with the digest and the findings of its definition.

use std::sync::Arc;

use gantry_gateway::{
    NameStyle, Origin, PromptEntry, Target, ToolEntry, UpstreamDefinition, contract_name,
};
use gantry_protocol::RawJson;

use super::pin::{Digest, Key, Kind};
use crate::canonical_json::canonical;
use crate::injection::{InjectionFinding, findings};

/// A thing as it is offered now.
#[derive(Debug)]
pub struct Seen {
    /// Which thing it is.
    pub key: Key,
    /// Its canonical name when it was seen first.
    pub shown: String,
    /// What tells its server from another of that name.
    pub identity: Arc<str>,
    /// Over everything that is pinned.
    pub digest: Digest,
    /// What a person should look at.
    pub findings: Vec<InjectionFinding>,
    /// Whether it comes from a cache. Then it is shown, and not pinned: its server may not say it any
    /// more.
    pub is_cached: bool,
    /// Held for as long as this is, so that its address is no other's.
    pub(super) own: Arc<UpstreamDefinition>,
    /// The later one of two was seen later.
    pub(super) number: u64,
}

/// The parts of a target that matter here.
pub(super) struct Subject<'a> {
    kind: Kind,
    shown: &'a str,
    version: Option<&'a str>,
    origin: Option<&'a Origin>,
    is_cached: bool,
    own: &'a Arc<UpstreamDefinition>,
}

impl<'a> Subject<'a> {
    pub(super) fn tool(tool: &'a ToolEntry) -> Self {
        Self {
            kind: Kind::Tool,
            shown: tool.canonical_name(),
            // Versions of a tool of our own are offered side by side.
            version: tool.version.as_deref().filter(|_| tool.origin.is_none()),
            origin: tool.origin.as_deref(),
            is_cached: tool.is_cached,
            own: tool.offered.as_ref().unwrap_or(&tool.own),
        }
    }

    pub(super) fn prompt(prompt: &'a PromptEntry) -> Self {
        let (shown, origin) = (prompt.canonical_name(), prompt.origin.as_deref());
        let own = prompt.offered.as_ref().unwrap_or(&prompt.own);
        let is_cached = prompt.is_cached;
        Self { kind: Kind::Prompt, shown, version: None, origin, is_cached, own }
    }

    /// None for what is never pinned.
    pub(super) fn of(target: &'a Target) -> Option<Self> {
        match target {
            Target::Tool(tool) => Some(Self::tool(tool)),
            Target::Prompt(prompt) => Some(Self::prompt(prompt)),
            Target::Resource(_) | Target::Template(..) => None,
        }
    }

    /// Tells one definition from another while both are there.
    pub(super) fn address(&self) -> usize {
        Arc::as_ptr(self.own) as usize
    }

    pub(super) fn key(&self) -> Key {
        let name = match self.version {
            Some(version) => format!("{}@{version}", self.own.name).into(),
            None => self.own.name.as_str().into(),
        };
        let server = self.origin.map_or_else(|| "".into(), |origin| origin.server.clone());
        let identity = self.origin.map_or_else(|| "own".into(), |origin| origin.identity.clone());
        Key { server, kind: self.kind, name, identity }
    }

    pub(super) fn see(&self, number: u64) -> Seen {
        let key = self.key();
        let (identity, is_cached) = (key.identity.clone(), self.is_cached);
        let digest = Digest::of_written(&key, &identity, &self.own.definition);
        let findings = findings(&self.own.definition);
        let (shown, own) = (self.shown.to_owned(), self.own.clone());
        Seen { key, shown, identity, digest, findings, is_cached, own, number }
    }
}

impl Seen {
    /// The whole definition, in its one form.
    pub fn definition(&self) -> RawJson {
        canonical(&self.own.definition)
    }

    /// Whether it is still offered anywhere.
    pub(super) fn is_offered(&self) -> bool {
        Arc::strong_count(&self.own) > 1
    }

    /// Whether a person means it by that name.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.shown == name
            || *self.key.name == *name
            || self.key.path() == name
            || NameStyle::default().fit(&self.shown) == name
            || contract_name(&self.key.server, &self.key.name) == name
    }
}
