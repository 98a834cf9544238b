//! Brings what is counted in memory into the store, beside the calls and never in their way.

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
        let pen = StatsFlusher {
            address,
            settings,
            source,
            store: None,
            known: HashMap::new(),
            told: None,
        };
        Self { stop, task: tokio::spawn(pen.run(stopped)) }
    }

    /// Writes what is left and ends.
    pub async fn stop(self) {
        // A task that has ended does not need to be told.
        let _ = self.stop.send(());
        if let Err(error) = self.task.await {
            tracing::error!(%error, "the writer of the store ended early; counts were lost");
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
    told: Option<StoreError>,
}

impl StatsFlusher {
    async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        let mut tick = tokio::time::interval(self.settings.every);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = tick.tick() => self.write().await,
                _ = &mut stopped => break,
            }
        }
        self.write().await;
        self.close().await;
        if self.told.is_some() {
            tracing::warn!("stopping; what was counted since the last write is lost");
        }
    }

    async fn write(&mut self) {
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
                self.recovered();
            }
            Err(error) => {
                // Opened anew next time: the file may have been moved away meanwhile.
                self.close().await;
                self.failed(error);
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

    fn recovered(&mut self) {
        if self.told.take().is_some() {
            tracing::info!("the store is written again; nothing that was counted is missing");
            self.source.written(true);
        }
    }

    fn failed(&mut self, error: StoreError) {
        if self.told.as_ref().is_some_and(|told| told.is_like(&error)) {
            return;
        }
        tracing::warn!(%error, "statistics are not kept for now; calls go on");
        if self.told.replace(error).is_none() {
            self.source.written(false);
        }
    }
}

#[cfg(test)]
mod tests;
