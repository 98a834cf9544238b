//! Calls of clients with a handshake: notices and questions go out while the call runs.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gantry_gateway::{CallError, CallNotification};
use gantry_gateway::{
    CallEvent, CallStream, ErrorDetail, ErrorKind, InputRequestError, Outcome, PendingInputRequest,
    Reply,
};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::key;
use gantry_protocol::{Id, Method, RawJson, compat, jsonrpc};
use gantry_transport::{LARGE, offload};

use super::errors;
use super::replay::StreamLog;
use super::request_context::RequestContext;
use super::session::Session;
use crate::outgoing::Outgoing;
use crate::seal::random_name;

/// Where what a call says goes.
#[derive(Debug, Clone)]
pub(crate) enum Wire {
    /// Straight to the client.
    Channel(Outgoing),
    /// Into a stream that the client may leave and take up again.
    Log(Arc<StreamLog>),
    /// Nowhere: the client takes nothing but the answer.
    Nowhere,
}

impl Wire {
    pub(crate) async fn send(&self, message: Bytes) -> bool {
        match self {
            Self::Channel(outgoing) => outgoing.send(message).await,
            Self::Log(log) => log.push(message).await,
            Self::Nowhere => false,
        }
    }

    fn hang_up(&self, session: &Session, retry: Duration) {
        if let Self::Log(log) = self
            && session.revision.has_priming_events()
        {
            log.hang_up(retry);
        }
    }
}

/// Runs a call to its end, saying what it says. The first step may have been taken already.
pub(crate) async fn drive(
    session: &Session,
    request_context: &RequestContext,
    running: &mut CallStream,
    first: Option<CallEvent>,
    wire: &Wire,
) -> jsonrpc::Reply {
    let related = request_context.related_task();
    let mut asked = Asked { session, related, numbers: Vec::new() };
    let mut next = first;
    loop {
        let step = match next.take() {
            Some(step) => step,
            None => running.next_event().await,
        };
        match step {
            CallEvent::Notification(CallNotification::HangUp { retry }) => {
                wire.hang_up(session, retry)
            }
            CallEvent::Notification(notification) => {
                if let Some(message) = request_context.notification(session.revision, &notification)
                {
                    wire.send(message).await;
                }
            }
            CallEvent::InputRequests(input_requests) => {
                for input_request in input_requests {
                    asked.ask(input_request, wire).await;
                }
            }
            CallEvent::Done(outcome) => {
                asked.withdraw(wire).await;
                return finish(session, request_context, outcome).await;
            }
        }
    }
}

/// The questions of one call, forgotten when the call is.
struct Asked<'a> {
    session: &'a Session,
    /// The task that asks, when it is one.
    related: Option<String>,
    numbers: Vec<u64>,
}

impl Asked<'_> {
    async fn ask(&mut self, input_request: PendingInputRequest, wire: &Wire) {
        let named = input_request.name().map(str::to_owned);
        let PendingInputRequest { request: ask, answer, .. } = input_request;
        let revision = self.session.revision;
        // Only a question that sends the user to a URL needs a name of its own.
        let name = random_name();
        let params = compat::lower_input_request(revision, &ask.method, ask.params.as_ref(), &name);
        let params = match params {
            Ok(params) => params,
            Err(error) => {
                let _ = answer.send(Err(InputRequestError::Inexpressible(error.to_string())));
                return;
            }
        };
        let params = match &self.related {
            Some(task) => {
                let params = params.unwrap_or(RawJson::EMPTY_OBJECT);
                Some(compat::with_related_task(&params, task))
            }
            None => params,
        };
        let params = match named {
            Some(name) => Some(with_name(&params.unwrap_or(RawJson::EMPTY_OBJECT), &name)),
            None => params,
        };
        let number = self.session.ask(ask.method.clone(), answer);
        self.numbers.push(number);
        let id = Id::number(number);
        let request = jsonrpc::request(&id, ask.method.as_str(), params.as_ref());
        if !wire.send(request).await {
            self.session.forget(&[number]);
        }
    }

    /// Tells the client that what is still open need not be answered.
    async fn withdraw(&mut self, wire: &Wire) {
        for number in self.session.forget(&std::mem::take(&mut self.numbers)) {
            let params = ObjectWriter::new()
                .value("requestId", &number)
                .value("reason", "the call that asked is over")
                .finish();
            wire.send(jsonrpc::notification(Method::Cancelled.as_str(), Some(&params))).await;
        }
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.session.forget(&self.numbers);
    }
}

/// The params of a question that also tell its name, for who must show several at once.
fn with_name(params: &RawJson, name: &str) -> RawJson {
    let meta = params.get(key::META).filter(RawJson::is_object).unwrap_or(RawJson::EMPTY_OBJECT);
    let meta = meta.edit().set(key::QUESTION, RawJson::string(name)).apply();
    params.edit().set(key::META, meta).apply()
}

/// The answer to a call, in the client's revision.
pub(crate) async fn finish(
    session: &Session,
    request_context: &RequestContext,
    outcome: Outcome,
) -> jsonrpc::Reply {
    let revision = session.revision;
    let result = match outcome {
        Ok(Reply::Result(result)) => match result.bytes().len() {
            ..=LARGE => request_context.lower(revision, result).into_raw(),
            large => {
                let request_context = request_context.clone();
                offload(large, move || request_context.lower(revision, result).into_raw()).await
            }
        },
        Ok(Reply::Page(page)) => page.variant(revision as usize, |result| {
            request_context.lower(revision, result.clone().into()).into_raw()
        }),
        Ok(Reply::InputRequired(_)) => {
            let text = "the provider asked for input in a way this client cannot take";
            return fail(session, request_context, CallError::new(ErrorKind::Internal, text));
        }
        Err(error) => return fail(session, request_context, error),
    };
    jsonrpc::result(&request_context.id, &result)
}

fn fail(session: &Session, request_context: &RequestContext, error: CallError) -> jsonrpc::Reply {
    // These revisions have no code for this, and a model can make something of the text.
    if request_context.method == Method::ToolsCall
        && matches!(error.kind, ErrorKind::MissingCapability { .. })
    {
        return jsonrpc::result(&request_context.id, &ErrorDetail::from(&error).to_result());
    }
    jsonrpc::error(&request_context.id, &errors::to_rpc(session.revision, error))
}
