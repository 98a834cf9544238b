//! What tools were served, in the store: a tool that was changed while the gateway was down is held
//! to it.

use std::sync::Arc;
use std::time::Duration;

use gantry::{Problem, Tools};
use gantry_store::{Document, Settings, Store, StoreError};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// The kind of these documents.
const KIND: &str = "served-tools";

/// Changes within this time are written together.
const SETTLED: Duration = Duration::from_millis(200);

/// Writes down what is served until it is stopped.
pub(crate) struct Served {
    stop: Arc<Notify>,
    task: JoinHandle<()>,
}

/// Holds the tools to what was served before. Gives what is wrong with those that are left out.
pub(crate) async fn restore(tools: &Tools, address: &str) -> Vec<Problem> {
    let documents = read(address).await.unwrap_or_else(|error| {
        tracing::warn!(%error, "the versions served before could not be read; changes of tools are not checked against them");
        Vec::new()
    });
    tools.restore_served(documents.into_iter().map(|it| (it.key, it.content)).collect())
}

async fn read(address: &str) -> Result<Vec<Document>, StoreError> {
    // To look must not make what is not there.
    let is_new = |path: &str| !std::path::Path::new(path).exists();
    if address.strip_prefix("sqlite://").is_some_and(is_new) {
        return Ok(Vec::new());
    }
    let store = Store::open(address, &Settings::default()).await?;
    let documents = store.documents(KIND).await;
    store.close().await;
    documents
}

impl Served {
    /// Writes down what is served from now on.
    pub(crate) fn keep(tools: Tools, address: String) -> Self {
        let stop = Arc::new(Notify::new());
        let stopped = stop.clone();
        let task = tokio::spawn(async move {
            let mut is_stopped = false;
            while !is_stopped {
                let change = async {
                    tools.served_changed().await;
                    tokio::time::sleep(SETTLED).await;
                };
                tokio::select! {
                    () = change => {}
                    () = stopped.notified() => is_stopped = true,
                }
                // Never given up in the middle: what was taken is written.
                write(&tools, &address).await;
            }
        });
        Self { stop, task }
    }

    /// Writes down the last changes.
    pub(crate) async fn stop(self) {
        self.stop.notify_one();
        let _ = self.task.await;
    }
}

async fn write(tools: &Tools, address: &str) {
    let changes = tools.take_served();
    if changes.is_empty() {
        return;
    }
    if let Err(error) = write_all(changes, address).await {
        tracing::warn!(%error, "what is served cannot be written down; a change of a tool while the \
            gateway is down would not be noticed");
    }
}

async fn write_all(
    changes: Vec<(String, Option<String>)>,
    address: &str,
) -> Result<(), StoreError> {
    let store = Store::open(address, &Settings::default()).await?;
    let mut written = Ok(());
    for (key, content) in changes {
        let one = match content {
            Some(content) => store.save_document(KIND, &Document { key, content }).await,
            None => store.remove_document(KIND, &key).await.map(drop),
        };
        written = written.and(one);
    }
    store.close().await;
    written
}
