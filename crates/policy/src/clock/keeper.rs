//! Keeps the latest time that was seen, so that a clock that is set back between two starts of the
//! program revives nothing.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::Clock;
use crate::archive::Archive;
use crate::cabinet::{Cabinet, CabinetError};
use crate::signature::Signer;

/// Where it is kept.
const KIND: &str = "clock";
const KEY: &str = "latest";

/// How often: as much can come back if the program is killed.
const MINUTE: Duration = Duration::from_secs(60);

/// Keeps the time until it is stopped. Dropping it loses the last minute.
#[derive(Debug)]
pub struct ClockKeeper {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Clock {
    /// The same clock, but never earlier than what was kept.
    pub async fn recall(
        self,
        cabinet: Arc<dyn Cabinet>,
        signer: Signer,
    ) -> Result<Self, CabinetError> {
        let kept = read(&Archive::new(cabinet, signer)).await?;
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

impl ClockKeeper {
    /// Keeps the time of this clock from now on.
    pub fn start(clock: Clock, cabinet: Arc<dyn Cabinet>, signer: Signer) -> Self {
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(keep(clock, Archive::new(cabinet, signer), stopped));
        Self { stop, task }
    }

    /// Keeps the time once more, and ends.
    pub async fn stop(self) {
        drop(self.stop);
        let _ = self.task.await;
    }
}

async fn keep(clock: Clock, archive: Archive, mut stopped: oneshot::Receiver<()>) {
    let (mut failing, mut ends) = (false, false);
    loop {
        let kept = store(&clock, &archive).await;
        if let Err(error) = &kept
            && !failing
        {
            tracing::warn!(%error, "the latest time cannot be kept now");
        }
        failing = kept.is_err();
        if ends {
            return;
        }
        ends = tokio::time::timeout(MINUTE, &mut stopped).await.is_ok();
    }
}

/// Writes the time down, unless another program has seen a later one.
async fn store(clock: &Clock, archive: &Archive) -> Result<(), CabinetError> {
    // Where nothing is kept nothing can come back, and a program at rest makes no files.
    if archive.is_new() {
        return Ok(());
    }
    let now = clock.seconds();
    match read(archive).await? < now {
        true => archive.put(KIND, KEY, &now).await,
        false => Ok(()),
    }
}

async fn read(archive: &Archive) -> Result<u64, CabinetError> {
    Ok(archive.all(KIND).await?.into_iter().max().unwrap_or_default())
}
