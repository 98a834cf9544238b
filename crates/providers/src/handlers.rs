//! Handlers in code: tools, resources, templates and prompts as functions.

mod completion;
mod context;
mod failure;
mod prompt;
mod resource;
mod result;
mod tool;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use futures_util::future::BoxFuture;
use gantry_gateway::{
    CallContext, EntryError, Listing, Outcome, PromptEntry, Provider, Publisher, Resolved,
    ResourceEntry, Target, TemplateEntry, ToolEntry,
};
use gantry_protocol::{Method, RawJson};

pub use context::{Context, Elicitation};
pub use failure::Failure;
pub use prompt::{Prompt, PromptMessage, PromptResult, Role};
pub use resource::{Resource, ResourceTemplate};
pub use result::{Content, ResourceContents};
pub use result::{Json, ToolOutput, ToolResult};
pub use tool::Tool;

use crate::uri_template::TemplateError;

/// A running handler.
type Handling = BoxFuture<'static, Outcome>;

/// Why something was not registered.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// Its definition is wrong.
    #[error(transparent)]
    Entry(#[from] EntryError),
    /// Its URI template is wrong.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// It has no handler.
    #[error("`{0}` has no handler; give it one before it is registered")]
    NoHandler(String),
    /// Something else has its name.
    #[error("`{0}` is registered already with another definition; remove it first")]
    Taken(String),
}

/// What is registered, by name. Clones share the registry.
#[derive(Clone, Default)]
pub struct Handlers(Arc<Registry>);

#[derive(Default)]
struct Registry {
    tables: Mutex<Tables>,
    publisher: OnceLock<Publisher>,
}

#[derive(Default)]
struct Tables {
    tools: BTreeMap<String, (Arc<ToolEntry>, tool::Run)>,
    resources: BTreeMap<String, (Arc<ResourceEntry>, resource::Read)>,
    templates: BTreeMap<String, (Arc<TemplateEntry>, Arc<resource::TemplateRead>)>,
    prompts: BTreeMap<String, (Arc<PromptEntry>, Arc<prompt::Render>)>,
}

impl Handlers {
    /// Adds a tool. The same tool twice is no error; another one of its name is.
    pub fn add_tool(&self, tool: Tool) -> Result<(), RegisterError> {
        let (entry, run) = tool.into_entry()?;
        let name = entry.name.clone();
        self.change(|tables| insert(&mut tables.tools, name, entry, run, |it| &it.definition))
    }

    /// Removes a tool. Returns whether it was there.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.remove(|tables| tables.tools.remove(name).is_some())
    }

    /// Adds a resource.
    pub fn add_resource(&self, resource: Resource) -> Result<(), RegisterError> {
        let (entry, read) = resource.into_entry()?;
        let uri = entry.uri.clone();
        self.change(|tables| insert(&mut tables.resources, uri, entry, read, |it| &it.definition))
    }

    /// Removes a resource. Returns whether it was there.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.remove(|tables| tables.resources.remove(uri).is_some())
    }

    /// Adds a template of resources.
    pub fn add_template(&self, template: ResourceTemplate) -> Result<(), RegisterError> {
        let (entry, read) = template.into_entry()?;
        let uri = entry.uri_template.clone();
        self.change(|tables| insert(&mut tables.templates, uri, entry, read, |it| &it.definition))
    }

    /// Removes a template. Returns whether it was there.
    pub fn remove_template(&self, uri_template: &str) -> bool {
        self.remove(|tables| tables.templates.remove(uri_template).is_some())
    }

    /// Adds a prompt.
    pub fn add_prompt(&self, prompt: Prompt) -> Result<(), RegisterError> {
        let (entry, render) = prompt.into_entry()?;
        let name = entry.name.clone();
        self.change(|tables| insert(&mut tables.prompts, name, entry, render, |it| &it.definition))
    }

    /// Removes a prompt. Returns whether it was there.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.remove(|tables| tables.prompts.remove(name).is_some())
    }

    /// Tells clients that watch a resource that it has new content.
    pub fn resource_updated(&self, uri: &str) {
        self.resource_updated_with(uri, None);
    }

    /// The same, with metadata of the provider's own in the notification.
    pub fn resource_updated_with(&self, uri: &str, metadata: Option<RawJson>) {
        if let Some(publisher) = self.0.publisher.get() {
            publisher.resource_updated(uri, metadata);
        }
    }

    /// Connects the registry to the catalog it publishes in. Later calls change nothing.
    pub fn publish_to(&self, publisher: Publisher) {
        let tables = self.tables();
        let publisher = self.0.publisher.get_or_init(|| publisher);
        publisher.publish(tables.listing());
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Tables) -> Result<(), RegisterError>,
    ) -> Result<(), RegisterError> {
        let mut tables = self.tables();
        change(&mut tables)?;
        // Published under the lock: two changes must not overtake each other.
        if let Some(publisher) = self.0.publisher.get() {
            publisher.publish(tables.listing());
        }
        Ok(())
    }

    fn remove(&self, remove: impl FnOnce(&mut Tables) -> bool) -> bool {
        let mut removed = false;
        let changed = self.change(|tables| {
            removed = remove(tables);
            Ok(())
        });
        changed.is_ok() && removed
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tables {
    fn listing(&self) -> Listing {
        Listing {
            tools: self.tools.values().map(|(entry, _)| entry.clone()).collect(),
            resources: self.resources.values().map(|(entry, _)| entry.clone()).collect(),
            templates: self
                .templates
                .values()
                .map(|(entry, read)| (entry.clone(), read.matcher()))
                .collect(),
            prompts: self.prompts.values().map(|(entry, _)| entry.clone()).collect(),
            older: Vec::new(),
        }
    }
}

fn insert<E, H>(
    table: &mut BTreeMap<String, (Arc<E>, H)>,
    name: String,
    entry: E,
    handler: H,
    definition: impl Fn(&E) -> &RawJson,
) -> Result<(), RegisterError> {
    match table.get(&name) {
        Some((present, _)) if definition(present) != definition(&entry) => {
            Err(RegisterError::Taken(name))
        }
        Some(_) => Ok(()),
        None => {
            table.insert(name, (Arc::new(entry), handler));
            Ok(())
        }
    }
}

impl Provider for Handlers {
    fn name(&self) -> &str {
        "handlers"
    }

    fn serve(&self, resolved: &Resolved, context: &CallContext) -> BoxFuture<'static, Outcome> {
        let context = Context::new(&resolved.call, context.clone());
        self.handle(resolved, context).unwrap_or_else(|| {
            let removed = failure::removed(&resolved.target);
            Box::pin(async { Err(removed) })
        })
    }
}

impl Handlers {
    /// Starts the handler; none when it was removed since the call was resolved. The lock is given
    /// back before: a handler may change the registry.
    fn handle(&self, resolved: &Resolved, context: Context) -> Option<Handling> {
        let params = &resolved.call.params;
        if resolved.call.method == Method::Complete {
            let completers = completion::of(&self.tables(), &resolved.target);
            return Some(completion::complete(completers.as_deref(), params));
        }
        match &resolved.target {
            Target::Tool(entry) => {
                let run = found(&self.tables().tools, &entry.name)?;
                let arguments = resolved.call.head.arguments.clone();
                Some(run(arguments.unwrap_or(RawJson::EMPTY_OBJECT), context))
            }
            Target::Resource(entry) => {
                let read = found(&self.tables().resources, &entry.uri)?;
                Some(read(entry.uri.clone(), context))
            }
            Target::Template(entry, uri) => {
                let read = found(&self.tables().templates, &entry.uri_template)?;
                read.start(uri, context)
            }
            Target::Prompt(entry) => {
                let render = found(&self.tables().prompts, &entry.name)?;
                Some(render.start(params, context))
            }
        }
    }
}

fn found<E, H: Clone>(table: &BTreeMap<String, (E, H)>, name: &str) -> Option<H> {
    table.get(name).map(|(_, handler)| handler.clone())
}

impl std::fmt::Debug for Handlers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Handlers").field(&self.tables().listing()).finish()
    }
}

#[cfg(test)]
mod tests;
