//! The questions of a server that are open while it works on a call. When the call ends before
//! they are answered, the server is told.

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::FuturesUnordered;
use gantry_protocol::{Id, Revision};
use tokio::time::timeout;

use super::connection_inner::ConnectionInner;
use super::mailbox::ServerRequest;
use super::reply;
use crate::error::ClientError;
use crate::request_handler::{InputRefusal, RequestHandler};

pub(super) struct Asking<'a> {
    inner: &'a ConnectionInner,
    line: &'a dyn RequestHandler,
    open: HashMap<Id, Open>,
    /// Made with the first question: most calls ask none.
    answering: Option<FuturesUnordered<Abortable<BoxFuture<'a, Id>>>>,
}

/// A question that is open until its answer has been sent.
struct Open {
    asked: ServerRequest,
    handle: AbortHandle,
    /// The answer, from when it begins to be sent.
    answer: Arc<OnceLock<Bytes>>,
}

impl<'a> Asking<'a> {
    pub(super) fn new(inner: &'a ConnectionInner, line: &'a dyn RequestHandler) -> Self {
        Self { inner, line, open: HashMap::new(), answering: None }
    }

    /// Whether no question is open.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Opens a question.
    pub(super) fn ask(&mut self, asked: ServerRequest) {
        let (handle, registration) = AbortHandle::new_pair();
        let open = Open { asked, handle, answer: Arc::default() };
        let (id, asked, answer) = (open.asked.id.clone(), open.asked.clone(), open.answer.clone());
        self.open.insert(id, open);
        let answering: BoxFuture<'a, Id> = Box::pin(give(self.inner, self.line, asked, answer));
        let all = self.answering.get_or_insert_default();
        all.push(Abortable::new(answering, registration));
    }

    /// The server wants no answer any more.
    pub(super) fn withdraw(&mut self, id: &Id) {
        if let Some(open) = self.open.remove(id) {
            open.handle.abort();
        }
    }

    /// Waits until a question is over; for ever while none is open.
    pub(super) async fn one_less(&mut self) {
        let Some(answering) = &mut self.answering else { return pending().await };
        match answering.next().await {
            Some(Ok(id)) => drop(self.open.remove(&id)),
            // It was withdrawn.
            Some(Err(_)) => {}
            None => pending().await,
        }
    }

    /// Lets answers that are on their way arrive. Whoever is still being asked is not waited for.
    pub(super) async fn send_off(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let within = self.inner.settings.grace;
        let arrived = async {
            while self.open.values().any(|open| open.answer.get().is_some()) {
                self.one_less().await;
            }
        };
        let _ = Box::pin(timeout(within, arrived)).await;
    }
}

/// Asks, and tells the server the answer.
async fn give(
    inner: &ConnectionInner,
    line: &dyn RequestHandler,
    asked: ServerRequest,
    answer: Arc<OnceLock<Bytes>>,
) -> Id {
    let revision = inner.revision().unwrap_or(Revision::LATEST_WITH_HANDSHAKE);
    let given = line.ask(reply::input_request(revision, &asked)).await;
    let said = inner.say(answer.get_or_init(|| reply::reply(revision, &asked, given)).clone());
    // The clock of the call stands still until this is done, so it has an end of its own.
    let within = inner.settings.silence;
    let said = timeout(within, said).await.unwrap_or(Err(ClientError::Timeout(within)));
    if let Err(error) = said {
        tracing::debug!(%error, method = %asked.method, "an answer did not reach the server");
    }
    asked.id
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let revision = self.inner.revision().unwrap_or(Revision::LATEST_WITH_HANDSHAKE);
        for Open { asked, answer, .. } in self.open.values() {
            match answer.get() {
                // It may have arrived over HTTP; the same twice does less harm than none.
                Some(answer) => self.inner.tell(answer.clone()),
                None => {
                    let gone = InputRefusal::Gone("the call has ended".to_owned());
                    self.inner.tell(reply::reply(revision, asked, Err(gone)));
                }
            }
        }
    }
}
