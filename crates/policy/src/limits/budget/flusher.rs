//! Keeps what was used up of budgets, so that a restart refills none, and adds up what several
//! gateways with one store use.

use std::sync::Arc;
use std::time::Duration;

use super::Document;
use crate::document_store::{DocumentStore, DocumentStoreError};
use crate::flush::PeriodicFlush;
use crate::limits::Limits;

/// Where it is kept.
const KIND: &str = "budget";
const KEY: &str = "today";

/// How often: what is used up in between is lost if the program is killed.
const PAUSE: Duration = Duration::from_secs(5);

/// Keeps budgets until it is stopped. Dropping it loses what was not kept yet.
#[derive(Debug)]
pub struct BudgetFlusher(PeriodicFlush);

impl BudgetFlusher {
    /// Reads what was kept, and keeps what is used up from now on.
    pub async fn start(limits: Arc<Limits>, document_store: Arc<dyn DocumentStore>) -> Self {
        if let Err(error) = restore(&limits, &*document_store).await {
            tracing::warn!(%error, "what was used up of daily budgets is not known; counting anew");
        }
        let trouble = "what is used up of daily budgets cannot be kept now";
        Self(PeriodicFlush::start(PAUSE, trouble, move || {
            let (limits, document_store) = (limits.clone(), document_store.clone());
            Box::pin(async move { store(&limits, &*document_store).await })
        }))
    }

    /// Keeps what is left, and ends.
    pub async fn stop(self) {
        self.0.stop().await;
    }
}

pub(super) async fn restore(
    limits: &Limits,
    document_store: &dyn DocumentStore,
) -> Result<(), DocumentStoreError> {
    let kept = read(document_store).await?;
    limits.budget.learn(&kept, &Document::default());
    Ok(())
}

/// Adds what is new to what is kept.
pub(super) async fn store(
    limits: &Limits,
    document_store: &dyn DocumentStore,
) -> Result<(), DocumentStoreError> {
    let Some(added) = limits.budget.unkept() else { return Ok(()) };
    let mut kept = read(document_store).await?;
    kept.add(&added);
    let text = kept.write().map_err(|error| DocumentStoreError(error.to_string()))?;
    document_store.put(KIND, KEY, text).await?;
    limits.budget.learn(&kept, &added);
    Ok(())
}

async fn read(document_store: &dyn DocumentStore) -> Result<Document, DocumentStoreError> {
    let all = document_store.all(KIND).await?;
    let Some((_, text)) = all.iter().find(|(key, _)| key == KEY) else {
        return Ok(Document::default());
    };
    Ok(Document::read(text).unwrap_or_else(|error| {
        tracing::warn!(%error, "what was kept of daily budgets cannot be read; counting anew");
        Document::default()
    }))
}
