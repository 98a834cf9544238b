//! HTTP+SSE of 2024-11-05: one long GET that carries every message to the client, and POSTs that
//! carry the client's. The GET is the session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use gantry_transport::sse::Event;
use http::StatusCode;
use tokio::sync::mpsc;

use super::answer::Answer;
use super::body::Given;
use super::events::{self, Source};
use super::{Head, HttpState, answer, session};
use crate::authenticator::Identity;
use crate::duplex;
use crate::memory::Queue;
use crate::seal::random_name;
use crate::server_state::ServerState;
use crate::settings::Eras;

/// Where the POSTs of each open connection go.
#[derive(Debug, Default)]
pub(crate) struct Mailboxes(Mutex<HashMap<String, Mailbox>>);

/// Where the POSTs of one connection go.
#[derive(Debug, Clone)]
struct Mailbox {
    /// Who opened it.
    principal: Arc<str>,
    messages: mpsc::Sender<Bytes>,
}

/// Messages that may wait on either side.
const WAITING: usize = 64;

/// Opens a connection.
pub(crate) fn open(http_state: &Arc<HttpState>, identity: &Identity) -> Answer {
    if http_state.server_state.settings.eras == Eras::Modern {
        return answer::text(StatusCode::NOT_FOUND, "this server has no HTTP+SSE; use /mcp\n");
    }
    let permit = match http_state.server_state.open_stream(&identity.principal) {
        Ok(permit) => permit,
        Err(exceeded) => return session::too_many_streams(exceeded),
    };
    let name = random_name();
    let (to_server, inbound) = mpsc::channel(WAITING);
    let (out, messages) = mpsc::channel(WAITING);
    let mailbox = Mailbox { principal: identity.principal.clone(), messages: to_server };
    http_state.mailboxes.lock().insert(name.clone(), mailbox);
    let greeting = Event {
        name: Some("endpoint".to_owned()),
        data: Bytes::from(format!("/message?session={name}")),
        ..Event::default()
    };
    let (serving, client_identity) = (http_state.clone(), identity.clone());
    http_state.spawn(async move {
        duplex::serve(serving.server_state.clone(), &client_identity, Queue(inbound), out).await;
        serving.mailboxes.lock().remove(&name);
    });
    let source = Outgoing { greeting: Some(greeting.encode()), messages };
    answer::events(events::stream(&http_state.server_state, identity, source, permit))
}

/// Takes one message of a connection.
pub(crate) async fn post(
    http_state: &Arc<HttpState>,
    identity: &Identity,
    head: &Head,
    body: Given,
) -> Answer {
    let name = head.query().split('&').find_map(|pair| pair.strip_prefix("session="));
    let mailbox = name.and_then(|name| http_state.mailboxes.lock().get(name).cloned());
    // Another's is as unknown as one that never was.
    let Some(mailbox) = mailbox.filter(|it| it.principal == identity.principal) else {
        let text = "no such session; open one with GET /sse\n";
        return answer::text(StatusCode::NOT_FOUND, text);
    };
    let text = match body {
        Ok(text) => text,
        Err(unread) => return answer::text(unread.status, format!("{}\n", unread.reason)),
    };
    match mailbox.messages.send(text).await {
        Ok(()) => answer::accepted(),
        Err(_) => answer::text(StatusCode::NOT_FOUND, "this session has just ended\n"),
    }
}

impl Mailboxes {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Mailbox>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What goes to the client.
struct Outgoing {
    greeting: Option<Bytes>,
    messages: mpsc::Receiver<Bytes>,
}

impl Source for Outgoing {
    async fn next(&mut self, _: &ServerState) -> Option<Bytes> {
        if let Some(greeting) = self.greeting.take() {
            return Some(greeting);
        }
        let data = self.messages.recv().await?;
        let name = Some("message".to_owned());
        Some(Event { name, data, ..Event::default() }.encode())
    }
}
