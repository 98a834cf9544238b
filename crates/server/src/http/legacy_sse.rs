//! The HTTP+SSE transport of 2024-11-05: an event stream at `/sse` with every message to the client,
//! and POSTs to `/message` with those of the client. The stream is the session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use gantry_transport::sse::Event;
use http::StatusCode;
use tokio::sync::mpsc;

use crate::authenticator::Identity;
use crate::duplex;
use crate::http::event_stream::EventSource;
use crate::http::request_body::BodyResult;
use crate::http::request_head::RequestHead;
use crate::http::response::HttpResponse;
use crate::http::{HttpState, event_stream, response};
use crate::in_process::InboundQueue;
use crate::seal::random_name;
use crate::server_state::ServerState;
use crate::settings::Eras;

/// The mailboxes of the open connections, by session name.
#[derive(Debug, Default)]
pub(crate) struct Mailboxes(Mutex<HashMap<String, Mailbox>>);

/// Receives the POSTs of one connection.
#[derive(Debug, Clone)]
struct Mailbox {
    /// The principal that opened it.
    principal: Arc<str>,
    messages: mpsc::Sender<Bytes>,
}

/// Messages queued in either direction.
const QUEUE_LENGTH: usize = 64;

/// Opens the event stream.
pub(super) fn open(http_state: &Arc<HttpState>, identity: &Identity) -> HttpResponse {
    if http_state.server_state.settings.eras == Eras::Modern {
        return response::text(StatusCode::NOT_FOUND, "this server has no HTTP+SSE; use /mcp\n");
    }
    let permit = match http_state.server_state.open_stream(&identity.principal) {
        Ok(permit) => permit,
        Err(exceeded) => return response::too_many_streams(None, exceeded),
    };
    let name = random_name();
    let (to_server, inbound) = mpsc::channel(QUEUE_LENGTH);
    let (out, messages) = mpsc::channel(QUEUE_LENGTH);
    let mailbox = Mailbox { principal: identity.principal.clone(), messages: to_server };
    http_state.mailboxes.lock().insert(name.clone(), mailbox);
    let endpoint = Event {
        name: Some("endpoint".to_owned()),
        data: Bytes::from(format!("/message?session={name}")),
        ..Event::default()
    };
    let (own, client) = (http_state.clone(), identity.clone());
    http_state.spawn(async move {
        duplex::serve(own.server_state.clone(), &client, InboundQueue(inbound), out).await;
        own.mailboxes.lock().remove(&name);
    });
    let source = MessageEvents { endpoint: Some(endpoint.encode()), messages };
    response::events(event_stream::body(&http_state.server_state, identity, source, permit))
}

/// Handles one message of a client.
pub(super) async fn post(
    http_state: &Arc<HttpState>,
    identity: &Identity,
    head: &RequestHead,
    body: BodyResult,
) -> HttpResponse {
    let name = head.query().split('&').find_map(|pair| pair.strip_prefix("session="));
    let mailbox = name.and_then(|name| http_state.mailboxes.lock().get(name).cloned());
    // Any other principal gets the same error as for a session that never existed.
    let Some(mailbox) = mailbox.filter(|it| it.principal == identity.principal) else {
        let text = "no such session; open one with GET /sse\n";
        return response::text(StatusCode::NOT_FOUND, text);
    };
    let text = match body {
        Ok(text) => text,
        Err(error) => return response::text(error.status, format!("{}\n", error.reason)),
    };
    match mailbox.messages.send(text).await {
        Ok(()) => response::accepted(),
        Err(_) => response::text(StatusCode::NOT_FOUND, "this session has just ended\n"),
    }
}

impl Mailboxes {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Mailbox>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The events to the client.
struct MessageEvents {
    /// The first event: where to send POSTs.
    endpoint: Option<Bytes>,
    messages: mpsc::Receiver<Bytes>,
}

impl EventSource for MessageEvents {
    async fn next(&mut self, _: &ServerState) -> Option<Bytes> {
        if let Some(endpoint) = self.endpoint.take() {
            return Some(endpoint);
        }
        let data = self.messages.recv().await?;
        let name = Some("message".to_owned());
        Some(Event { name, data, ..Event::default() }.encode())
    }
}
