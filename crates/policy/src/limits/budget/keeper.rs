//! Keeps what was used up of budgets, so that a restart refills none, and adds up what several
//! gateways with one store use.

use std::sync::Arc;
use std::time::Duration;

use super::Document;
use crate::cabinet::{Cabinet, CabinetError};
use crate::limits::Limits;
use crate::rounds::Rounds;

/// Where it is kept.
const KIND: &str = "budget";
const KEY: &str = "today";

/// How often: what is used up in between is lost if the program is killed.
const PAUSE: Duration = Duration::from_secs(5);

/// Keeps budgets until it is stopped. Dropping it loses what was not kept yet.
#[derive(Debug)]
pub struct BudgetKeeper(Rounds);

impl BudgetKeeper {
    /// Reads what was kept, and keeps what is used up from now on.
    pub async fn start(limits: Arc<Limits>, cabinet: Arc<dyn Cabinet>) -> Self {
        if let Err(error) = restore(&limits, &*cabinet).await {
            tracing::warn!(%error, "what was used up of daily budgets is not known; counting anew");
        }
        let trouble = "what is used up of daily budgets cannot be kept now";
        Self(Rounds::start(PAUSE, trouble, move || {
            let (limits, cabinet) = (limits.clone(), cabinet.clone());
            Box::pin(async move { store(&limits, &*cabinet).await })
        }))
    }

    /// Keeps what is left, and ends.
    pub async fn stop(self) {
        self.0.stop().await;
    }
}

pub(super) async fn restore(limits: &Limits, cabinet: &dyn Cabinet) -> Result<(), CabinetError> {
    let kept = read(cabinet).await?;
    limits.budget.learn(&kept, &Document::default());
    Ok(())
}

/// Adds what is new to what is kept.
pub(super) async fn store(limits: &Limits, cabinet: &dyn Cabinet) -> Result<(), CabinetError> {
    let Some(added) = limits.budget.unkept() else { return Ok(()) };
    let mut kept = read(cabinet).await?;
    kept.add(&added);
    let text = kept.write().map_err(|error| CabinetError(error.to_string()))?;
    cabinet.put(KIND, KEY, text).await?;
    limits.budget.learn(&kept, &added);
    Ok(())
}

async fn read(cabinet: &dyn Cabinet) -> Result<Document, CabinetError> {
    let all = cabinet.all(KIND).await?;
    let Some((_, text)) = all.iter().find(|(key, _)| key == KEY) else {
        return Ok(Document::default());
    };
    Ok(Document::read(text).unwrap_or_else(|error| {
        tracing::warn!(%error, "what was kept of daily budgets cannot be read; counting anew");
        Document::default()
    }))
}
