//! A prompt as a function.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;

use gantry_gateway::{CallError, PromptEntry, Reply};
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use serde::Serialize;
use serde_json::Value;

use super::completion::Completers;
use super::context::Context;
use super::failure::Failure;
use super::result::Content;
use super::{Handling, RegisterError};

type Arguments = HashMap<String, String>;
type RenderWith = Arc<dyn Fn(Arguments, Context) -> Handling + Send + Sync>;

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The user.
    User,
    /// The model.
    Assistant,
}

/// One message of a prompt.
#[derive(Debug, Clone)]
pub struct PromptMessage {
    role: Role,
    content: Content,
}

/// A rendered prompt.
#[derive(Debug, Clone, Default)]
pub struct PromptResult {
    description: Option<String>,
    messages: Vec<PromptMessage>,
}

impl PromptMessage {
    /// What the user says.
    pub fn user(content: impl Into<Content>) -> Self {
        Self { role: Role::User, content: content.into() }
    }

    /// What the model says.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self { role: Role::Assistant, content: content.into() }
    }

    fn to_json(&self) -> RawJson {
        let role = match self.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        ObjectWriter::new().value("role", role).raw("content", self.content.as_json()).finish()
    }
}

impl PromptResult {
    /// Describes what was rendered.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Adds a message.
    #[must_use]
    pub fn with(mut self, message: PromptMessage) -> Self {
        self.messages.push(message);
        self
    }

    fn to_reply(&self) -> Reply {
        let messages: Vec<_> = self.messages.iter().map(PromptMessage::to_json).collect();
        let result = ObjectWriter::new()
            .value_some("description", self.description.as_deref())
            .array("messages", &messages)
            .finish();
        Reply::result(result)
    }
}

impl From<PromptMessage> for PromptResult {
    fn from(message: PromptMessage) -> Self {
        Self::default().with(message)
    }
}

impl From<Vec<PromptMessage>> for PromptResult {
    fn from(messages: Vec<PromptMessage>) -> Self {
        Self { description: None, messages }
    }
}

#[derive(Debug, Serialize)]
struct Argument {
    name: String,
    description: String,
    required: bool,
}

/// A prompt on its way into the registry.
pub struct Prompt {
    name: String,
    arguments: Vec<Argument>,
    members: Vec<(String, Value)>,
    completers: Completers,
    render: Option<RenderWith>,
}

/// What a prompt is rendered with.
pub(super) struct Render {
    required: Vec<String>,
    render: RenderWith,
    pub(super) completers: Arc<Completers>,
}

impl Prompt {
    /// A prompt of that name.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            arguments: Vec::new(),
            members: Vec::new(),
            completers: Completers::new(),
            render: None,
        }
    }

    /// A title for people.
    #[must_use]
    pub fn title(self, title: &str) -> Self {
        self.member("title", title)
    }

    /// What it is for.
    #[must_use]
    pub fn description(self, description: &str) -> Self {
        self.member("description", description)
    }

    /// Any other member of the definition.
    #[must_use]
    pub fn member(mut self, name: &str, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.members.push((name.to_owned(), value));
        self
    }

    /// An argument that must be given.
    #[must_use]
    pub fn required(self, name: &str, description: &str) -> Self {
        self.argument(name, description, true)
    }

    /// An argument that may be given.
    #[must_use]
    pub fn optional(self, name: &str, description: &str) -> Self {
        self.argument(name, description, false)
    }

    /// How values of an argument are completed while the user types.
    #[must_use]
    pub fn complete<F>(mut self, argument: &str, values: F) -> Self
    where
        F: Fn(&str) -> Vec<String> + Send + Sync + 'static,
    {
        self.completers.insert(argument.to_owned(), Arc::new(values));
        self
    }

    /// How it is rendered.
    #[must_use]
    pub fn render<T, F, R>(mut self, handler: F) -> Self
    where
        F: Fn(HashMap<String, String>, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, Failure>> + Send + 'static,
        T: Into<PromptResult>,
    {
        self.render = Some(Arc::new(move |arguments, context| {
            let rendering = handler(arguments, context);
            Box::pin(async move {
                match rendering.await {
                    Ok(rendered) => Ok(rendered.into().to_reply()),
                    Err(failure) => failure.into_outcome(),
                }
            })
        }));
        self
    }

    pub(super) fn into_entry(self) -> Result<(PromptEntry, Arc<Render>), RegisterError> {
        let render = self.render.ok_or_else(|| RegisterError::NoHandler(self.name.clone()))?;
        let mut definition = ObjectWriter::new().value("name", &self.name);
        for (name, value) in &self.members {
            definition = definition.value(name, value);
        }
        if !self.arguments.is_empty() {
            definition = definition.value("arguments", &self.arguments);
        }
        let entry = PromptEntry::new(definition.finish())?;
        let required = self.arguments.into_iter().filter(|it| it.required).map(|it| it.name);
        let required = required.collect();
        Ok((entry, Arc::new(Render { required, render, completers: Arc::new(self.completers) })))
    }

    fn argument(mut self, name: &str, description: &str, required: bool) -> Self {
        let (name, description) = (name.to_owned(), description.to_owned());
        self.arguments.push(Argument { name, description, required });
        self
    }
}

impl Render {
    pub(super) fn start(&self, params: &RawJson, context: Context) -> Handling {
        match self.read_arguments(params) {
            Ok(arguments) => (self.render)(arguments, context),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    fn read_arguments(&self, params: &RawJson) -> Result<Arguments, CallError> {
        let given = params.get("arguments").filter(|given| !given.is_null());
        let read = given.map_or(Some(Arguments::new()), |given| given.read());
        let arguments = read
            .ok_or_else(|| CallError::invalid_params("`arguments` must be an object of strings"))?;
        match self.required.iter().find(|name| !arguments.contains_key(*name)) {
            Some(name) => {
                Err(CallError::invalid_params(format!("the argument `{name}` is missing")))
            }
            None => Ok(arguments),
        }
    }
}

impl std::fmt::Debug for Prompt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Prompt").field(&self.name).finish()
    }
}
