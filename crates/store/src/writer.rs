//! Flushes statistics from memory to the store periodically, beside the calls.
//!
//! Counters in memory never fall, so a failed write needs no queue: the next one adds the
//! difference to what the store has. Two programs can add to one row. The store is open only while
//! there is something to write: an idle gateway holds no connection or journal, and a file that
//! was moved away is made again without a restart.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use crate::error::StoreError;
use crate::store::{Settings, Store, ToolStatistics};

/// Who counts, and hears whether the counts could be kept.
pub trait Source: Send + Sync + 'static {
    /// Everything counted since the start. It only grows.
    fn statistics(&self) -> Vec<ToolStatistics>;

    /// Everything was written, or could not be. Told when it changes.
    fn written(&self, written: bool);
}

/// A task that writes until it is stopped.
#[derive(Debug)]
pub struct Writer {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Writer {
    /// Starts to write what the source counts. The store is opened when there is something to write.
    pub fn start(address: String, settings: Settings, source: Arc<dyn Source>) -> Self {
        let (stop, stopped) = oneshot::channel();
        let flusher = StatsFlusher {
            address,
            settings,
            source,
            store: None,
            known: HashMap::new(),
            last_error: None,
        };
        Self { stop, task: tokio::spawn(flusher.run(stopped)) }
    }

    /// Writes what is left and ends.
    pub async fn stop(self) {
        // A task that has ended does not need to be told.
        let _ = self.stop.send(());
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the statistics writer ended early; counts were lost");
        }
    }
}

/// The state of the task.
///
/// The source counts from its start and never forgets, so that a write that failed needs no queue:
/// the next one takes the difference to what the store has, however long that was ago.
struct StatsFlusher {
    address: String,
    settings: Settings,
    source: Arc<dyn Source>,
    store: Option<Store>,
    /// What the store has of this source.
    known: HashMap<String, ToolStatistics>,
    /// The trouble that was told last.
    last_error: Option<StoreError>,
}

impl StatsFlusher {
    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        let mut tick = tokio::time::interval(self.settings.every);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = tick.tick() => self.flush().await,
                _ = &mut stopped => break,
            }
        }
        self.flush().await;
        self.close().await;
        if self.last_error.is_some() {
            tracing::warn!("stopping; statistics since the last write are lost");
        }
    }

    async fn flush(&mut self) {
        let now = self.source.statistics();
        let nothing = ToolStatistics::default();
        let added: Vec<_> = now
            .iter()
            .filter_map(|tool| tool.since(self.known.get(&tool.tool).unwrap_or(&nothing)))
            .collect();
        if added.is_empty() {
            // An idle program holds neither a connection nor a journal.
            return self.close().await;
        }
        match self.add(&added).await {
            Ok(()) => {
                self.known = now.into_iter().map(|tool| (tool.tool.clone(), tool)).collect();
                self.report_recovery();
            }
            Err(error) => {
                // Opened anew next time: the file may have been moved away meanwhile.
                self.close().await;
                self.report_failure(error);
            }
        }
    }

    async fn add(&mut self, added: &[ToolStatistics]) -> Result<(), StoreError> {
        if self.store.is_none() {
            self.store = Some(Store::open(&self.address, &self.settings).await?);
        }
        match &self.store {
            Some(store) => store.add_statistics(added).await,
            None => Ok(()),
        }
    }

    async fn close(&mut self) {
        if let Some(store) = self.store.take() {
            store.close().await;
        }
    }

    fn report_recovery(&mut self) {
        if self.last_error.take().is_some() {
            tracing::info!("the store is written again; no statistics were lost");
            self.source.written(true);
        }
    }

    fn report_failure(&mut self, error: StoreError) {
        if self.last_error.as_ref().is_some_and(|last_error| last_error.is_like(&error)) {
            return;
        }
        tracing::warn!(%error, "statistics cannot be stored; calls continue");
        if self.last_error.replace(error).is_none() {
            self.source.written(false);
        }
    }
}

#[cfg(test)]
mod tests;
