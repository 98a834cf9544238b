//! Resource subscriptions: changes of the set, applied one after the other.

use super::call::send_request;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use gantry_protocol::Method;
use gantry_protocol::json::ObjectWriter;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use super::connection_inner::ConnectionInner;
use super::subscriptions::{WatchRequest, WatchResult};
use crate::error::ClientError;
use crate::request::Request;
use crate::request_handler::NoopHandler;

#[derive(Debug)]
pub(super) struct ResourceSubscriptions {
    watch_requests: watch::Sender<WatchRequest>,
    result: watch::Receiver<WatchResult>,
    /// The resources that a legacy server was told.
    subscribed: Mutex<BTreeSet<String>>,
    one_at_a_time: Semaphore,
}

impl ResourceSubscriptions {
    pub(super) fn new(
        watch_requests: watch::Sender<WatchRequest>,
        result: watch::Receiver<WatchResult>,
    ) -> Self {
        Self {
            watch_requests,
            result,
            subscribed: Mutex::default(),
            one_at_a_time: Semaphore::new(1),
        }
    }

    /// Reopens the subscription of a modern server with the new set, and waits for it.
    pub(super) async fn resubscribe(
        &self,
        uris: &BTreeSet<String>,
        inner: &ConnectionInner,
    ) -> Result<(), ClientError> {
        let mut number = 0;
        let changed = self.watch_requests.send_if_modified(|resubscribe| {
            let changed = resubscribe.uris != *uris;
            if changed {
                *resubscribe = WatchRequest { number: resubscribe.number + 1, uris: uris.clone() };
            }
            number = resubscribe.number;
            changed
        });
        if !changed {
            return Ok(());
        }
        let mut result = self.result.clone();
        let within = inner.settings.connect_within;
        let result = timeout(within, result.wait_for(|result| result.number >= number)).await;
        match result {
            Ok(Ok(result)) => result.failed.clone().map_or(Ok(()), Err),
            Ok(Err(_)) => Err(inner.closed_error()),
            Err(_) => Err(ClientError::Timeout(within)),
        }
    }

    /// Subscribes to added and unsubscribes from removed resources of a legacy server. All are
    /// tried; the first error is returned.
    pub(super) async fn update(
        &self,
        uris: &BTreeSet<String>,
        inner: &ConnectionInner,
    ) -> Result<(), ClientError> {
        let _turn = self.one_at_a_time.acquire().await;
        let before = self.subscribed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut failed = None;
        for uri in uris.difference(&before) {
            match send(inner, Method::ResourcesSubscribe, uri).await {
                Ok(()) => drop(self.set(uri, true)),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        for uri in before.difference(uris) {
            self.set(uri, false);
            if let Err(error) = send(inner, Method::ResourcesUnsubscribe, uri).await {
                failed = failed.or(Some(error));
            }
        }
        failed.map_or(Ok(()), Err)
    }

    fn set(&self, uri: &str, subscribed: bool) -> bool {
        let mut set = self.subscribed.lock().unwrap_or_else(PoisonError::into_inner);
        if subscribed { set.insert(uri.to_owned()) } else { set.remove(uri) }
    }
}

async fn send(inner: &ConnectionInner, method: Method, uri: &str) -> Result<(), ClientError> {
    let params = ObjectWriter::new().value("uri", uri).finish();
    send_request(inner, &Request::new(method, params), &NoopHandler).await.map(drop)
}
