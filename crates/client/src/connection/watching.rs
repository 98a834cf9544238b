//! The resources whose changes are to be told, one change of the set after the other.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use gantry_protocol::Method;
use gantry_protocol::json::ObjectWriter;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;

use super::connection_inner::ConnectionInner;
use super::listen::{Tried, Wish};
use crate::error::ClientError;
use crate::request::Request;
use crate::request_handler::NoopHandler;

#[derive(Debug)]
pub(super) struct Watching {
    wishes: watch::Sender<Wish>,
    tried: watch::Receiver<Tried>,
    /// What a server with handshake was told.
    subscribed: Mutex<BTreeSet<String>>,
    turn: Semaphore,
}

impl Watching {
    pub(super) fn new(wishes: watch::Sender<Wish>, tried: watch::Receiver<Tried>) -> Self {
        Self { wishes, tried, subscribed: Mutex::default(), turn: Semaphore::new(1) }
    }

    /// Has the subscription of a server without handshake opened anew, and waits for it.
    pub(super) async fn wish(
        &self,
        uris: &BTreeSet<String>,
        inner: &ConnectionInner,
    ) -> Result<(), ClientError> {
        let mut number = 0;
        let changed = self.wishes.send_if_modified(|wish| {
            let changed = wish.uris != *uris;
            if changed {
                *wish = Wish { number: wish.number + 1, uris: uris.clone() };
            }
            number = wish.number;
            changed
        });
        if !changed {
            return Ok(());
        }
        let mut tried = self.tried.clone();
        let within = inner.settings.connect_within;
        let tried = timeout(within, tried.wait_for(|tried| tried.number >= number)).await;
        match tried {
            Ok(Ok(tried)) => tried.failed.clone().map_or(Ok(()), Err),
            Ok(Err(_)) => Err(inner.gone()),
            Err(_) => Err(ClientError::Timeout(within)),
        }
    }

    /// Subscribes to what is new and unsubscribes from what is not wanted any more. All are tried;
    /// the first failure is told.
    pub(super) async fn subscribe(
        &self,
        uris: &BTreeSet<String>,
        inner: &ConnectionInner,
    ) -> Result<(), ClientError> {
        let _turn = self.turn.acquire().await;
        let before = self.subscribed.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut failed = None;
        for uri in uris.difference(&before) {
            match tell(inner, Method::ResourcesSubscribe, uri).await {
                Ok(()) => drop(self.set(uri, true)),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        for uri in before.difference(uris) {
            self.set(uri, false);
            if let Err(error) = tell(inner, Method::ResourcesUnsubscribe, uri).await {
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

async fn tell(inner: &ConnectionInner, method: Method, uri: &str) -> Result<(), ClientError> {
    let params = ObjectWriter::new().value("uri", uri).finish();
    inner.request(&Request::new(method, params), &NoopHandler).await.map(drop)
}
