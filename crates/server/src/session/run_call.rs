//! Runs a call of a legacy session: notifications and requests to the client (elicitation,
//! sampling, roots) go out while the call runs; its result is lowered to the client's revision.

use gantry_gateway::{
    CallError, CallEvent, CallNotification, CallStream, ErrorDetail, ErrorKind, InputRequestError,
    Outcome, PendingInputRequest, Reply,
};
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::meta::key;
use gantry_protocol::{Id, Method, RawJson, compat, jsonrpc};
use gantry_transport::{LARGE, offload};

use crate::error_codes;
use crate::message_sink::MessageSink;
use crate::request::RequestContext;
use crate::seal::random_name;
use crate::session::Session;

/// Runs a call to its end and sends its messages to the sink. `first` is an event that was taken
/// from the stream already.
pub(crate) async fn run_call(
    session: &Session,
    request_context: &RequestContext,
    stream: &mut CallStream,
    first: Option<CallEvent>,
    sink: &MessageSink,
) -> jsonrpc::Reply {
    let related_task = request_context.related_task();
    let mut open = OpenRequests { session, related_task, numbers: Vec::new() };
    let mut next = first;
    loop {
        let event = match next.take() {
            Some(event) => event,
            None => stream.next_event().await,
        };
        match event {
            CallEvent::Notification(CallNotification::HangUp { retry }) => {
                sink.disconnect(session, retry);
            }
            CallEvent::Notification(notification) => {
                if let Some(message) = request_context.notification(session.revision, &notification)
                {
                    sink.send(message).await;
                }
            }
            CallEvent::InputRequests(input_requests) => {
                for input_request in input_requests {
                    open.send(input_request, sink).await;
                }
            }
            CallEvent::Done(outcome) => {
                open.cancel(sink).await;
                return finish(session, request_context, outcome).await;
            }
        }
    }
}

/// The requests of one call to the client that have no response yet. They are withdrawn when the
/// call ends.
struct OpenRequests<'a> {
    session: &'a Session,
    /// The task that sends them, if the call is one.
    related_task: Option<String>,
    numbers: Vec<u64>,
}

impl OpenRequests<'_> {
    async fn send(&mut self, input_request: PendingInputRequest, sink: &MessageSink) {
        let name = input_request.name().map(str::to_owned);
        let PendingInputRequest { request, answer, .. } = input_request;
        let revision = self.session.revision;
        // Only an elicitation by URL has an id of its own.
        let elicitation_id = random_name();
        let params = compat::lower_input_request(
            revision,
            &request.method,
            request.params.as_ref(),
            &elicitation_id,
        );
        let params = match params {
            Ok(params) => params,
            Err(error) => {
                let _ = answer.send(Err(InputRequestError::Inexpressible(error.to_string())));
                return;
            }
        };
        let params = match &self.related_task {
            Some(task) => {
                let params = params.unwrap_or(RawJson::EMPTY_OBJECT);
                Some(compat::with_related_task(&params, task))
            }
            None => params,
        };
        let params = match name {
            Some(name) => Some(with_name(&params.unwrap_or(RawJson::EMPTY_OBJECT), &name)),
            None => params,
        };
        let number = self.session.register_input_request(request.method.clone(), answer);
        self.numbers.push(number);
        let id = Id::number(number);
        let message = jsonrpc::request(&id, request.method.as_str(), params.as_ref());
        if !sink.send(message).await {
            self.session.withdraw(&[number]);
        }
    }

    /// Tells the client that it need not respond any more.
    async fn cancel(&mut self, sink: &MessageSink) {
        for number in self.session.withdraw(&std::mem::take(&mut self.numbers)) {
            let params = ObjectWriter::new()
                .value("requestId", &number)
                .value("reason", "the call that asked is over")
                .finish();
            sink.send(jsonrpc::notification(Method::Cancelled.as_str(), Some(&params))).await;
        }
    }
}

impl Drop for OpenRequests<'_> {
    fn drop(&mut self) {
        self.session.withdraw(&self.numbers);
    }
}

/// Params with the name of the input request in `_meta`, for a client that shows several at once.
fn with_name(params: &RawJson, name: &str) -> RawJson {
    let meta = params.get(key::META).filter(RawJson::is_object).unwrap_or(RawJson::EMPTY_OBJECT);
    let meta = meta.edit().set(key::QUESTION, RawJson::string(name)).apply();
    params.edit().set(key::META, meta).apply()
}

/// The response to a call, in the client's revision.
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
            return error_reply(
                session,
                request_context,
                CallError::new(ErrorKind::Internal, text),
            );
        }
        Err(error) => return error_reply(session, request_context, error),
    };
    jsonrpc::result(&request_context.id, &result)
}

fn error_reply(
    session: &Session,
    request_context: &RequestContext,
    error: CallError,
) -> jsonrpc::Reply {
    // Legacy revisions have no error code for a missing capability, and a model can make something
    // of the text.
    if request_context.method == Method::ToolsCall
        && matches!(error.kind, ErrorKind::MissingCapability { .. })
    {
        return jsonrpc::result(&request_context.id, &ErrorDetail::from(&error).to_result());
    }
    jsonrpc::error(&request_context.id, &error_codes::to_rpc(session.revision, error))
}
