//! One call on its way to the server that has what it is for, and back.

use std::sync::Arc;

use gantry_client::{Answer, Client, InputRequired, Request, TaskWish};
use gantry_gateway::{Call, CallError, ErrorKind, Exchange, Outcome, Reply};
use gantry_protocol::{Method, RawJson};

use super::aliases::Aliases;
use super::failure::Failed;
use super::line::CallLine;
use super::server::Server;
use super::task::{self, TaskError};

/// A call on its way.
pub(super) struct Errand {
    pub(super) server: Arc<Server>,
    /// Other addresses of the server's resources.
    pub(super) aliases: Option<Arc<Aliases>>,
    pub(super) request: Request,
    pub(super) exchange: Exchange,
}

impl Errand {
    /// Takes the call to the server and brings back what it comes to.
    pub(super) async fn run(self) -> Outcome {
        let Self { server, aliases, request, exchange } = self;
        let client = server.client_for(exchange.caller())?;
        let line = CallLine::new(exchange.clone(), server.redaction.clone());
        let (method, answers) = (request.method.clone(), request.input.entries.clone());
        let answer = ask(&server, client, request, &line, &exchange).await;
        let failed = Failed {
            server: server.name(),
            method: &method,
            answers: answers.as_ref(),
            redaction: &server.redaction,
        };
        let outcome = match answer {
            Ok(reply) => Ok(reply),
            Err(TaskError::Client(error)) => failed.outcome(error),
            Err(TaskError::Call(error)) => Err(error),
        };
        if let Some(required) = line.missing().filter(|_| is_failure(&outcome)) {
            return Err(lacking(&server, required));
        }
        match (outcome?, aliases) {
            (Reply::Result(result), Some(aliases)) => {
                Ok(Reply::Result(aliases.outward_result(&method, result)))
            }
            (reply, _) => Ok(reply),
        }
    }
}

async fn ask(
    server: &Server,
    client: Client,
    request: Request,
    line: &CallLine,
    exchange: &Exchange,
) -> Result<Reply, TaskError> {
    match client.request(request.clone(), line).await? {
        Answer::Complete(result) => Ok(Reply::Result(result)),
        Answer::InputRequired(InputRequired { entries, state }) => {
            Ok(Reply::InputRequired(gantry_gateway::InputRequired { requests: entries, state }))
        }
        Answer::Task(created) => {
            let result = task::follow(&created, server, client, request, line, exchange).await?;
            Ok(Reply::Result(result))
        }
    }
}

/// The request to the server, with its own words for what the call is for.
pub(super) fn request(call: &Call, params: RawJson) -> Request {
    // What the client brought along goes its own way: it is not always what came with this call.
    let params = match (&call.head.input_responses, &call.head.request_state) {
        (None, None) => params,
        _ => params.edit().remove("inputResponses").remove("requestState").apply(),
    };
    let input = &call.input;
    Request {
        capabilities: call.caller.capabilities.raw.clone(),
        client_info: call.caller.client_info.clone(),
        wants_progress: call.wants_progress,
        log_level: call.log_level,
        input: InputRequired { entries: input.responses.clone(), state: input.state.clone() },
        ..Request::new(call.method.clone(), params)
    }
}

/// That a call is made a task, because it cannot be made otherwise.
pub(super) fn as_task(request: Request) -> Request {
    Request { task: Some(TaskWish::default()), ..request }
}

/// The params with another text in them, at the place where the method has the name of its target.
pub(super) fn renamed(method: &Method, params: &RawJson, own: &str) -> RawJson {
    let set = |object: &RawJson, member: &'static str| match object.get(member) {
        Some(named) if named.to_text().as_deref() == Some(own) => object.clone(),
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

/// Whether the server says that it failed.
fn is_failure(outcome: &Outcome) -> bool {
    match outcome {
        Ok(Reply::Result(result)) => {
            result.get("isError").is_some_and(|flag| flag.as_str() == "true")
        }
        Ok(_) => false,
        Err(error) => matches!(error.kind, ErrorKind::Handler { .. }),
    }
}

/// A server that failed after the client could not be asked failed for that reason.
fn lacking(server: &Server, required: RawJson) -> CallError {
    let text = format!(
        "the server `{}` asked for something that the client did not declare: {required}",
        server.name()
    );
    CallError::new(ErrorKind::MissingCapability { required }, text)
}

#[cfg(test)]
mod tests;
