//! A call of the running gateway: sent as the local user, with its approvals asked on this terminal.

use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use gantry::{Level, Method, ObjectWriter, RawJson};
use gantry_client::{
    Answer, ClientError, InputRefusal, InputRequest, InputRequired, Request, RequestHandler,
};
use gantry_gateway::{CallError, ErrorKind, InputRequestError, Outcome, Reply};
use gantry_protocol::{RpcError, code};
use tokio::signal::unix::SignalKind;
use tokio::sync::oneshot;

use crate::admin_client::Session;
use crate::commands::call::approval::ApprovalPrompt;
use crate::commands::call::{listen, log};
use crate::exit::{Code, Exit};
use crate::render::{self, ProgressLine};

/// How often one call may ask for input.
const ROUNDS: usize = 16;

/// Sends a request and answers what is asked on the way. An interrupt gives the call up, which the
/// gateway sees as a client that hangs up.
pub(crate) async fn send(
    session: &Session,
    method: Method,
    params: RawJson,
    prompt: &mut ApprovalPrompt,
) -> Result<Outcome, Exit> {
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let sent = async {
        let screen = PublishHook(Mutex::new(ProgressLine::new()));
        let sent = context(session, method, params, prompt, &screen).await;
        screen.clear();
        sent
    };
    tokio::select! {
        outcome = sent => Ok(outcome),
        _ = interrupt.recv() => Err(cancelled()),
        _ = terminate.recv() => Err(cancelled()),
    }
}

fn cancelled() -> Exit {
    Exit::new(Code::Interrupted, "the call was cancelled")
}

async fn context(
    session: &Session,
    method: Method,
    params: RawJson,
    prompt: &mut ApprovalPrompt,
    screen: &PublishHook,
) -> Outcome {
    // A client that says it can be asked is asked at once. Otherwise the gateway waits for an
    // approval from elsewhere, and then says how to give one.
    let capabilities = match prompt.can_answer() {
        true => RawJson::from_static(r#"{"elicitation":{"form":{}}}"#),
        false => RawJson::EMPTY_OBJECT,
    };
    let mut request = Request {
        capabilities,
        wants_progress: true,
        log_level: Some(Level::Info),
        ..Request::new(method, params)
    };
    for _ in 0..ROUNDS {
        match session.request(request.clone(), screen).await {
            Ok(Answer::Complete(result)) => return Ok(Reply::Result(result)),
            Ok(Answer::InputRequired(required)) => {
                screen.clear();
                request.input = answer(required, prompt).await?;
            }
            Ok(Answer::Task(_)) => {
                let text = "the gateway returned a task that was not asked for";
                return Err(CallError::new(ErrorKind::Internal, text));
            }
            Err(error) => return Err(call_error(error)),
        }
    }
    let text = format!("the call asked for input {ROUNDS} times and was cancelled");
    Err(CallError::new(ErrorKind::ToolFailed, text))
}

/// Answers all input requests of a reply, by key.
async fn answer(
    required: InputRequired,
    prompt: &mut ApprovalPrompt,
) -> Result<InputRequired, CallError> {
    let mut answers = ObjectWriter::new();
    for entry in required.entries.iter().flat_map(RawJson::members) {
        let (key, asked) = (entry.key().into_owned(), entry.value());
        let method = asked.get("method").and_then(|it| it.to_text()).unwrap_or_default();
        let ask = gantry_gateway::InputRequest {
            method: Method::parse(&method),
            params: asked.get("params"),
        };
        let (answer, answered) = oneshot::channel();
        prompt
            .answer(gantry_gateway::PendingInputRequest { key: key.clone(), request: ask, answer })
            .await;
        let response = match answered.await {
            Ok(Ok(response)) => response,
            _ if method == Method::Elicit.as_str() => {
                render::say("the tool asks for input, which this command cannot give");
                RawJson::from_static(r#"{"action":"cancel"}"#)
            }
            Ok(Err(InputRequestError::Unsupported { required })) => {
                let text = format!("the tool asks for {method}, which this command cannot answer");
                return Err(CallError::new(ErrorKind::MissingCapability { required }, text));
            }
            Ok(Err(error)) => return Err(CallError::new(ErrorKind::ToolFailed, error.to_string())),
            Err(_) => return Err(CallError::new(ErrorKind::Cancelled, "nobody answered")),
        };
        answers = answers.raw(&key, &response);
    }
    let entries = required.entries.is_some().then(|| answers.finish());
    Ok(InputRequired { entries, state: required.state })
}

/// An error of the gateway as the pipeline of this process would have it.
fn call_error(error: ClientError) -> CallError {
    let RpcError { code, message, data } = match error {
        ClientError::Answered(error) => error,
        ClientError::Timeout(_) => return CallError::new(ErrorKind::Timeout, error.to_string()),
        other => return CallError::new(ErrorKind::Unavailable, other.to_string()),
    };
    let kind = match code {
        code::INVALID_PARAMS => ErrorKind::InvalidParams,
        code::METHOD_NOT_FOUND => ErrorKind::MethodNotFound,
        code::REFUSED => ErrorKind::Refused,
        code::LIMIT_EXCEEDED => ErrorKind::LimitExceeded { retry_after: None },
        code::TIMEOUT => ErrorKind::Timeout,
        code::CANCELLED => ErrorKind::Cancelled,
        code::SHUTTING_DOWN => ErrorKind::Unavailable,
        code => ErrorKind::Handler { code },
    };
    CallError { data, ..CallError::new(kind, message) }
}

/// Shows what is said while the call runs.
struct PublishHook(Mutex<ProgressLine>);

impl PublishHook {
    fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl RequestHandler for PublishHook {
    fn progress(&self, params: RawJson) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).show(&params);
    }

    fn log(&self, level: Level, params: RawJson) -> BoxFuture<'_, ()> {
        self.clear();
        log(level, &params);
        Box::pin(std::future::ready(()))
    }

    fn ask(&self, question: InputRequest) -> BoxFuture<'_, Result<RawJson, InputRefusal>> {
        // The gateway is spoken to without handshake, where questions come as a reply.
        let text = format!("nobody is there to answer {}", question.method);
        Box::pin(std::future::ready(Err(InputRefusal::Unsupported(text))))
    }
}
