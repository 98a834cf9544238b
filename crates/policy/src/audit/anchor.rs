//! Audit anchors: how far the audit log is, signed and kept in the store. A log that was emptied, truncated
//! or replaced by an earlier copy is shorter than its anchor.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::document_store::{DocumentStore, DocumentStoreError};
use crate::periodic_flush::PeriodicFlush;
use crate::signed_store::{SignedStore, Signer};

/// Where it is kept.
const KIND: &str = "audit-anchor";

/// How far a file of the log was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditAnchor {
    /// The name of the file.
    pub file: String,
    /// How often it was written anew.
    pub generation: u64,
    /// How many lines it had.
    pub lines: u64,
    /// The authentication code of the last of them.
    pub mac: String,
}

/// How far the log is now.
pub struct AuditPosition {
    /// The files that grow.
    pub anchors: Vec<AuditAnchor>,
    /// Whether a file is known to grow no more, and needs no anchor.
    pub has_ended: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

/// Keeps anchors in the store.
#[derive(Clone)]
pub struct AuditAnchors {
    signed_store: SignedStore,
    /// What was kept last: what has not changed is not written again.
    last: Arc<Mutex<Vec<AuditAnchor>>>,
}

/// Keeps anchors now and then, until it is stopped.
#[derive(Debug)]
pub struct AnchorFlusher(PeriodicFlush);

impl AuditAnchors {
    /// Keeps them here, signed.
    pub fn new(document_store: Arc<dyn DocumentStore>, signer: Signer) -> Self {
        Self { signed_store: SignedStore::new(document_store, signer), last: Arc::default() }
    }

    /// Everything that is kept.
    pub async fn all(&self) -> Result<Vec<AuditAnchor>, DocumentStoreError> {
        self.signed_store.all(KIND).await
    }

    /// Keeps how far the log is. What another program knows to be further stays.
    pub async fn advance(&self, position: AuditPosition) -> Result<(), DocumentStoreError> {
        let AuditPosition { anchors, has_ended } = position;
        if *self.last.lock().unwrap_or_else(PoisonError::into_inner) == anchors {
            return Ok(());
        }
        let known = self.all().await?;
        let reaches = |known: &AuditAnchor, anchor: &AuditAnchor| {
            known.file == anchor.file
                && (known.generation, known.lines) >= (anchor.generation, anchor.lines)
        };
        for anchor in &anchors {
            if !known.iter().any(|known| reaches(known, anchor)) {
                self.signed_store.put(KIND, &anchor.file, anchor).await?;
            }
        }
        // Only now: the list of files that says where they end is anchored.
        for ended in known.iter().filter(|it| has_ended(&it.file)) {
            self.signed_store.remove(KIND, &ended.file).await?;
        }
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = anchors;
        Ok(())
    }

    /// Forgets how far the log was.
    pub async fn clear(&self) -> Result<(), DocumentStoreError> {
        for anchor in self.all().await? {
            self.signed_store.remove(KIND, &anchor.file).await?;
        }
        Ok(())
    }

    /// Keeps how far the log is, again after each pause.
    pub fn keep(
        &self,
        pause: Duration,
        position: impl Fn() -> Option<AuditPosition> + Send + 'static,
    ) -> AnchorFlusher {
        let anchors = self.clone();
        AnchorFlusher(PeriodicFlush::start(
            pause,
            "how far the audit log is cannot be kept",
            move || {
                let (anchors, position) = (anchors.clone(), position());
                Box::pin(async move {
                    match position {
                        Some(position) => anchors.advance(position).await,
                        None => Ok(()),
                    }
                })
            },
        ))
    }
}

impl AnchorFlusher {
    /// Keeps it once more, and ends.
    pub async fn stop(self) {
        self.0.stop().await;
    }
}

impl fmt::Debug for AuditAnchors {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AuditAnchors").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document_store::MemoryDocumentStore;

    fn anchor(file: &str, generation: u64, lines: u64) -> AuditAnchor {
        AuditAnchor { file: file.to_owned(), generation, lines, mac: format!("{lines}") }
    }

    #[tokio::test]
    async fn an_anchor_only_goes_forward_and_goes_when_its_file_has_ended() {
        let document_store = Arc::new(MemoryDocumentStore::default());
        let cases = [
            (vec![anchor("index", 0, 2)], "", vec![anchor("index", 0, 2)]),
            (vec![anchor("index", 0, 1)], "", vec![anchor("index", 0, 2)]),
            (vec![anchor("index", 1, 1)], "", vec![anchor("index", 1, 1)]),
            (
                vec![anchor("index", 1, 2), anchor("a", 0, 5)],
                "",
                vec![anchor("a", 0, 5), anchor("index", 1, 2)],
            ),
            (vec![anchor("index", 1, 2)], "b", vec![anchor("a", 0, 5), anchor("index", 1, 2)]),
            (vec![anchor("index", 1, 3)], "a", vec![anchor("index", 1, 3)]),
        ];
        for (anchors, ended, expected) in cases {
            let kept = AuditAnchors::new(document_store.clone(), Signer::new([7; 32]));
            let case = format!("{anchors:?}");
            let has_ended = Box::new(move |file: &str| file == ended);
            kept.advance(AuditPosition { anchors, has_ended }).await.expect("memory");
            assert_eq!(kept.all().await.expect("memory"), expected, "{case}");
        }
        let other = AuditAnchors::new(document_store.clone(), Signer::new([8; 32]));
        assert_eq!(other.all().await.expect("memory"), [], "signed with another key");
        let kept = AuditAnchors::new(document_store, Signer::new([7; 32]));
        kept.clear().await.expect("memory");
        assert_eq!(kept.all().await.expect("memory"), []);
    }
}
