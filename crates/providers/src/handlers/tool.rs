//! A tool as a function.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use gantry_gateway::{CallError, ErrorKind, ToolEntry};
use gantry_protocol::RawJson;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::key;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::context::Context;
use super::failure::Failure;
use super::result::ToolOutput;
use super::{Handling, RegisterError};

/// Runs a tool on its arguments.
pub(super) type Run = Arc<dyn Fn(RawJson, Context) -> Handling + Send + Sync>;

/// What a definition says of a tool whose calls must be tasks.
const REQUIRED: &str = "required";

/// A tool on its way into the registry.
///
/// ```
/// use gantry_providers::{Failure, Tool};
/// use schemars::JsonSchema;
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Greeting {
///     /// Whom to greet.
///     name: String,
/// }
///
/// let tool = Tool::new("greet", "Greets someone.").read_only().run(
///     async |greeting: Greeting, _| Ok::<_, Failure>(format!("Hello, {}!", greeting.name)),
/// );
/// ```
pub struct Tool {
    name: String,
    description: String,
    input_schema: Option<Value>,
    output_schema: Option<Value>,
    /// Whether a schema was written by hand and may be none.
    is_handmade: bool,
    annotations: Map<String, Value>,
    members: Map<String, Value>,
    call_back: Option<Duration>,
    is_long: bool,
    task_support: Option<&'static str>,
    run: Option<Run>,
}

impl Tool {
    /// A tool of that name. The description tells the model when to use it.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema: None,
            output_schema: None,
            is_handmade: false,
            annotations: Map::new(),
            members: Map::new(),
            call_back: None,
            is_long: false,
            task_support: None,
            run: None,
        }
    }

    /// A title for people.
    #[must_use]
    pub fn title(self, title: &str) -> Self {
        self.member("title", title)
    }

    /// The schema of the arguments, instead of the one derived from the handler's type.
    #[must_use]
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.input_schema = Some(schema);
        self.is_handmade = true;
        self
    }

    /// The schema of the structured result, instead of the one derived from the handler's type.
    #[must_use]
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output_schema = Some(schema);
        self.is_handmade = true;
        self
    }

    /// The tool changes nothing.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.hint("readOnlyHint", true)
    }

    /// The tool may destroy something, or surely does not.
    #[must_use]
    pub fn destructive(self, destructive: bool) -> Self {
        self.hint("destructiveHint", destructive)
    }

    /// Calling it twice does no more than calling it once.
    #[must_use]
    pub fn idempotent(self) -> Self {
        self.hint("idempotentHint", true)
    }

    /// The tool reaches beyond this machine, or surely does not.
    #[must_use]
    pub fn open_world(self, open: bool) -> Self {
        self.hint("openWorldHint", open)
    }

    /// Calls run long from their beginning on: a client that can come back for the result gets a
    /// task at once. Any other waits.
    #[must_use]
    pub fn long_running(mut self) -> Self {
        self.is_long = true;
        self.task_optional()
    }

    /// Calls may come to run long: the handler says when, with [`Context::become_task`].
    #[must_use]
    pub fn task_optional(mut self) -> Self {
        self.task_support.get_or_insert("optional");
        self
    }

    /// Calls are too long for a client to wait: one that takes no tasks is refused, where its
    /// revision has them, also by a Gantry in front of this server. The handler says when a call
    /// becomes one, unless all run long.
    #[must_use]
    pub fn task_required(mut self) -> Self {
        self.task_support = Some(REQUIRED);
        self
    }

    /// Calls take so long that a client which can hang up while it waits had better do so, and call
    /// back after this time. One that cannot waits as for any other.
    #[must_use]
    pub fn call_back(mut self, after: Duration) -> Self {
        self.call_back = Some(after);
        self
    }

    /// Any other member of the definition: `icons`, `_meta`, or one of your own.
    #[must_use]
    pub fn member(mut self, name: &str, value: impl Serialize) -> Self {
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.members.insert(name.to_owned(), value);
        self
    }

    /// What the tool does. The argument type gives the schema unless one was set.
    #[must_use]
    pub fn run<A, T, F, R>(mut self, handler: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, Failure>> + Send + 'static,
        T: ToolOutput,
    {
        let derived = || object_schema(schemars::schema_for!(A).to_value());
        self.input_schema.get_or_insert_with(derived);
        self.output_schema = self.output_schema.take().or_else(T::schema);
        self.run = Some(Arc::new(move |arguments, context| {
            let started = arguments.try_read::<A>().map(|arguments| handler(arguments, context));
            Box::pin(async move {
                let running = started.map_err(|error| {
                    let text = format!("the arguments do not fit: {error}");
                    CallError::new(ErrorKind::InvalidArguments, text)
                })?;
                let done = running.await.and_then(T::into_reply);
                done.or_else(Failure::into_tool_outcome)
            })
        }));
        self
    }

    pub(super) fn into_entry(mut self) -> Result<(ToolEntry, Run), RegisterError> {
        let run = self.run.take().ok_or_else(|| RegisterError::NoHandler(self.name.clone()))?;
        if let Some(after) = self.call_back {
            let after = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
            self.note(key::CALL_BACK, after.into());
        }
        if self.task_support == Some(REQUIRED) {
            self.note(key::TASKS_ONLY, true.into());
        }
        let mut definition = ObjectWriter::with_capacity(512)
            .value("name", &self.name)
            .value("description", &self.description)
            .value_some("inputSchema", self.input_schema)
            .value_some("outputSchema", self.output_schema);
        if !self.annotations.is_empty() {
            definition = definition.value("annotations", &self.annotations);
        }
        if let Some(support) = self.task_support {
            definition = definition.value("execution", &json!({"taskSupport": support}));
        }
        for (name, value) in &self.members {
            definition = definition.value(name, value);
        }
        // Types can be annotated with patterns that are none: a developer hears of it at once.
        let entry = match self.is_handmade || cfg!(debug_assertions) {
            true => ToolEntry::new(definition.finish()),
            false => ToolEntry::derived(definition.finish()),
        }?;
        Ok((entry, if self.is_long { long(run) } else { run }))
    }

    /// Says something for which not every revision has a member.
    fn note(&mut self, key: &str, value: Value) {
        let meta = self.members.entry(key::META).or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            meta.insert(key.to_owned(), value);
        }
    }

    fn hint(mut self, name: &str, value: bool) -> Self {
        self.annotations.insert(name.to_owned(), Value::Bool(value));
        self
    }
}

/// A handler whose calls run long from their beginning on.
fn long(run: Run) -> Run {
    Arc::new(move |arguments, context| {
        context.become_task();
        run(arguments, context)
    })
}

/// Arguments are always an object. A type that takes anything says nothing about its members.
fn object_schema(schema: Value) -> Value {
    match schema {
        Value::Object(mut members) => {
            members.entry("type").or_insert_with(|| json!("object"));
            Value::Object(members)
        }
        _ => json!({"type": "object"}),
    }
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}
