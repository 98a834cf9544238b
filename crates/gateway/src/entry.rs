//! Entries of the catalog: resources, templates and prompts as their raw definitions and what was read from
//! them, and what all entries share.

mod tool_entry;

use std::sync::Arc;

use gantry_protocol::RawJson;
use gantry_protocol::headers::HeaderAnnotationError;

use crate::names::{AddressAlias, CanonicalName, ClientNames};
use crate::schema::SchemaError;

pub use self::tool_entry::{Effect, TOOL_META, TaskSupport, ToolEntry};

/// Why a definition cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// A member that must be there is not.
    #[error("{kind} lacks `{member}`; add it to the definition")]
    Missing {
        /// What kind of thing.
        kind: &'static str,
        /// The member.
        member: &'static str,
    },
    /// The name cannot be used in every client.
    #[error("the name `{name}` is not 1 to 128 letters, digits, `_`, `.`, `-` or `/`")]
    Name {
        /// The name.
        name: String,
    },
    /// A schema is wrong.
    #[error("the {member} of tool `{tool}`: {error}")]
    Schema {
        /// Whose.
        tool: String,
        /// Which.
        member: &'static str,
        /// Why.
        error: SchemaError,
    },
    /// An `x-mcp-header` annotation is wrong.
    #[error("the inputSchema of tool `{tool}`: {error}")]
    Header {
        /// Whose.
        tool: String,
        /// Why.
        error: HeaderAnnotationError,
    },
    /// The definition is not a JSON object.
    #[error("the definition of {0} is not a JSON object")]
    NotAnObject(&'static str),
}

/// The upstream server that an entry comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The name of the server in the configuration.
    pub server: Arc<str>,
    /// What tells the server from another one of that name: its program or its address, never a
    /// secret.
    pub identity: Arc<str>,
}

/// A definition as its provider published it, before renaming. All entries made from it share it, so that
/// what is derived from it is derived once.
#[derive(Debug, PartialEq, Eq)]
pub struct UpstreamDefinition {
    /// Its own name.
    pub name: String,
    /// The whole definition, as it was written.
    pub definition: RawJson,
}

/// A resource.
#[derive(Debug)]
pub struct ResourceEntry {
    /// Its address.
    pub uri: String,
    /// The whole definition.
    pub definition: RawJson,
    /// The upstream server that offers it, if any.
    pub origin: Option<Arc<Origin>>,
    /// Its address in the list of all servers, where that is not the server's own.
    pub alias: Option<AddressAlias>,
}

/// A template of resources.
#[derive(Debug)]
pub struct TemplateEntry {
    /// The URI template.
    pub uri_template: String,
    /// The whole definition.
    pub definition: RawJson,
    /// The upstream server that offers it, if any.
    pub origin: Option<Arc<Origin>>,
    /// Its address in the list of all servers, where that is not the server's own.
    pub alias: Option<AddressAlias>,
}

/// A prompt.
#[derive(Debug, Clone)]
pub struct PromptEntry {
    /// Its name in the listing of its provider. Clients may see another one: `client_names` has it.
    pub name: String,
    /// The whole definition.
    pub definition: RawJson,
    /// The upstream server that offers it, if any.
    pub origin: Option<Arc<Origin>>,
    /// The definition as its provider published it, before renaming.
    pub own: Arc<UpstreamDefinition>,
    /// The definition that its provider offers now, where an earlier (pinned) one is shown instead.
    pub offered: Option<Arc<UpstreamDefinition>>,
    /// Its canonical name, where there is more to say than `name`.
    pub canonical: Option<Arc<CanonicalName>>,
    /// Whether the definition comes from a cache: its server has not listed it in this run.
    pub is_cached: bool,
    /// Its names for clients, where there is more to say than `name`. The catalog sets them.
    pub client_names: Option<Arc<ClientNames>>,
}

/// What a thing is called, whichever endpoint shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CanonicalEntry<'a> {
    pub(crate) name: &'a str,
    pub(crate) full: Option<&'a str>,
    pub(crate) own: &'a str,
    pub(crate) server: Option<&'a str>,
}

/// Members of a definition that the configuration may set.
const CONFIGURED: [&str; 3] = ["title", "description", "execution"];

impl ResourceEntry {
    /// Reads a resource's definition.
    pub fn new(definition: RawJson) -> Result<Self, EntryError> {
        let uri = text_member(&definition, "a resource", "uri")?;
        text_member(&definition, "a resource", "name")?;
        Ok(Self { uri, definition, origin: None, alias: None })
    }
}

impl TemplateEntry {
    /// Reads a template's definition.
    pub fn new(definition: RawJson) -> Result<Self, EntryError> {
        let uri_template = text_member(&definition, "a resource template", "uriTemplate")?;
        text_member(&definition, "a resource template", "name")?;
        Ok(Self { uri_template, definition, origin: None, alias: None })
    }
}

impl PromptEntry {
    /// Reads a prompt's definition.
    pub fn new(definition: RawJson) -> Result<Self, EntryError> {
        let name = text_member(&definition, "a prompt", "name")?;
        let own =
            Arc::new(UpstreamDefinition { name: name.clone(), definition: definition.clone() });
        Ok(Self {
            name,
            definition,
            origin: None,
            own,
            offered: None,
            canonical: None,
            is_cached: false,
            client_names: None,
        })
    }

    /// The same prompt as an earlier definition describes it.
    #[must_use]
    pub fn defined_as(&self, earlier: &Arc<UpstreamDefinition>) -> Self {
        Self {
            name: self.name.clone(),
            definition: shown(self.shown(), &self.definition, &self.own.definition, earlier),
            origin: self.origin.clone(),
            own: earlier.clone(),
            offered: Some(self.offered.as_ref().unwrap_or(&self.own).clone()),
            canonical: self.canonical.clone(),
            is_cached: self.is_cached,
            client_names: self.client_names.clone(),
        }
    }

    /// The name that clients of this endpoint see.
    pub fn shown(&self) -> &str {
        self.client_names.as_ref().map_or(&self.name, |it| &it.shown)
    }

    /// Its name in the list of all servers, whichever endpoint shows it.
    pub fn canonical_name(&self) -> &str {
        self.canonical.as_ref().map_or(&self.name, |it| &it.name)
    }
}

/// An earlier definition under the name that a thing has here. What stands in the definition here and
/// not in that of who offers it was configured, and stays.
fn shown(name: &str, here: &RawJson, own: &RawJson, earlier: &UpstreamDefinition) -> RawJson {
    let mut edit = earlier.definition.edit().set("name", RawJson::string(name));
    for member in CONFIGURED {
        edit = match here.get(member) {
            value if value == own.get(member) => edit,
            Some(value) => edit.set(member, value),
            None => edit.remove(member),
        };
    }
    edit.apply()
}

fn text_member(
    definition: &RawJson,
    kind: &'static str,
    member: &'static str,
) -> Result<String, EntryError> {
    if !definition.is_object() {
        return Err(EntryError::NotAnObject(kind));
    }
    let text = definition.get(member).and_then(|value| value.to_text());
    text.filter(|text| !text.is_empty()).ok_or(EntryError::Missing { kind, member })
}
