//! Notifications that belong to no request: `subscriptions/listen` of a modern server, and the
//! general stream of a legacy session over HTTP. Both are reopened with backoff.

use super::dispatch::dispatch;
use super::negotiate::check_era;
use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use gantry_protocol::json::ObjectWriter;
use gantry_protocol::{Id, Method, ParamsHead, RawJson, Revision, code, jsonrpc};
use tokio::select;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::compose;
use super::connection_inner::{ConnectionInner, Transport};
use super::dispatch::cancelled;
use super::pending_requests::Inbound;
use super::pending_requests::{PendingRequest, RequestInfo};
use super::response_stream::ResponseStream;
use crate::error::ClientError;
use crate::event::Event;
use crate::peer::Peer;
use crate::request::Request;

/// How long the old subscription over HTTP stays open after a new one has replaced it.
/// Notifications that the server sent on it before it knew of the new one may still arrive: streams
/// are not ordered among each other.
const OVERLAP: Duration = Duration::from_secs(1);

/// The resources to subscribe to. Each request has a number, which shows when it is in effect.
#[derive(Debug, Clone, Default)]
pub(super) struct WatchRequest {
    pub(super) number: u64,
    pub(super) uris: BTreeSet<String>,
}

/// The last request that was tried, and its error.
#[derive(Debug, Clone, Default)]
pub(super) struct WatchResult {
    pub(super) number: u64,
    pub(super) failed: Option<ClientError>,
}

/// Signals that the server can send notifications.
pub(super) struct ListeningSignal(Option<oneshot::Sender<()>>);

impl ListeningSignal {
    pub(super) fn new(waiting: oneshot::Sender<()>) -> Self {
        Self(Some(waiting))
    }

    /// Sends the signal; whether nobody waited that long, so that changes since then were missed.
    fn tell(&mut self) -> bool {
        self.0.take().is_some_and(|waiting| waiting.send(()).is_err())
    }
}

/// Keeps a subscription open, and opens it again when the set of resources changes or when it is
/// lost.
pub(super) async fn keep_subscribed(
    inner: Arc<ConnectionInner>,
    mut watch_requests: watch::Receiver<WatchRequest>,
    result: watch::Sender<WatchResult>,
    mut awaited: ListeningSignal,
) {
    let Some(negotiated) = inner.negotiated() else { return };
    let (mut failures, mut lost) = (0, false);
    // The old one is read until the new one is acknowledged.
    let mut current: Option<Subscription> = None;
    let mut replaced = JoinSet::new();
    while inner.pending_requests.end_reason().is_none() {
        let watch_request = watch_requests.borrow_and_update().clone();
        let opened = match filter(&negotiated.peer, &watch_request.uris) {
            Some(filter) => {
                let mut opening = pin!(Subscription::open(&inner, &filter));
                loop {
                    select! {
                        opened = &mut opening => break opened.map(Some),
                        () = over(&mut current) => {
                            current = None;
                            lost = true;
                            inner.listen(false);
                        }
                    }
                }
            }
            None => Ok(None),
        };
        let failed = opened.as_ref().err().cloned();
        if let Ok(opened) = &opened {
            inner.listen(opened.is_some());
        }
        let is_late = awaited.tell();
        match opened {
            Ok(opened) => {
                let is_subscribed = opened.is_some();
                let before = std::mem::replace(&mut current, opened);
                while replaced.try_join_next().is_some() {}
                // Over a pipe everything that was sent before has arrived.
                if let Some(mut before) = before.filter(|_| !inner.is_pipe()) {
                    replaced.spawn(async move {
                        let _ = timeout(OVERLAP, before.ended()).await;
                    });
                }
                failures = 0;
                if std::mem::take(&mut lost) || (is_late && is_subscribed) {
                    inner.event(Event::Reconnected);
                }
            }
            Err(error) => {
                tracing::debug!(%error, "a subscription failed");
                let never = matches!(&error, ClientError::Answered(error) if error.code == code::METHOD_NOT_FOUND);
                failures += 1;
                lost |= !never;
            }
        }
        result.send_replace(WatchResult { number: watch_request.number, failed });
        if inner.era_changed.is_cancelled() {
            return;
        }
        let ended = async {
            match &mut current {
                Some(subscription) if failures == 0 => subscription.ended().await,
                _ if lost => {}
                _ => std::future::pending().await,
            }
        };
        select! {
            changed = watch_requests.changed() => if changed.is_err() { return },
            () = ended => {
                if failures == 0 {
                    current = None;
                    failures = 1;
                    lost = true;
                    inner.listen(false);
                }
                sleep(inner.settings.backoff.after(failures)).await;
            }
        }
    }
}

/// Reads a subscription until it ends; for ever if there is none.
async fn over(subscription: &mut Option<Subscription>) {
    match subscription {
        Some(subscription) => subscription.ended().await,
        None => std::future::pending().await,
    }
}

/// The filter to subscribe with; none when nothing can change.
fn filter(peer: &Peer, uris: &BTreeSet<String>) -> Option<RawJson> {
    let mut filter = ObjectWriter::new();
    let mut any = false;
    for (capability, member) in [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ] {
        if peer.has(&[capability, "listChanged"]) {
            filter = filter.value(member, &true);
            any = true;
        }
    }
    if !uris.is_empty() && peer.has(&["resources", "subscribe"]) {
        filter = filter.value("resourceSubscriptions", uris);
        any = true;
    }
    any.then(|| filter.finish())
}

/// One open `subscriptions/listen`. Dropping it ends it.
struct Subscription {
    inner: Arc<ConnectionInner>,
    call: Arc<PendingRequest>,
    stream: ResponseStream,
}

impl Subscription {
    async fn open(inner: &Arc<ConnectionInner>, filter: &RawJson) -> Result<Self, ClientError> {
        let call = inner.pending_requests.register(RequestInfo::own(Method::Listen))?;
        let params = ObjectWriter::new().raw("notifications", filter).finish();
        let mut request = Request::new(Method::Listen, params);
        request.capabilities = inner.settings.capabilities.clone();
        let (revision, head) = (Revision::LATEST, ParamsHead::read(&request.params));
        let params = compose::stateless_params(revision, &inner.settings, &request, &head, call.id);
        let message =
            jsonrpc::request(&Id::number(call.id), Method::Listen.as_str(), Some(&params));
        let headers = match inner.is_pipe() {
            true => Vec::new(),
            false => compose::repeated_headers(revision, &request, &head, None),
        };
        let within = inner.settings.connect_within;
        let open = async {
            let stream = ResponseStream::send(inner, message, headers).await;
            // From here on dropping it removes the pending request.
            let mut subscription =
                Self { inner: inner.clone(), call: call.clone(), stream: stream? };
            match subscription.acknowledged().await {
                Ok(()) => Ok(subscription),
                Err(error) => Err(check_era(inner, subscription.stream.refused, error).await),
            }
        };
        let opened = timeout(within, open).await.unwrap_or(Err(ClientError::Timeout(within)));
        if opened.is_err() {
            inner.pending_requests.remove(call.id);
        }
        opened
    }

    async fn acknowledged(&mut self) -> Result<(), ClientError> {
        loop {
            match self.next().await? {
                Inbound::Acknowledged => return Ok(()),
                Inbound::Answer(Err(error)) => {
                    return Err(ClientError::Answered(super::response::rpc_error(&error)?));
                }
                inbound if self.is_end(&inbound) => {
                    let text = "the server ended a subscription at once".to_owned();
                    return Err(ClientError::Lost(text));
                }
                _ => {}
            }
        }
    }

    /// Reads until the subscription ends in any way.
    async fn ended(&mut self) {
        while let Ok(inbound) = self.next().await {
            if self.is_end(&inbound) {
                return;
            }
        }
    }

    fn is_end(&self, inbound: &Inbound) -> bool {
        match inbound {
            Inbound::Answer(_) | Inbound::Malformed(_) | Inbound::Lost(_) => true,
            Inbound::Cancelled(id) => id.as_number() == Some(self.call.id),
            _ => false,
        }
    }

    async fn next(&mut self) -> Result<Inbound, ClientError> {
        loop {
            select! {
                biased;
                inbound = self.call.mailbox.next() => return Ok(inbound),
                decoded = self.stream.next(&self.inner) => match decoded? {
                    Some(decoded) => dispatch(&self.inner, decoded, Some(&self.call)),
                    None => return Ok(Inbound::Lost("the stream ended".to_owned())),
                },
            }
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let open = self.inner.pending_requests.remove(self.call.id).is_some();
        // Over HTTP the end of the stream cancels it.
        if open && self.inner.is_pipe() {
            self.inner.tell(cancelled(self.call.id, "the subscription is over"));
        }
    }
}

/// Keeps the general stream of a session open.
pub(super) async fn keep_general_stream(inner: Arc<ConnectionInner>, mut awaited: ListeningSignal) {
    let Transport::Http { http, .. } = &inner.transport else { return };
    let (mut failures, mut before) = (0, false);
    while inner.pending_requests.end_reason().is_none() {
        let listening = http.listen().await;
        inner.listen(matches!(listening, Ok(Some(_))));
        let is_late = awaited.tell();
        match listening {
            Ok(None) => return,
            Ok(Some(messages)) => {
                if std::mem::replace(&mut before, true) || is_late {
                    inner.event(Event::Reconnected);
                }
                let mut stream = ResponseStream::from_stream(messages);
                while let Ok(Some(decoded)) = stream.next(&inner).await {
                    failures = 0;
                    dispatch(&inner, decoded, None);
                }
                inner.listen(false);
            }
            Err(error) => {
                let error = inner.seen(error);
                tracing::debug!(%error, "the general stream failed");
            }
        }
        failures += 1;
        sleep(inner.settings.backoff.after(failures)).await;
    }
}
