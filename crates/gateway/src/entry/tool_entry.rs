//! A tool in the catalog: its definition, its compiled schemas, and what was read from it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gantry_protocol::RawJson;
use gantry_protocol::headers::{self, HeaderParam};
use gantry_protocol::meta::key;

use super::{EntryError, Origin, UpstreamDefinition, shown, text_member};
use crate::names::{CanonicalName, ClientNames};
use crate::schema::{Schema, SchemaError, SchemaLimits};

/// The `_meta` key under which the definition of a registered tool says what the protocol has no
/// member for.
pub const TOOL_META: &str = "gantry/tool";

/// Whether calls of a tool may run by themselves, as tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskSupport {
    /// They are over soon.
    #[default]
    Forbidden,
    /// They may, for a client that can come back.
    Optional,
    /// They are too long for a client to wait.
    Required,
}

/// What a call of a tool may do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It only looks.
    ReadOnly,
    /// It changes things, and destroys nothing.
    Changes,
    /// It is a tool of another server that does not say whether it destroys anything.
    Unannotated,
    /// It is marked as one that may destroy something.
    Destroys,
}

impl Effect {
    /// What a definition says that a call may do. Of contradicting marks the worse counts: a tool
    /// that is marked destructive is so, even if it says that it only reads. `readOnlyHint: false`
    /// alone does not say whether something is destroyed. A tool of another server that says nothing
    /// is unannotated; one of our own that says nothing changes things.
    ///
    /// ```
    /// use gantry_gateway::Effect;
    /// use gantry_protocol::RawJson;
    /// let tool = RawJson::from_static(r#"{"name":"t","annotations":{"readOnlyHint":false}}"#);
    /// assert_eq!(Effect::of(&tool, true), Effect::Unannotated);
    /// assert_eq!(Effect::of(&tool, false), Effect::Changes);
    /// ```
    pub fn of(definition: &RawJson, is_of_server: bool) -> Self {
        let hint = |name| definition.at(&["annotations", name]).and_then(|it| it.read::<bool>());
        let said = definition.at(&["_meta", TOOL_META, "destructive"]).and_then(|it| it.read());
        let marks = [said, hint("destructiveHint")];
        match () {
            () if marks.contains(&Some(true)) => Self::Destroys,
            () if hint("readOnlyHint") == Some(true) => Self::ReadOnly,
            () if is_of_server && !marks.contains(&Some(false)) => Self::Unannotated,
            () => Self::Changes,
        }
    }
}

/// A tool.
#[derive(Debug, Clone)]
pub struct ToolEntry {
    /// Its name in the listing of its provider. Clients may see another one: `client_names` has it.
    pub name: String,
    /// Its version, if it says one.
    pub version: Option<String>,
    /// The whole definition.
    pub definition: RawJson,
    /// What its arguments must look like.
    pub input: Arc<Schema>,
    /// What its structured result must look like.
    pub output: Option<Arc<Schema>>,
    /// Arguments that HTTP clients repeat in headers.
    pub headers: Vec<HeaderParam>,
    /// How long its provider may work on a call, when that is not as long as usual.
    pub timeout: Option<Duration>,
    /// Whether its calls may be tasks.
    pub task_support: TaskSupport,
    /// When a client that can hang up while it waits may call back.
    pub call_back: Option<Duration>,
    /// Whether arguments that are missing are filled in from the schema. One whose provider passes
    /// calls on wants them as the client wrote them.
    pub fill_defaults: bool,
    /// The upstream server that offers it, if any.
    pub origin: Option<Arc<Origin>>,
    /// Whether it says that it reaches outside: into a world that is not closed.
    pub open_world: bool,
    /// What its calls may do, computed on first use.
    effect: OnceLock<Effect>,
    /// The definition as its provider published it, before renaming.
    pub own: Arc<UpstreamDefinition>,
    /// The definition that its provider offers now, where an earlier (pinned) one is shown instead.
    pub offered: Option<Arc<UpstreamDefinition>>,
    /// The schema of the arguments as its server defines them now, where clients see another one. The
    /// server runs with the defaults of this one.
    offered_input: Option<Arc<Schema>>,
    /// Its canonical name, where there is more to say than `name`.
    pub canonical: Option<Arc<CanonicalName>>,
    /// Whether the definition comes from a cache: its server has not listed it in this run.
    pub is_cached: bool,
    /// For how long clients may keep what they know of it, when that is not as long as usual.
    pub cache_ttl: Option<Duration>,
    /// Its name as its author wrote it, where `name` is longer.
    pub written: Option<Arc<str>>,
    /// Its names for clients, where there is more to say than `name`. The catalog sets them.
    pub client_names: Option<Arc<ClientNames>>,
}

impl TaskSupport {
    /// What a definition says of it.
    pub fn read(definition: &RawJson) -> Self {
        let said = definition.at(&["execution", "taskSupport"]);
        match said.as_ref().and_then(RawJson::as_text) {
            Some("optional") => Self::Optional,
            Some("required") => Self::Required,
            _ => Self::Forbidden,
        }
    }
}

impl ToolEntry {
    /// Reads a tool's definition and compiles its schemas.
    pub fn new(definition: RawJson) -> Result<Self, EntryError> {
        Self::within(definition, SchemaLimits::default())
    }

    /// The same within other limits of its schemas.
    pub fn within(definition: RawJson, limits: SchemaLimits) -> Result<Self, EntryError> {
        Self::ignoring_headers(definition, limits)?.reading_headers()
    }

    /// The same for a tool whose schemas are derived from types, and compiled when they are first
    /// used.
    pub fn derived(definition: RawJson) -> Result<Self, EntryError> {
        let schema = |source: &RawJson| Ok(Schema::derived(source, SchemaLimits::default()));
        Self::read(definition, schema)?.reading_headers()
    }

    /// The same for a tool that is not called over HTTP, where annotations with `x-mcp-header` mean
    /// nothing and may be wrong.
    pub fn ignoring_headers(definition: RawJson, limits: SchemaLimits) -> Result<Self, EntryError> {
        Self::read(definition, |source| Schema::compile(source, limits))
    }

    fn reading_headers(mut self) -> Result<Self, EntryError> {
        let input = self.definition.get("inputSchema").unwrap_or(RawJson::NULL);
        self.headers = headers::argument_headers(&input)
            .map_err(|error| EntryError::Header { tool: self.name.clone(), error })?;
        Ok(self)
    }

    fn read(
        definition: RawJson,
        schema: impl Fn(&RawJson) -> Result<Schema, SchemaError>,
    ) -> Result<Self, EntryError> {
        let name = tool_name(&definition)?;
        let Some(input) = definition.get("inputSchema") else {
            return Err(EntryError::Missing { kind: "a tool", member: "inputSchema" });
        };
        let compile = |member, source: &RawJson| {
            schema(source).map(Arc::new).map_err(|error| EntryError::Schema {
                tool: name.clone(),
                member,
                error,
            })
        };
        let output = definition.get("outputSchema").map(|it| compile("outputSchema", &it));
        let input = compile("inputSchema", &input)?;
        let output = output.transpose()?;
        let version = definition.at(&["_meta", TOOL_META, "version"]);
        let version = version.and_then(|version| version.to_text());
        Ok(Self {
            input,
            output,
            headers: Vec::new(),
            timeout: None,
            task_support: TaskSupport::read(&definition),
            call_back: definition
                .at(&[key::META, key::CALL_BACK])
                .and_then(|it| it.read())
                .map(Duration::from_millis),
            fill_defaults: true,
            origin: None,
            open_world: definition.at(&["annotations", "openWorldHint"]).and_then(|it| it.read())
                == Some(true),
            effect: OnceLock::new(),
            own: Arc::new(UpstreamDefinition {
                name: name.clone(),
                definition: definition.clone(),
            }),
            offered: None,
            offered_input: None,
            canonical: None,
            is_cached: false,
            cache_ttl: None,
            written: None,
            client_names: None,
            name,
            version,
            definition,
        })
    }

    /// What a call may do, as far as the definition says. The first answer stays, since every call
    /// asks.
    pub fn effect(&self) -> Effect {
        *self.effect.get_or_init(|| Effect::of(&self.definition, self.origin.is_some()))
    }

    /// The same tool under another name. Its schemas are shared, not compiled again.
    pub fn renamed(&self, name: &str) -> Result<Self, EntryError> {
        self.shown_as(name, None)
    }

    /// The same tool at an endpoint that calls it by that name.
    pub fn shown_as(
        &self,
        name: &str,
        canonical: Option<Arc<CanonicalName>>,
    ) -> Result<Self, EntryError> {
        let definition = match self.name == name {
            true => self.definition.clone(),
            false => self.definition.edit().set("name", RawJson::string(name)).apply(),
        };
        Ok(Self {
            name: tool_name(&definition)?,
            version: self.version.clone(),
            definition,
            input: self.input.clone(),
            output: self.output.clone(),
            headers: self.headers.clone(),
            timeout: self.timeout,
            task_support: self.task_support,
            call_back: self.call_back,
            fill_defaults: self.fill_defaults,
            origin: self.origin.clone(),
            open_world: self.open_world,
            effect: OnceLock::new(),
            own: self.own.clone(),
            offered: self.offered.clone(),
            offered_input: self.offered_input.clone(),
            canonical,
            is_cached: self.is_cached,
            cache_ttl: self.cache_ttl,
            written: self.written.clone(),
            client_names: None,
        })
    }

    /// The same tool as an earlier definition describes it, which clients see and calls are checked
    /// against. What the configuration says of it, and how it is called, stay as they are. Schemas
    /// that were compiled for the same earlier definition are taken from `known`.
    pub fn defined_as(
        &self,
        earlier: &Arc<UpstreamDefinition>,
        known: Option<&Self>,
    ) -> Result<Self, EntryError> {
        let definition = shown(self.shown(), &self.definition, &self.own.definition, earlier);
        let compiled = || {
            let limits = self.input.limits();
            Self::within(definition.clone(), limits)
                .or_else(|_| Self::ignoring_headers(definition.clone(), limits))
        };
        let (input, output, headers, open_world) = match known {
            Some(it) => (it.input.clone(), it.output.clone(), it.headers.clone(), it.open_world),
            None => {
                let it = compiled()?;
                (it.input, it.output, it.headers, it.open_world)
            }
        };
        Ok(Self {
            name: self.name.clone(),
            version: self.version.clone(),
            definition,
            input,
            output,
            headers,
            timeout: self.timeout,
            task_support: self.task_support,
            call_back: self.call_back,
            fill_defaults: self.fill_defaults,
            origin: self.origin.clone(),
            open_world,
            effect: OnceLock::new(),
            own: earlier.clone(),
            offered: Some(self.offered.as_ref().unwrap_or(&self.own).clone()),
            offered_input: Some(self.offered_input.as_ref().unwrap_or(&self.input).clone()),
            canonical: self.canonical.clone(),
            is_cached: self.is_cached,
            cache_ttl: self.cache_ttl,
            written: self.written.clone(),
            client_names: self.client_names.clone(),
        })
    }

    /// The name that clients of this endpoint see.
    pub fn shown(&self) -> &str {
        self.client_names.as_ref().map_or(&self.name, |it| &it.shown)
    }

    /// The arguments that its calls run with: those given, and the defaults of those that are not,
    /// whoever fills them in.
    pub fn effective_arguments(&self, given: Option<&RawJson>) -> RawJson {
        let given = given.filter(|given| !given.is_null());
        let filled = self.input.fill_defaults(given.unwrap_or(&RawJson::EMPTY_OBJECT));
        // Where the gateway fills them in, the tool runs with what it is sent.
        match &self.offered_input {
            Some(offered) if !self.fill_defaults => offered.fill_defaults(&filled),
            _ => filled,
        }
    }

    /// Its name in the list of all servers, whichever endpoint shows it.
    pub fn canonical_name(&self) -> &str {
        self.canonical.as_ref().map_or(&self.name, |it| &it.name)
    }

    /// Whether a call leaves this machine's own tools: for another server, or for whatever the
    /// tool says it reaches.
    pub fn reaches_outside(&self) -> bool {
        self.origin.is_some() || self.open_world
    }
}

fn tool_name(definition: &RawJson) -> Result<String, EntryError> {
    let name = text_member(definition, "a tool", "name")?;
    match is_name(&name) {
        true => Ok(name),
        false => Err(EntryError::Name { name }),
    }
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'/');
    (1..=128).contains(&name.len()) && name.bytes().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_under_another_name_shares_its_schemas() {
        let definition = r#"{ "x":1.50, "name":"a","inputSchema":{"type":"object"} }"#;
        let mut tool = ToolEntry::new(RawJson::from_static(definition)).unwrap();
        tool.fill_defaults = false;
        let renamed = tool.renamed("b").unwrap();
        assert_eq!(renamed.definition.as_str(), definition.replace("\"a\"", "\"b\""));
        assert_eq!((renamed.name.as_str(), renamed.fill_defaults), ("b", false));
        assert!(Arc::ptr_eq(&tool.input, &renamed.input));
        assert!(Arc::ptr_eq(&tool.own, &renamed.own) && renamed.own.name == "a");
        assert!(matches!(tool.renamed("no name"), Err(EntryError::Name { .. })));
    }

    #[test]
    fn wrong_annotations_for_headers_matter_over_http_only() {
        let definition = RawJson::from_static(
            r#"{"name":"a","inputSchema":{"type":"object","properties":{"b":{"type":"array","x-mcp-header":"B"}}}}"#,
        );
        assert!(matches!(ToolEntry::new(definition.clone()), Err(EntryError::Header { .. })));
        assert!(
            ToolEntry::ignoring_headers(definition, SchemaLimits::default())
                .unwrap()
                .headers
                .is_empty()
        );
    }
}
