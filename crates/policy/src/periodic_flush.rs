//! Persists state periodically, and once more on shutdown.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::document_store::{DocumentStoreError, Kept};

/// Keeps it until it is stopped. Dropping it loses what was not kept yet.
#[derive(Debug)]
pub(crate) struct PeriodicFlush {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl PeriodicFlush {
    /// Keeps it at once and after each pause. That it cannot be kept is told once, in these words.
    pub(crate) fn start(
        pause: Duration,
        trouble: &'static str,
        keep: impl Fn() -> Kept<'static, ()> + Send + 'static,
    ) -> Self {
        let (stop, mut stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let (mut failing, mut ends) = (false, false);
            loop {
                let kept: Result<(), DocumentStoreError> = keep().await;
                if let Err(error) = &kept
                    && !failing
                {
                    tracing::warn!(%error, "{trouble}");
                }
                failing = kept.is_err();
                if ends {
                    return;
                }
                ends = tokio::time::timeout(pause, &mut stopped).await.is_ok();
            }
        });
        Self { stop, task }
    }

    /// Keeps it once more, and ends.
    pub(crate) async fn stop(self) {
        drop(self.stop);
        let _ = self.task.await;
    }
}
