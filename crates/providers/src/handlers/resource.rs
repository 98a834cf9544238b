//! Resources and templates of resources as functions.

use std::future::Future;
use std::sync::Arc;

use gantry_gateway::{Matcher, Reply, ResourceEntry, TemplateEntry};
use gantry_protocol::json::ObjectWriter;
use serde::Serialize;
use serde_json::Value;

use super::completion::Completers;
use super::context::Context;
use super::failure::Failure;
use super::result::ResourceContents;
use super::{Handling, RegisterError};
use crate::uri_template::{Template, Variables};

/// Reads a resource.
pub(super) type Read = Arc<dyn Fn(String, Context) -> Handling + Send + Sync>;

type ReadMatched = Arc<dyn Fn(String, Variables, Context) -> Handling + Send + Sync>;

/// What a template's resources are read with.
pub(super) struct TemplateRead {
    template: Arc<Template>,
    read: ReadMatched,
    pub(super) completers: Arc<Completers>,
}

impl TemplateRead {
    pub(super) fn matcher(&self) -> Matcher {
        let template = self.template.clone();
        Arc::new(move |uri| template.matches(uri).is_some())
    }

    pub(super) fn start(&self, uri: &str, context: Context) -> Option<Handling> {
        let variables = self.template.matches(uri)?;
        Some((self.read)(uri.to_owned(), variables, context))
    }
}

/// The parts that resources and templates share.
struct Definition {
    address: (&'static str, String),
    name: String,
    mime_type: Option<String>,
    members: Vec<(String, Value)>,
}

impl Definition {
    fn new(member: &'static str, address: impl Into<String>, name: impl Into<String>) -> Self {
        let address = (member, address.into());
        Self { address, name: name.into(), mime_type: None, members: Vec::new() }
    }

    fn to_json(&self) -> gantry_protocol::RawJson {
        let mut definition = ObjectWriter::new()
            .value(self.address.0, &self.address.1)
            .value("name", &self.name)
            .value_some("mimeType", self.mime_type.as_deref());
        for (name, value) in &self.members {
            definition = definition.value(name, value);
        }
        definition.finish()
    }

    fn member(&mut self, name: &str, value: impl Serialize) {
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.members.push((name.to_owned(), value));
    }
}

/// A resource on its way into the registry.
pub struct Resource {
    definition: Definition,
    read: Option<Read>,
}

/// A template of resources on its way into the registry.
pub struct ResourceTemplate {
    definition: Definition,
    completers: Completers,
    read: Option<ReadMatched>,
}

macro_rules! described {
    ($($what:ident),*) => {$(
        impl $what {
            /// A title for people.
            #[must_use]
            pub fn title(self, title: &str) -> Self {
                self.member("title", title)
            }

            /// What it is.
            #[must_use]
            pub fn description(self, description: &str) -> Self {
                self.member("description", description)
            }

            /// What kind of content it has.
            #[must_use]
            pub fn mime_type(mut self, mime_type: &str) -> Self {
                self.definition.mime_type = Some(mime_type.to_owned());
                self
            }

            /// Any other member of the definition.
            #[must_use]
            pub fn member(mut self, name: &str, value: impl Serialize) -> Self {
                self.definition.member(name, value);
                self
            }
        }

        impl std::fmt::Debug for $what {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.debug_tuple(stringify!($what)).field(&self.definition.address.1).finish()
            }
        }
    )*};
}
described!(Resource, ResourceTemplate);

impl Resource {
    /// A resource at that URI.
    pub fn new(uri: impl Into<String>, name: impl Into<String>) -> Self {
        Self { definition: Definition::new("uri", uri, name), read: None }
    }

    /// How it is read.
    #[must_use]
    pub fn read<T, F, R>(mut self, handler: F) -> Self
    where
        F: Fn(String, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, Failure>> + Send + 'static,
        T: Into<ResourceContents>,
    {
        let mime_type = self.definition.mime_type.clone();
        self.read = Some(Arc::new(move |uri, context| {
            let (reading, mime_type) = (handler(uri.clone(), context), mime_type.clone());
            Box::pin(async move {
                match reading.await {
                    Ok(read) => Ok(reply(read.into(), &uri, mime_type.as_deref())),
                    Err(failure) => failure.into_outcome(),
                }
            })
        }));
        self
    }

    pub(super) fn into_entry(self) -> Result<(ResourceEntry, Read), RegisterError> {
        let read = self.read.ok_or_else(|| no_handler(&self.definition))?;
        Ok((ResourceEntry::new(self.definition.to_json())?, read))
    }
}

impl ResourceTemplate {
    /// Resources at URIs of that form (RFC 6570).
    pub fn new(uri_template: impl Into<String>, name: impl Into<String>) -> Self {
        let definition = Definition::new("uriTemplate", uri_template, name);
        Self { definition, completers: Completers::new(), read: None }
    }

    /// How values of a variable are completed while the user types.
    #[must_use]
    pub fn complete<F>(mut self, variable: &str, values: F) -> Self
    where
        F: Fn(&str) -> Vec<String> + Send + Sync + 'static,
    {
        self.completers.insert(variable.to_owned(), Arc::new(values));
        self
    }

    /// How one of them is read.
    #[must_use]
    pub fn read<T, F, R>(mut self, handler: F) -> Self
    where
        F: Fn(String, Variables, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, Failure>> + Send + 'static,
        T: Into<ResourceContents>,
    {
        let mime_type = self.definition.mime_type.clone();
        self.read = Some(Arc::new(move |uri, variables, context| {
            let reading = handler(uri.clone(), variables, context);
            let mime_type = mime_type.clone();
            Box::pin(async move {
                match reading.await {
                    Ok(read) => Ok(reply(read.into(), &uri, mime_type.as_deref())),
                    Err(failure) => failure.into_outcome(),
                }
            })
        }));
        self
    }

    pub(super) fn into_entry(self) -> Result<(TemplateEntry, Arc<TemplateRead>), RegisterError> {
        let read = self.read.ok_or_else(|| no_handler(&self.definition))?;
        let template = Arc::new(Template::parse(&self.definition.address.1)?);
        let entry = TemplateEntry::new(self.definition.to_json())?;
        Ok((
            entry,
            Arc::new(TemplateRead { template, read, completers: Arc::new(self.completers) }),
        ))
    }
}

fn reply(contents: ResourceContents, uri: &str, mime_type: Option<&str>) -> Reply {
    let contents = contents.or_mime_type(mime_type).to_json(uri);
    Reply::result(ObjectWriter::new().array("contents", [&contents]).finish())
}

fn no_handler(definition: &Definition) -> RegisterError {
    RegisterError::NoHandler(definition.address.1.clone())
}
