//! Keeps the latest time that was seen, so that a clock that is set back between two starts of the
//! program revives nothing.

use std::sync::Arc;
use std::time::Duration;

use super::Clock;
use crate::archive::Archive;
use crate::cabinet::{Cabinet, CabinetError};
use crate::rounds::Rounds;
use crate::signature::Signer;

/// Where it is kept.
const KIND: &str = "clock";
const KEY: &str = "latest";

/// How often: as much can come back if the program is killed.
const MINUTE: Duration = Duration::from_secs(60);

/// Keeps the time until it is stopped. Dropping it loses the last minute.
#[derive(Debug)]
pub struct ClockKeeper(Rounds);

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
        let archive = Archive::new(cabinet, signer);
        Self(Rounds::start(MINUTE, "the latest time cannot be kept now", move || {
            let (clock, archive) = (clock.clone(), archive.clone());
            Box::pin(async move { store(&clock, &archive).await })
        }))
    }

    /// Keeps the time once more, and ends.
    pub async fn stop(self) {
        self.0.stop().await;
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
