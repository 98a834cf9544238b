//! A monotonic wall clock: time never goes back, also across restarts, so that what has expired stays
//! expired whatever the clock of the machine is set to.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::document_store::{DocumentStore, DocumentStoreError};
use crate::periodic_flush::PeriodicFlush;
use crate::signed_store::{SignedStore, Signer};

/// Tells the time of day. Clones are the same clock. Tests have their own.
#[derive(Clone)]
pub struct Clock(Arc<Inner>);

struct Inner {
    wall: Box<dyn Fn() -> u64 + Send + Sync>,
    /// From here on time is measured by instants too.
    started: Instant,
    /// The time that it must have been then, for every time that was seen since to be right.
    origin: AtomicU64,
}

impl Clock {
    /// The clock of the machine.
    pub fn system() -> Self {
        Self::over(|| {
            milliseconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
        })
    }

    /// A clock over one that tells seconds since 1970.
    pub fn new(seconds: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self::over(move || seconds().saturating_mul(1000))
    }

    fn over(wall: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        let (wall, origin) = (Box::new(wall), AtomicU64::new(0));
        Self(Arc::new(Inner { wall, started: Instant::now(), origin }))
    }

    /// Seconds since 1970: never less than before, and never less than the time that has passed.
    pub fn seconds(&self) -> u64 {
        self.reach((self.0.wall)()) / 1000
    }

    /// The same as a time.
    pub fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(self.seconds())
    }

    /// What the clock on the wall says, which may be anything.
    pub(crate) fn wall_seconds(&self) -> u64 {
        (self.0.wall)() / 1000
    }

    /// It is this late, if it is not later. Gives the time in milliseconds. Written only when that
    /// is news, since all calls share it.
    fn reach(&self, time: u64) -> u64 {
        let passed = milliseconds(self.0.started.elapsed());
        let (said, known) = (time.saturating_sub(passed), self.0.origin.load(Ordering::Relaxed));
        if said > known {
            self.0.origin.fetch_max(said, Ordering::Relaxed);
        }
        said.max(known).saturating_add(passed)
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl fmt::Debug for Clock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Clock").field(&self.seconds()).finish()
    }
}

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

#[cfg(test)]
mod tests;
