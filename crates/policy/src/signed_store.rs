//! Documents that only who has the key can have written: each a text and its signature.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::document_store::{DocumentStore, DocumentStoreError};
use crate::signature::Signer;

/// Keeps signed documents in a cabinet.
#[derive(Clone)]
pub(crate) struct SignedStore {
    document_store: Arc<dyn DocumentStore>,
    signer: Signer,
}

/// What is kept: the text as it was signed, and the signature in hexadecimal digits.
#[derive(Serialize, Deserialize)]
struct Envelope {
    body: String,
    signature: String,
}

impl SignedStore {
    pub(crate) fn new(document_store: Arc<dyn DocumentStore>, signer: Signer) -> Self {
        Self { document_store, signer }
    }

    /// Whether nothing was ever kept in the cabinet.
    pub(crate) fn is_new(&self) -> bool {
        self.document_store.is_new()
    }

    /// Writes something down, signed for its kind and key: it counts in no other place.
    pub(crate) async fn put<T: Serialize>(
        &self,
        kind: &str,
        key: &str,
        value: &T,
    ) -> Result<(), DocumentStoreError> {
        let written = |error: serde_json::Error| DocumentStoreError(format!("`{key}`: {error}"));
        let body = serde_json::to_string(value).map_err(written)?;
        let signature = self.signer.sign(kind, &[key.as_bytes(), body.as_bytes()]);
        let signature = signature.iter().map(|byte| format!("{byte:02x}")).collect();
        let content = serde_json::to_string(&Envelope { body, signature }).map_err(written)?;
        self.document_store.put(kind, key, content).await
    }

    /// Removes a document. Gives whether there was one.
    pub(crate) async fn remove(&self, kind: &str, key: &str) -> Result<bool, DocumentStoreError> {
        self.document_store.remove(kind, key).await
    }

    /// All documents of a kind. One that is not in order is left out, loudly: it was written by
    /// somebody without the key, or the key is another one now.
    pub(crate) async fn all<T: DeserializeOwned>(
        &self,
        kind: &str,
    ) -> Result<Vec<T>, DocumentStoreError> {
        let mut good = Vec::new();
        for (key, content) in self.document_store.all(kind).await? {
            match self.open(kind, &key, &content) {
                Some(value) => good.push(value),
                None => tracing::warn!(
                    kind,
                    key,
                    "a document of the store is not signed with this gateway's key and is \
                     IGNORED; decide anew what it said, and see who can write to the store"
                ),
            }
        }
        Ok(good)
    }

    fn open<T: DeserializeOwned>(&self, kind: &str, key: &str, content: &str) -> Option<T> {
        let envelope: Envelope = serde_json::from_str(content).ok()?;
        let signature = bytes(&envelope.signature)?;
        let parts = [key.as_bytes(), envelope.body.as_bytes()];
        if !self.signer.is_signed(kind, &parts, &signature) {
            return None;
        }
        serde_json::from_str(&envelope.body).ok()
    }
}

fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    (0..digits.len()).step_by(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document_store::MemoryDocumentStore;

    #[tokio::test]
    async fn what_was_changed_moved_or_signed_by_another_does_not_count() {
        let (document_store, signer) =
            (Arc::new(MemoryDocumentStore::default()), Signer::new([1; 32]));
        let signed_store = SignedStore::new(document_store.clone(), signer.clone());
        signed_store.put("trust", "a", &7).await.unwrap();
        let written = document_store.all("trust").await.unwrap()[0].1.clone();
        let cases = [
            ("as it was", ("trust", "a"), written.clone(), vec![7]),
            ("changed", ("trust", "a"), written.replace('7', "8"), vec![]),
            ("under another key", ("trust", "b"), written.clone(), vec![]),
            ("of another kind", ("grants", "a"), written.clone(), vec![]),
            ("not signed", ("trust", "a"), r#"{"body":"7","signature":""}"#.to_owned(), vec![]),
            ("no hex", ("trust", "a"), r#"{"body":"7","signature":"zé"}"#.to_owned(), vec![]),
            ("no document", ("trust", "a"), "7".to_owned(), vec![]),
        ];
        for (case, (kind, key), content, expected) in cases {
            let changed = Arc::new(MemoryDocumentStore::default());
            changed.put(kind, key, content).await.unwrap();
            let signed_store = SignedStore::new(changed, signer.clone());
            assert_eq!(signed_store.all::<u8>(kind).await.unwrap(), expected, "{case}");
        }
        let other = SignedStore::new(document_store, Signer::new([2; 32]));
        assert!(other.all::<u8>("trust").await.unwrap().is_empty(), "another key");
    }
}
