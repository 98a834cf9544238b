//! Returns freed memory to the system after a burst of messages: the allocator keeps it otherwise,
//! so that one flood of one upstream server would stay resident for as long as the gateway runs.

use std::time::Duration;

use gantry_process::memory;
use tokio::task::{AbortHandle, spawn_blocking};

/// Between two looks at the resident memory.
const INTERVAL: Duration = Duration::from_secs(5);

/// Growth below this is not worth the locks that a trim takes.
const GROWTH: u64 = 8 * 1024 * 1024;

/// Trims until it is dropped.
pub(crate) struct Trimmer(AbortHandle);

impl Trimmer {
    pub(crate) fn start() -> Self {
        Self(tokio::spawn(trim_after_growth()).abort_handle())
    }
}

impl Drop for Trimmer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn trim_after_growth() {
    let Some(mut base) = memory::resident() else { return };
    loop {
        tokio::time::sleep(INTERVAL).await;
        let Some(now) = memory::resident() else { return };
        if now <= base + GROWTH {
            base = base.min(now);
            continue;
        }
        let _ = spawn_blocking(memory::trim).await;
        base = memory::resident().unwrap_or(now);
    }
}
