//! Documents with a signature (HMAC): who can write to the store but does not have the key can change
//! nothing unnoticed.

use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::document_store::{DocumentStore, DocumentStoreError};

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

/// Signs with one key, for one purpose each.
#[derive(Clone)]
pub struct Signer([u8; 32]);

impl Signer {
    /// Signs with this key.
    pub fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// The signature of these parts for a purpose. Parts are told apart: `ab`, `c` is not `a`, `bc`.
    pub fn sign(&self, purpose: &str, parts: &[&[u8]]) -> [u8; 32] {
        self.mac(purpose, parts).finalize().into_bytes().into()
    }

    /// Whether that is the signature. Takes the same time whatever differs.
    pub fn is_signed(&self, purpose: &str, parts: &[&[u8]], signature: &[u8]) -> bool {
        self.mac(purpose, parts).verify_slice(signature).is_ok()
    }

    fn mac(&self, purpose: &str, parts: &[&[u8]]) -> Hmac<Sha256> {
        let key: &hmac::digest::Key<Hmac<Sha256>> = &{
            let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
            block[..self.0.len()].copy_from_slice(&self.0);
            block
        };
        let mut mac = Hmac::<Sha256>::new(key);
        for part in [purpose.as_bytes()].iter().chain(parts) {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac
    }
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Signer(…)")
    }
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

    #[test]
    fn only_the_same_key_purpose_and_parts_are_signed() {
        let signer = Signer::new([7; 32]);
        let signature = signer.sign("trust", &[b"ab", b"c"]);
        let cases: [(&Signer, &str, &[&[u8]], bool); 5] = [
            (&signer, "trust", &[b"ab", b"c"], true),
            (&signer, "trust", &[b"a", b"bc"], false),
            (&signer, "trust", &[b"abc"], false),
            (&signer, "audit", &[b"ab", b"c"], false),
            (&Signer::new([8; 32]), "trust", &[b"ab", b"c"], false),
        ];
        for (signer, purpose, parts, expected) in cases {
            let is_signed = signer.is_signed(purpose, parts, &signature);
            assert_eq!(is_signed, expected, "{purpose} {parts:?}");
        }
        assert!(!signer.is_signed("trust", &[b"ab", b"c"], &signature[..31]));
    }
}
