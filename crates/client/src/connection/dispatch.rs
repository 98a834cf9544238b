//! Decodes messages of the server and dispatches them: responses to their pending requests, server
//! requests to the call that they belong to, notifications to a call or to the events. One reader
//! does this and never waits, so that a call whose client is slow holds up no other; what finds no
//! room in a mailbox is dropped, except responses.

use super::server_requests::attribute;
use std::sync::Arc;

use bytes::Bytes;
use gantry_process::SKIPPED;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::jsonrpc::{self, Batch, Incoming, Malformed, Message, Notification, Request};
use gantry_protocol::meta::key;
use gantry_protocol::{Id, JsonLimits, Level, Method, RawJson, Revision, RpcError, code, compat};
use gantry_transport::{Offload, offload};

use super::connection_inner::ConnectionInner;
use super::pending_requests::{Inbound, PendingRequest, ServerRequest};
use crate::event::{ChangedList, Event};

/// Bytes of an invalid message that are logged.
const SHOWN: usize = 200;

/// A message that answers no request counts as one more for each so many bytes.
const CHARGED: usize = 4096;

/// Dispatches a decoded text. `own` is the call whose response stream it came on, if any.
pub(super) fn dispatch(inner: &ConnectionInner, said: Decoded, own: Option<&Arc<PendingRequest>>) {
    let size = said.text.len();
    let unsolicited = dispatch_content(inner, said, own);
    if unsolicited > 0 {
        inner.flood.charge(unsolicited + size / CHARGED);
    }
}

/// The same; returns how many messages answered no request.
fn dispatch_content(
    inner: &ConnectionInner,
    Decoded { text, content }: Decoded,
    own: Option<&Arc<PendingRequest>>,
) -> usize {
    match content {
        Content::Single(message) => usize::from(!dispatch_message(inner, message, own)),
        Content::Batch(messages) => dispatch_batch(inner, messages, &text, own),
        Content::Skipped(skipped) => {
            log_skipped(inner, &skipped.malformed.to_string(), &text);
            fail_response(inner, &skipped);
            1
        }
        Content::Refused(reason) => {
            log_skipped(inner, &reason, &text);
            1
        }
    }
}

/// Dispatches the messages of a batch. Invalid ones are logged once for all.
fn dispatch_batch(
    inner: &ConnectionInner,
    messages: Vec<Result<Message, Skipped>>,
    text: &Bytes,
    own: Option<&Arc<PendingRequest>>,
) -> usize {
    let count = messages.len();
    let (mut unsolicited, mut skipped, mut first) = (0, 0usize, None);
    for message in messages {
        match message {
            Ok(message) => unsolicited += usize::from(!dispatch_message(inner, message, own)),
            Err(element) => {
                fail_response(inner, &element);
                skipped += 1;
                first.get_or_insert(element.malformed);
            }
        }
    }
    if let Some(first) = first {
        log_skipped(inner, &format!("{skipped} of {count} in a batch, the first: {first}"), text);
    }
    unsolicited + skipped
}

fn log_skipped(inner: &ConnectionInner, reason: &str, text: &Bytes) {
    let shown = String::from_utf8_lossy(&text[..text.len().min(SHOWN)]);
    inner.note(&format!("skipped an invalid message ({reason}): {shown}"));
}

/// Fails the pending request that an invalid message was the response to: no better one will come.
fn fail_response(inner: &ConnectionInner, Skipped { malformed, value }: &Skipped) {
    let Some(id) = malformed.id().and_then(Id::as_number) else { return };
    if let Some(raw) = value
        && raw.is_object()
        && raw.get("method").is_none()
        && let Some(call) = inner.pending_requests.remove(id)
    {
        let reason = raw.get(SKIPPED).and_then(|reason| reason.to_text());
        let none = || format!("the server's response is invalid: {malformed}");
        call.mailbox.push(Inbound::Malformed(reason.unwrap_or_else(none)));
    }
}

/// Dispatches one message; returns whether it answered a request.
fn dispatch_message(
    inner: &ConnectionInner,
    message: Message,
    own: Option<&Arc<PendingRequest>>,
) -> bool {
    match message {
        Message::Response(response) => {
            // An error without an id belongs to the request on whose response stream it came.
            let call = match &response.id {
                Some(id) => id.as_number(),
                None => own.map(|own| own.id),
            };
            match call.and_then(|id| inner.pending_requests.remove(id)) {
                Some(call) => {
                    call.mailbox.push(Inbound::Answer(response.outcome));
                    return true;
                }
                None => tracing::debug!(id = ?response.id, "a response to no request of ours"),
            }
        }
        Message::Notification(notification) => dispatch_notification(inner, &notification, own),
        Message::Request(request) => dispatch_request(inner, request, own),
    }
    false
}

fn dispatch_notification(
    inner: &ConnectionInner,
    notification: &Notification,
    own: Option<&Arc<PendingRequest>>,
) {
    let params = notification.params.clone().unwrap_or(RawJson::EMPTY_OBJECT);
    let method = &notification.method;
    let lifted = || match inner.revision() {
        Some(revision) => compat::lift_notification(revision, method, &params),
        None => params.clone(),
    };
    match method {
        Method::Progress => dispatch_progress(inner, &lifted()),
        Method::LogMessage => dispatch_log(inner, lifted(), own),
        Method::Cancelled => dispatch_cancelled(inner, &params, own),
        Method::ToolsListChanged => inner.event(Event::ListChanged(ChangedList::Tools)),
        Method::PromptsListChanged => inner.event(Event::ListChanged(ChangedList::Prompts)),
        Method::ResourcesListChanged => inner.event(Event::ListChanged(ChangedList::Resources)),
        Method::ResourceUpdated => {
            if let Some(uri) = params.get("uri").and_then(|uri| uri.to_text()) {
                let params = without_subscription(&lifted());
                inner.event(Event::ResourceUpdated { uri, params });
            }
        }
        Method::SubscriptionsAcknowledged => {
            let id = params.at(&[key::META, key::SUBSCRIPTION_ID]).and_then(Id::new);
            let call = id.and_then(|id| inner.pending_requests.find(id.as_number()?));
            let call = call.as_ref().or(own);
            if let Some(call) = call.filter(|call| call.info.method == Method::Listen) {
                call.mailbox.try_push(Inbound::Acknowledged);
            }
        }
        _ => tracing::debug!(%method, "a notification for nobody"),
    }
}

fn dispatch_progress(inner: &ConnectionInner, params: &RawJson) {
    let token = params.get(key::PROGRESS_TOKEN).and_then(Id::new);
    let call = token.and_then(|token| inner.pending_requests.find(token.as_number()?));
    match call {
        Some(call) => {
            let params = params.edit().remove(key::PROGRESS_TOKEN).apply();
            call.mailbox.try_push(Inbound::Progress(params));
        }
        None => tracing::debug!("progress of no request of ours"),
    }
}

fn dispatch_log(inner: &ConnectionInner, params: RawJson, own: Option<&Arc<PendingRequest>>) {
    let level = params.get("level").and_then(|level| level.read()).unwrap_or(Level::Info);
    match own {
        Some(call) if call.info.log_level.is_some_and(|least| level >= least) => {
            call.mailbox.try_push(Inbound::Log(level, params));
        }
        Some(_) => {}
        None => match inner.pending_requests.only_logged(level) {
            Some(call) => drop(call.mailbox.try_push(Inbound::Log(level, params))),
            None => inner.event(Event::Log(level, params)),
        },
    }
}

fn dispatch_cancelled(
    inner: &ConnectionInner,
    params: &RawJson,
    own: Option<&Arc<PendingRequest>>,
) {
    let Some(id) = params.get("requestId").and_then(Id::new) else { return };
    let listening = id.as_number().and_then(|id| inner.pending_requests.find(id));
    let listening = listening.filter(|call| call.info.method == Method::Listen);
    for call in inner.pending_requests.candidates().iter().chain(own).chain(&listening) {
        call.mailbox.try_push(Inbound::Cancelled(id.clone()));
    }
}

fn dispatch_request(inner: &ConnectionInner, request: Request, own: Option<&Arc<PendingRequest>>) {
    let Request { id, method, params } = request;
    if inner.revision().is_some_and(Revision::is_stateless) {
        tracing::debug!(%method, "a request from a server of a revision that has none");
        return;
    }
    match method {
        Method::Ping => {
            inner.tell(jsonrpc::result(&id, &RawJson::EMPTY_OBJECT).into_bytes());
        }
        Method::Elicit | Method::CreateMessage | Method::RootsList => {
            dispatch_input_request(inner, ServerRequest { id, method, params }, own);
        }
        _ => {
            let error = RpcError::method_not_found(method.as_str());
            inner.tell(jsonrpc::error(&id, &error).into_bytes());
        }
    }
}

fn dispatch_input_request(
    inner: &ConnectionInner,
    asked: ServerRequest,
    own: Option<&Arc<PendingRequest>>,
) {
    let found = match own {
        Some(call) => Ok(call.clone()),
        None => attribute(inner, &asked),
    };
    match found {
        Ok(call) => {
            let (id, method) = (asked.id.clone(), asked.method.clone());
            if !call.mailbox.try_push(Inbound::InputRequest(asked)) {
                let error = RpcError::new(
                    code::INTERNAL_ERROR,
                    format!("too many messages are queued for the call; `{method}` is refused"),
                );
                inner.tell(jsonrpc::error(&id, &error).into_bytes());
            }
        }
        Err(reply) => inner.tell(reply),
    }
}

/// Removes the subscription id: it names a stream of this hop.
fn without_subscription(params: &RawJson) -> RawJson {
    let Some(meta) = params.get(key::META) else { return params.clone() };
    let kept = meta.edit().remove(key::SUBSCRIPTION_ID).apply();
    match kept.members().next() {
        Some(_) => params.edit().set(key::META, kept).apply(),
        None => params.edit().remove(key::META).apply(),
    }
}

/// The notification that cancels a request.
pub(super) fn cancelled(id: u64, reason: &str) -> Bytes {
    let params = ObjectWriter::new().value("requestId", &id).value("reason", reason).finish();
    jsonrpc::notification(Method::Cancelled.as_str(), Some(&params))
}

/// A decoded text.
pub(super) struct Decoded {
    pub(super) text: Bytes,
    pub(super) content: Content,
}

pub(super) enum Content {
    Single(Message),
    /// The messages of a batch; each may be invalid.
    Batch(Vec<Result<Message, Skipped>>),
    /// An invalid message.
    Skipped(Skipped),
    /// A batch that is not accepted, and the reason.
    Refused(String),
}

/// An invalid message.
pub(super) struct Skipped {
    pub(super) malformed: Malformed,
    /// Its value, if it may be meant as a response.
    pub(super) value: Option<RawJson>,
}

/// Decodes a text; a large one on another thread. A batch is read only where the revision has
/// batches, and no further than its limit.
pub(super) fn decode(inner: &ConnectionInner, text: Bytes) -> Offload<Decoded> {
    let (limits, batch, revision) =
        (inner.settings.message, inner.settings.batch, inner.revision());
    offload(text.len(), move || {
        let content = content(&text, limits, |messages| elements(messages, batch, revision));
        Decoded { text, content }
    })
}

fn content(text: &Bytes, limits: JsonLimits, elements: impl FnOnce(&Batch) -> Content) -> Content {
    match jsonrpc::decode(text.clone(), limits) {
        Ok(Incoming::Single(message)) => Content::Single(message),
        Ok(Incoming::Batch(batch)) => elements(&batch),
        Err(malformed) => {
            // Parsed a second time, but only where a response may be meant.
            let value = malformed.id().and_then(|_| RawJson::parse(text.clone(), limits).ok());
            Content::Skipped(Skipped { malformed, value })
        }
    }
}

/// The messages of a batch, in a revision that has batches.
fn elements(batch: &Batch, most: usize, revision: Option<Revision>) -> Content {
    if !revision.is_some_and(Revision::has_batches) {
        return Content::Refused("this revision has no batches".to_owned());
    }
    match batch.elements(most) {
        Ok(elements) => Content::Batch(elements.into_iter().map(element).collect()),
        Err(error) => Content::Refused(error.to_string()),
    }
}

fn element(value: RawJson) -> Result<Message, Skipped> {
    Message::read(&value).map_err(|malformed| Skipped { malformed, value: Some(value) })
}
