//! What a handler can do while it runs.

use gantry_gateway::{Call, CallContext, Caller, Input, InputRequest, Progress};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Level, Method, RawJson};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::failure::Failure;

/// The line from a handler to its client. Clones share the line.
#[derive(Debug, Clone)]
pub struct Context {
    context: CallContext,
    params: RawJson,
    input: Input,
}

/// How the user answered an input request.
#[derive(Debug, Clone)]
pub struct Elicitation {
    /// `accept`, `decline` or `cancel`.
    pub action: String,
    /// What was filled in, when the user accepted.
    pub content: Option<RawJson>,
}

impl Elicitation {
    /// What was filled in, when the user accepted and it fits.
    pub fn accepted<T: DeserializeOwned>(&self) -> Option<T> {
        (self.action == "accept").then(|| self.content.as_ref()?.read())?
    }
}

impl Context {
    pub(super) fn new(call: &Call, context: CallContext) -> Self {
        let (params, input) = (call.params.clone(), call.input.clone());
        Self { context, params, input }
    }

    /// Who called, and what that client can do.
    pub fn caller(&self) -> &Caller {
        self.context.caller()
    }

    /// The call's parameters as they came.
    pub fn params(&self) -> &RawJson {
        &self.params
    }

    /// What the client brought along to take up an earlier call.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Reports progress. `progress` must rise from one report to the next.
    pub fn progress(&self, progress: f64, total: Option<f64>, message: Option<&str>) {
        let message = message.map(str::to_owned);
        self.context.progress(&Progress { progress, total, message });
    }

    /// Sends a log message to a client that wants it.
    pub async fn log(&self, level: Level, data: impl Serialize) {
        let data = RawJson::of(&data).unwrap_or(RawJson::NULL);
        self.context.log(level, None, &data).await;
    }

    /// Asks the user to fill in a form. The schema is a flat object.
    pub async fn elicit(
        &self,
        message: &str,
        schema: &serde_json::Value,
    ) -> Result<Elicitation, Failure> {
        let params = ObjectWriter::new()
            .value("mode", "form")
            .value("message", message)
            .value("requestedSchema", schema)
            .finish();
        self.elicit_raw(params).await
    }

    /// Asks the user to visit a URL. An accepted answer means that the user agreed to, not that
    /// everything there is done.
    pub async fn elicit_url(&self, message: &str, url: &str) -> Result<Elicitation, Failure> {
        let params = ObjectWriter::new()
            .value("mode", "url")
            .value("message", message)
            .value("url", url)
            .finish();
        self.elicit_raw(params).await
    }

    /// Lets the client's model write a message. The parameters are those of
    /// `sampling/createMessage`.
    pub async fn sample(&self, params: &serde_json::Value) -> Result<RawJson, Failure> {
        let params = RawJson::of(params)?;
        let key = self.context.number_input_request(&Method::CreateMessage);
        self.ask(&key, InputRequest::new(Method::CreateMessage, params)).await
    }

    /// The folders the client works in.
    pub async fn roots(&self) -> Result<RawJson, Failure> {
        let key = self.context.number_input_request(&Method::RootsList);
        self.ask(&key, InputRequest::roots()).await
    }

    /// Asks anything, under a key that is unique within the call.
    pub async fn ask(&self, key: &str, ask: InputRequest) -> Result<RawJson, Failure> {
        self.context.ask(key, ask).await.map_err(Failure::unanswered)
    }

    /// Says that the call runs long from here on. A client that can come back for the result gets
    /// a task at once and may leave; any other waits as before. What can be asked should be asked
    /// before. Messages of progress are shown with the task.
    pub fn become_task(&self) {
        self.context.become_task(None, None, None);
    }

    /// Ends when the client gives up. The handler's own future is dropped then anyway; tasks it
    /// has started elsewhere must watch this.
    pub async fn cancelled(&self) {
        self.context.cancelled().await;
    }

    async fn elicit_raw(&self, params: RawJson) -> Result<Elicitation, Failure> {
        let key = self.context.number_input_request(&Method::Elicit);
        let answer = self.ask(&key, InputRequest::new(Method::Elicit, params)).await?;
        let action = answer.get("action").and_then(|action| action.to_text());
        let action = action.ok_or_else(|| Failure::new("the client's answer has no action"))?;
        Ok(Elicitation { action, content: answer.get("content") })
    }
}
