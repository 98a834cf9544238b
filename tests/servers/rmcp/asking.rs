//! Asks a client of either era: by requests while the call runs, or by a result and a retry.
//! Answers of earlier rounds travel in the request state.

use rmcp::model::{CallToolRequestParams, InputRequests, InputRequiredResult, ServerRequest};
use rmcp::service::{PeerRequestOptions, RequestContext};
use rmcp::{ErrorData, RoleServer, ServiceError};
use serde_json::{Map, Value, json};

use crate::handler::{is_modern, model};

/// What one call asks.
pub(crate) struct Questions {
    context: RequestContext<RoleServer>,
    /// The answers that the client has brought along.
    known: Map<String, Value>,
}

/// Why a call stops before its end.
pub(crate) enum Stop {
    /// The client must answer and call again.
    NeedsInput(InputRequiredResult),
    Failed(ErrorData),
}

impl From<ErrorData> for Stop {
    fn from(error: ErrorData) -> Self {
        Self::Failed(error)
    }
}

impl Questions {
    pub(crate) fn new(
        context: &RequestContext<RoleServer>,
        request: &CallToolRequestParams,
    ) -> Self {
        let state = request.request_state.as_deref().unwrap_or("{}");
        let mut known: Map<String, Value> = serde_json::from_str(state).unwrap_or_default();
        known.extend(request.input_responses.clone().unwrap_or_default());
        Self { context: context.clone(), known }
    }

    /// The answers, in the order of the questions, each a key and a request.
    pub(crate) async fn ask(&self, questions: &[(&str, Value)]) -> Result<Vec<Value>, Stop> {
        if !is_modern(&self.context) {
            return self.ask_with_requests(questions).await;
        }
        let missing = questions.iter().filter(|(key, _)| !self.known.contains_key(*key));
        let missing: Map<String, Value> =
            missing.map(|(key, question)| ((*key).to_owned(), question.clone())).collect();
        if missing.is_empty() {
            return Ok(questions.iter().map(|(key, _)| self.known[*key].clone()).collect());
        }
        let requests: InputRequests = model(Value::Object(missing))?;
        let state = Value::Object(self.known.clone()).to_string();
        Err(Stop::NeedsInput(InputRequiredResult::new(Some(requests), Some(state))))
    }

    /// All requests go out before the first answer is waited for.
    async fn ask_with_requests(&self, questions: &[(&str, Value)]) -> Result<Vec<Value>, Stop> {
        let failed = |error: ServiceError| ErrorData::internal_error(error.to_string(), None);
        let mut sent = Vec::new();
        for (_, question) in questions {
            let request: ServerRequest = model(question.clone())?;
            let options = PeerRequestOptions::no_options();
            let handle = self.context.peer.send_request_with_option(request, options).await;
            sent.push(handle.map_err(failed)?);
        }
        let mut answers = Vec::new();
        for handle in sent {
            let answer = handle.await_response().await.map_err(failed)?;
            answers.push(serde_json::to_value(answer).unwrap_or_default());
        }
        Ok(answers)
    }
}

/// The question for one text.
pub(crate) fn form(fixtures: &Value, field: &str) -> Value {
    let mut params = fixtures["forms"][field].clone();
    params["mode"] = json!("form");
    json!({"method": "elicitation/create", "params": params})
}

/// The question that sends the user to a page.
pub(crate) fn page(fixtures: &Value) -> Value {
    let mut params = fixtures["url"].clone();
    params["mode"] = json!("url");
    json!({"method": "elicitation/create", "params": params})
}

/// The question to the model, which may be given tools.
pub(crate) fn sample(fixtures: &Value, tools: bool) -> Value {
    let mut params = fixtures["sample"].clone();
    if tools {
        params["tools"] = fixtures["sampleTools"].clone();
    }
    json!({"method": "sampling/createMessage", "params": params})
}

/// The question for the client's folders.
pub(crate) fn roots() -> Value {
    json!({"method": "roots/list"})
}
