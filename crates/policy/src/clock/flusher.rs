//! Keeps the latest time that was seen, so that a clock that is set back between two starts of the
//! program revives nothing.

use std::sync::Arc;
use std::time::Duration;

use super::Clock;
use crate::document_store::{DocumentStore, DocumentStoreError};
use crate::flush::PeriodicFlush;
use crate::signature::Signer;
use crate::signed_store::SignedStore;

/// Where it is kept.
const KIND: &str = "clock";
const KEY: &str = "latest";

/// How often: as much can come back if the program is killed.
const MINUTE: Duration = Duration::from_secs(60);

/// Keeps the time until it is stopped. Dropping it loses the last minute.
#[derive(Debug)]
pub struct ClockFlusher(PeriodicFlush);

impl Clock {
    /// The same clock, but never earlier than what was kept.
    pub async fn recall(
        self,
        document_store: Arc<dyn DocumentStore>,
        signer: Signer,
    ) -> Result<Self, DocumentStoreError> {
        let kept = read(&SignedStore::new(document_store, signer)).await?;
        let behind = kept.saturating_sub(self.wall_seconds());
        if behind > MINUTE.as_secs() {
            tracing::warn!(
                behind,
                "the clock of this machine is seconds behind a time that was seen before; time goes \
                 on from there, so that what was over stays so"
            );
        }
        self.reach(kept.saturating_mul(1000));
        Ok(self)
    }
}

impl ClockFlusher {
    /// Keeps the time of this clock from now on.
    pub fn start(clock: Clock, document_store: Arc<dyn DocumentStore>, signer: Signer) -> Self {
        let signed_store = SignedStore::new(document_store, signer);
        Self(PeriodicFlush::start(MINUTE, "the latest time cannot be kept now", move || {
            let (clock, signed_store) = (clock.clone(), signed_store.clone());
            Box::pin(async move { store(&clock, &signed_store).await })
        }))
    }

    /// Keeps the time once more, and ends.
    pub async fn stop(self) {
        self.0.stop().await;
    }
}

/// Writes the time down, unless another program has seen a later one.
async fn store(clock: &Clock, signed_store: &SignedStore) -> Result<(), DocumentStoreError> {
    // Where nothing is kept nothing can come back, and a program at rest makes no files.
    if signed_store.is_new() {
        return Ok(());
    }
    let now = clock.seconds();
    match read(signed_store).await? < now {
        true => signed_store.put(KIND, KEY, &now).await,
        false => Ok(()),
    }
}

async fn read(signed_store: &SignedStore) -> Result<u64, DocumentStoreError> {
    Ok(signed_store.all(KIND).await?.into_iter().max().unwrap_or_default())
}
