//! One forwarded call: builds the request for the server, sends it, and maps the response.

mod request_handler;
mod task;

use std::sync::Arc;

use gantry_client::{Answer, Client, ClientError, InputRequired, Request, TaskRequest};
use gantry_gateway::{Call, CallContext, CallError, ErrorKind, Outcome, Reply};
use gantry_protocol::capability::{TASKS, with_tasks};
use gantry_protocol::meta::key;
use gantry_protocol::trace::{TRACEPARENT, TRACESTATE};
use gantry_protocol::{Method, RawJson, RpcError, Trace, code};
use gantry_transport::{LARGE, offload};
use tokio::task::yield_now;

use self::request_handler::{CallRequestHandler, with_server_names};
use self::task::TaskError;
use super::aliases::Aliases;
use super::failure::Failed;
use super::upstream::Upstream;

/// A call on its way.
pub(super) struct UpstreamCall {
    pub(super) server: Arc<Upstream>,
    /// Other addresses of the server's resources.
    pub(super) aliases: Option<Arc<Aliases>>,
    pub(super) request: Request,
    pub(super) context: CallContext,
    /// Whether the client takes input requests with a reply, and comes back.
    pub(super) takes_input_requests: bool,
    /// Whether the call runs long, whatever the server makes of it.
    pub(super) runs_long: bool,
    /// Whether there are other servers that may ask the same person.
    pub(super) is_one_of_many: bool,
}

impl UpstreamCall {
    /// Takes the call to the server and brings back what it comes to.
    pub(super) async fn run(&self) -> Outcome {
        if self.runs_long {
            self.context.become_task(None, None, None);
            // The door hears of it before the server is asked: what that asks, a task may ask.
            yield_now().await;
        }
        let server = &self.server;
        let client = server.client_for(self.context.caller())?;
        let redaction = server.redaction.clone();
        let named_server = self.is_one_of_many.then(|| server.clone());
        let handler = CallRequestHandler::new(
            self.context.clone(),
            redaction,
            self.takes_input_requests,
            named_server,
        );
        let answers = self.request.input.entries.as_ref();
        let outcome = match self.ask(&client, &handler).await {
            Ok(Reply::InputRequired(required)) if is_declined(&required, answers) => {
                Err(declined(server))
            }
            Ok(reply) => Ok(reply),
            Err(TaskError::Call(error)) => Err(error),
            Err(TaskError::Client(error)) => {
                if self.is_unknown(&error) {
                    server.stale_hint.notify_one();
                }
                let is_stateless = client.known().is_some_and(|it| it.revision.is_stateless());
                Err(self.told(is_stateless, error).await)
            }
        };
        if let Some(required) = handler.missing().filter(|_| is_failure(&outcome)) {
            return Err(missing_capability(server, required));
        }
        match outcome? {
            Reply::Result(result) => {
                // Every revision demands it, and most client libraries raise without it.
                let result = match self.request.method {
                    Method::ToolsCall => result.with_content(),
                    _ => result,
                };
                let is_error = result.is_error();
                if !is_error && self.aliases.is_none() {
                    return Ok(Reply::Result(result));
                }
                let (server, aliases) = (server.clone(), self.aliases.clone());
                let (method, result) = (self.request.method.clone(), result.into_raw());
                let size = result.bytes().len();
                // Both look at all of it.
                let work = move || {
                    let result = if is_error { server.redaction.json(result) } else { result };
                    match aliases {
                        Some(aliases) => aliases.outward_result(&method, result),
                        None => result,
                    }
                };
                Ok(Reply::result(offload(size, work).await))
            }
            reply => Ok(reply),
        }
    }

    /// Asks the server. What few calls come to waits on the heap: each would have room for it.
    async fn ask(&self, client: &Client, handler: &CallRequestHandler) -> Result<Reply, TaskError> {
        let answer = match client.request(&self.request, handler).await {
            // A client of the legacy era had no words for tasks. They are followed to their end here.
            Err(error) if !self.takes_input_requests && demands_tasks(&error) => None,
            answer => Some(answer?),
        };
        match answer {
            Some(Answer::Complete(result)) => Ok(Reply::Result(result)),
            Some(answer) => Box::pin(self.take(answer, client, &self.request, handler)).await,
            None => Box::pin(self.ask_for_task(client, handler)).await,
        }
    }

    async fn ask_for_task(
        &self,
        client: &Client,
        handler: &CallRequestHandler,
    ) -> Result<Reply, TaskError> {
        let capabilities = with_tasks(&self.request.capabilities);
        let request = Request { capabilities, ..self.request.clone() };
        let answer = client.request(&request, handler).await?;
        self.take(answer, client, &request, handler).await
    }

    /// What an answer comes to.
    async fn take(
        &self,
        answer: Answer,
        client: &Client,
        request: &Request,
        handler: &CallRequestHandler,
    ) -> Result<Reply, TaskError> {
        match answer {
            Answer::Complete(result) => Ok(Reply::Result(result)),
            Answer::InputRequired(InputRequired { entries, state }) => {
                let requests = match self.is_one_of_many {
                    true => entries.map(|it| with_server_names(self.server.name(), &it)),
                    false => entries,
                };
                Ok(Reply::InputRequired(gantry_gateway::InputRequired { requests, state }))
            }
            Answer::Task(created) => {
                let (client, request) = (client.clone(), request.clone());
                let (server, context) = (&self.server, &self.context);
                let result = task::follow(&created, server, client, request, handler, context);
                Ok(Reply::result(result.await?))
            }
        }
    }

    /// Whether the server may not know the tool any more. Bad arguments have the same code.
    fn is_unknown(&self, error: &ClientError) -> bool {
        let ClientError::Answered(RpcError { code, .. }) = error else { return false };
        self.request.method == Method::ToolsCall
            && matches!(*code, code::INVALID_PARAMS | code::METHOD_NOT_FOUND)
    }

    /// What the call is told of a failure. An error may be as large as a result, and is searched for
    /// secrets.
    async fn told(&self, is_stateless: bool, error: ClientError) -> CallError {
        let (upstream, aliases) = (self.server.clone(), self.aliases.clone());
        let (method, is_repeatable) = (self.request.method.clone(), self.request.is_repeatable);
        let tell = move |error: ClientError| {
            let (server, redaction) = (upstream.name(), &upstream.redaction);
            let (method, aliases) = (&method, aliases.as_deref());
            Failed { server, method, aliases, is_stateless, is_repeatable, redaction }.error(error)
        };
        match size(&error) {
            few if few <= LARGE => tell(error),
            many => Box::pin(offload(many, move || tell(error))).await,
        }
    }
}

/// Bytes of what a server said of a failure.
fn size(error: &ClientError) -> usize {
    let said = match error {
        ClientError::Answered(error) => Some(error),
        ClientError::Http(http) => http.error.as_ref(),
        _ => None,
    };
    let data = said.and_then(|it| it.data.as_ref()).map_or(0, |it| it.bytes().len());
    said.map_or(0, |it| it.message.len()) + data
}

/// The request to the server, with its own words for what the call is for.
pub(super) fn request(call: &Call, own: &str) -> Request {
    // What the client brought along goes its own way: it is not always what came with this call.
    let brings = call.head.input_responses.is_some() || call.head.request_state.is_some();
    let (params, head) = match brings || !is_named(call, own) {
        false => (call.params.clone(), Some(call.head.clone())),
        true => (renamed(&call.method, &call.params, own), None),
    };
    let params = match brings {
        true => params.edit().remove("inputResponses").remove("requestState").apply(),
        false => params,
    };
    let input = &call.input;
    Request {
        head,
        capabilities: call.caller.capabilities.raw.clone(),
        client_info: call.caller.client_info.clone(),
        wants_progress: call.wants_progress,
        log_level: call.log_level,
        input: InputRequired { entries: input.responses.clone(), state: input.state.clone() },
        ..Request::new(call.method.clone(), params)
    }
}

/// The request with the trace that it is a part of.
pub(super) fn traced(request: Request, trace: Option<Arc<Trace>>) -> Request {
    let Some(trace) = trace else { return request };
    let meta = request.params.get(key::META).filter(RawJson::is_object);
    let meta = meta.unwrap_or(RawJson::EMPTY_OBJECT);
    let named = meta.get(TRACEPARENT).and_then(|named| named.to_text());
    let (params, head) = match named.as_deref() == Some(trace.parent.as_str()) {
        // As the client wrote it.
        true => (request.params, request.head),
        false => {
            let state = trace.state.as_deref().map(RawJson::string);
            let meta = meta
                .edit()
                .remove(TRACESTATE)
                .set(TRACEPARENT, RawJson::string(&trace.parent))
                .set_some(TRACESTATE, state)
                .apply();
            (request.params.edit().set(key::META, meta).apply(), None)
        }
    };
    Request { params, head, trace: Some(trace), ..request }
}

/// That a call is made a task: because it cannot be made otherwise, or its client takes them.
pub(super) fn as_task(request: Request) -> Request {
    Request { task: Some(TaskRequest::default()), ..request }
}

/// Whether a call names its target as the server does.
fn is_named(call: &Call, own: &str) -> bool {
    let member = match call.method {
        Method::ToolsCall | Method::PromptsGet => &call.head.name,
        Method::ResourcesRead => &call.head.uri,
        _ => return false,
    };
    call.head.ambiguous.is_none() && member.as_ref().and_then(RawJson::as_text) == Some(own)
}

/// The params with another text in them, at the place where the method has the name of its target.
fn renamed(method: &Method, params: &RawJson, own: &str) -> RawJson {
    let set = |object: &RawJson, member: &'static str| match object.get(member) {
        Some(named) if named.as_text() == Some(own) => object.clone(),
        _ => object.edit().set(member, RawJson::string(own)).apply(),
    };
    match method {
        Method::ToolsCall | Method::PromptsGet => set(params, "name"),
        Method::ResourcesRead => set(params, "uri"),
        Method::Complete => match params.get("ref") {
            Some(reference) if reference.get("name").is_some() => {
                params.edit().set("ref", set(&reference, "name")).apply()
            }
            Some(reference) => params.edit().set("ref", set(&reference, "uri")).apply(),
            None => params.clone(),
        },
        _ => params.clone(),
    }
}

/// Whether the server refuses whoever does not know tasks.
fn demands_tasks(error: &ClientError) -> bool {
    let ClientError::Answered(RpcError { code, data: Some(data), .. }) = error else {
        return false;
    };
    let required = data.at(&["requiredCapabilities", "extensions", TASKS]);
    *code == code::MISSING_CLIENT_CAPABILITY && required.is_some()
}

/// Whether the server asks again for a page to be visited that the user did not want to see.
fn is_declined(required: &gantry_gateway::InputRequired, answers: Option<&RawJson>) -> bool {
    let (Some(requests), Some(answers), None) = (&required.requests, answers, &required.state)
    else {
        return false;
    };
    requests.members().any(|member| {
        let mode = member.value().at(&["params", "mode"]);
        let action = answers.at(&[&member.key(), "action"]);
        mode.is_some_and(|mode| mode.as_str() == "\"url\"")
            && action.is_some_and(|action| action.as_str() != "\"accept\"")
    })
}

fn declined(server: &Upstream) -> CallError {
    let name = server.name();
    let text = format!("the server `{name}` needs a page to be visited, and the user did not");
    CallError::new(ErrorKind::ToolFailed, text)
}

/// Whether the server says that it failed.
fn is_failure(outcome: &Outcome) -> bool {
    match outcome {
        Ok(Reply::Result(result)) => result.is_error(),
        Ok(_) => false,
        Err(error) => matches!(error.kind, ErrorKind::Handler { .. }),
    }
}

/// A server that failed after the client could not be asked failed for that reason.
fn missing_capability(server: &Upstream, required: RawJson) -> CallError {
    let kinds: Vec<String> =
        required.members().map(|member| format!("`{}`", member.key())).collect();
    let text = format!(
        "the tool needs an answer that this client cannot give: the server `{}` asked for {}, which the \
         client did not declare, so nobody was asked and the tool failed; call it from a client that \
         supports this, or use another tool",
        server.name(),
        kinds.join(" and ")
    );
    CallError::new(ErrorKind::MissingCapability { required }, text)
}

#[cfg(test)]
mod tests;
