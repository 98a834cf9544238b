//! Sorting what a server says: answers to their calls, questions to those who can answer them, and
//! the rest to whom it concerns. Nothing here waits.

use std::sync::Arc;

use bytes::Bytes;
use gantry_process::SKIPPED;
use gantry_protocol::json::ObjectWriter;
use gantry_protocol::jsonrpc::{self, Message, Notification, Request};
use gantry_protocol::meta::key;
use gantry_protocol::{Id, Level, Method, RawJson, Revision, RpcError, code, compat};

use super::connection_inner::ConnectionInner;
use super::decode::{Content, Decoded, Skipped};
use super::mailbox::{Inbound, ServerRequest};
use super::pending_requests::Call;
use crate::event::{ChangedList, Event};

/// Bytes shown of a text that is no message.
const SHOWN: usize = 200;

/// Each so many bytes of what answers no request count as one message more.
const CHARGED: usize = 4096;

impl ConnectionInner {
    /// Sorts what a text says. `own` is the call on whose stream it came, if it came on one.
    pub(super) fn hear(&self, said: Decoded, own: Option<&Arc<Call>>) {
        let size = said.text.len();
        let unsolicited = self.take(said, own);
        if unsolicited > 0 {
            self.flood.charge(unsolicited + size / CHARGED);
        }
    }

    /// The same, and gives how many messages answered no request.
    fn take(&self, Decoded { text, content }: Decoded, own: Option<&Arc<Call>>) -> usize {
        match content {
            Content::Single(message) => usize::from(!self.sort(message, own)),
            Content::Batch(messages) => self.take_batch(messages, &text, own),
            Content::Skipped(skipped) => {
                self.note_skipped(&skipped.malformed.to_string(), &text);
                self.give_up(&skipped);
                1
            }
            Content::Refused(reason) => {
                self.note_skipped(&reason, &text);
                1
            }
        }
    }

    /// Sorts the messages of an array. What is wrong with them is noted once for all.
    fn take_batch(
        &self,
        messages: Vec<Result<Message, Skipped>>,
        text: &Bytes,
        own: Option<&Arc<Call>>,
    ) -> usize {
        let count = messages.len();
        let (mut unsolicited, mut skipped, mut first) = (0, 0usize, None);
        for message in messages {
            match message {
                Ok(message) => unsolicited += usize::from(!self.sort(message, own)),
                Err(element) => {
                    self.give_up(&element);
                    skipped += 1;
                    first.get_or_insert(element.malformed);
                }
            }
        }
        if let Some(first) = first {
            self.note_skipped(
                &format!("{skipped} of {count} in a batch, the first: {first}"),
                text,
            );
        }
        unsolicited + skipped
    }

    fn note_skipped(&self, reason: &str, text: &Bytes) {
        let shown = String::from_utf8_lossy(&text[..text.len().min(SHOWN)]);
        self.note(&format!("skipped what is no message ({reason}): {shown}"));
    }

    /// When what is no message was meant as an answer, nobody need wait for a better one.
    fn give_up(&self, Skipped { malformed, value }: &Skipped) {
        let Some(id) = malformed.id().and_then(Id::as_number) else { return };
        if let Some(raw) = value
            && raw.is_object()
            && raw.get("method").is_none()
            && let Some(call) = self.pending_requests.remove(id)
        {
            let reason = raw.get(SKIPPED).and_then(|reason| reason.to_text());
            let none = || format!("the server's answer is none: {malformed}");
            call.mailbox.put(Inbound::Malformed(reason.unwrap_or_else(none)));
        }
    }

    /// Sorts one message, and says whether it answered a request.
    fn sort(&self, message: Message, own: Option<&Arc<Call>>) -> bool {
        match message {
            Message::Response(response) => {
                // An error without an id is about the request on whose response it came.
                let call = match &response.id {
                    Some(id) => id.as_number(),
                    None => own.map(|own| own.id),
                };
                match call.and_then(|id| self.pending_requests.remove(id)) {
                    Some(call) => {
                        call.mailbox.put(Inbound::Answer(response.outcome));
                        return true;
                    }
                    None => tracing::debug!(id = ?response.id, "an answer to no request of ours"),
                }
            }
            Message::Notification(notification) => self.notified(&notification, own),
            Message::Request(request) => self.asked(request, own),
        }
        false
    }

    fn notified(&self, notification: &Notification, own: Option<&Arc<Call>>) {
        let params = notification.params.clone().unwrap_or(RawJson::EMPTY_OBJECT);
        let method = &notification.method;
        let lifted = || match self.revision() {
            Some(revision) => compat::lift_notification(revision, method, &params),
            None => params.clone(),
        };
        match method {
            Method::Progress => self.progressed(&lifted()),
            Method::LogMessage => self.logged(lifted(), own),
            Method::Cancelled => self.withdrawn(&params, own),
            Method::ToolsListChanged => self.event(Event::ListChanged(ChangedList::Tools)),
            Method::PromptsListChanged => self.event(Event::ListChanged(ChangedList::Prompts)),
            Method::ResourcesListChanged => self.event(Event::ListChanged(ChangedList::Resources)),
            Method::ResourceUpdated => {
                if let Some(uri) = params.get("uri").and_then(|uri| uri.to_text()) {
                    let params = without_subscription(&lifted());
                    self.event(Event::ResourceUpdated { uri, params });
                }
            }
            Method::SubscriptionsAcknowledged => {
                let id = params.at(&[key::META, key::SUBSCRIPTION_ID]).and_then(Id::new);
                let call = id.and_then(|id| self.pending_requests.find(id.as_number()?));
                let call = call.as_ref().or(own);
                if let Some(call) = call.filter(|call| call.about.method == Method::Listen) {
                    call.mailbox.offer(Inbound::Acknowledged);
                }
            }
            _ => tracing::debug!(%method, "a notification that concerns nobody"),
        }
    }

    fn progressed(&self, params: &RawJson) {
        let token = params.get(key::PROGRESS_TOKEN).and_then(Id::new);
        let call = token.and_then(|token| self.pending_requests.find(token.as_number()?));
        match call {
            Some(call) => {
                let params = params.edit().remove(key::PROGRESS_TOKEN).apply();
                call.mailbox.offer(Inbound::Progress(params));
            }
            None => tracing::debug!("progress of no request of ours"),
        }
    }

    fn logged(&self, params: RawJson, own: Option<&Arc<Call>>) {
        let level = params.get("level").and_then(|level| level.read()).unwrap_or(Level::Info);
        match own {
            Some(call) if call.about.log_level.is_some_and(|least| level >= least) => {
                call.mailbox.offer(Inbound::Log(level, params));
            }
            Some(_) => {}
            None => match self.pending_requests.only_logged(level) {
                Some(call) => drop(call.mailbox.offer(Inbound::Log(level, params))),
                None => self.event(Event::Log(level, params)),
            },
        }
    }

    fn withdrawn(&self, params: &RawJson, own: Option<&Arc<Call>>) {
        let Some(id) = params.get("requestId").and_then(Id::new) else { return };
        let listening = id.as_number().and_then(|id| self.pending_requests.find(id));
        let listening = listening.filter(|call| call.about.method == Method::Listen);
        for call in self.pending_requests.candidates().iter().chain(own).chain(&listening) {
            call.mailbox.offer(Inbound::Withdrawn(id.clone()));
        }
    }

    fn asked(&self, request: Request, own: Option<&Arc<Call>>) {
        let Request { id, method, params } = request;
        if self.revision().is_some_and(Revision::is_stateless) {
            tracing::debug!(%method, "a request from a server of a revision that has none");
            return;
        }
        match method {
            Method::Ping => {
                self.tell(jsonrpc::result(&id, &RawJson::EMPTY_OBJECT).into_bytes());
            }
            Method::Elicit | Method::CreateMessage | Method::RootsList => {
                self.input_request(ServerRequest { id, method, params }, own);
            }
            _ => {
                let error = RpcError::method_not_found(method.as_str());
                self.tell(jsonrpc::error(&id, &error).into_bytes());
            }
        }
    }

    fn input_request(&self, asked: ServerRequest, own: Option<&Arc<Call>>) {
        let found = match own {
            Some(call) => Ok(call.clone()),
            None => self.attribute(&asked),
        };
        match found {
            Ok(call) => {
                let (id, method) = (asked.id.clone(), asked.method.clone());
                if !call.mailbox.offer(Inbound::InputRequest(asked)) {
                    let error = RpcError::new(
                        code::INTERNAL_ERROR,
                        format!("too much is waiting to be heard; `{method}` is refused"),
                    );
                    self.tell(jsonrpc::error(&id, &error).into_bytes());
                }
            }
            Err(reply) => self.tell(reply),
        }
    }
}

/// The key names a stream of ours, which means nothing to others.
fn without_subscription(params: &RawJson) -> RawJson {
    let Some(meta) = params.get(key::META) else { return params.clone() };
    let kept = meta.edit().remove(key::SUBSCRIPTION_ID).apply();
    match kept.members().next() {
        Some(_) => params.edit().set(key::META, kept).apply(),
        None => params.edit().remove(key::META).apply(),
    }
}

/// The notification that nobody waits for a request any more.
pub(super) fn cancelled(id: u64, reason: &str) -> Bytes {
    let params = ObjectWriter::new().value("requestId", &id).value("reason", reason).finish();
    jsonrpc::notification(Method::Cancelled.as_str(), Some(&params))
}
