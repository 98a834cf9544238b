//! Persistence of policies: a key/value store for small documents.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures_util::future::{BoxFuture, ready};

/// What a cabinet gives in time.
pub type Kept<'a, T> = BoxFuture<'a, Result<T, DocumentStoreError>>;

/// Small documents by kind and key, each of them JSON. They are read at the start and kept in
/// memory by who needs them, so that no call waits for a cabinet.
pub trait DocumentStore: Send + Sync {
    /// Whether nothing was ever kept in it, as far as can be told at once.
    fn is_new(&self) -> bool {
        false
    }

    /// All documents of a kind: key and content.
    fn all<'a>(&'a self, kind: &'a str) -> Kept<'a, Vec<(String, String)>>;

    /// Writes a document down, over what was written under its key before.
    fn put<'a>(&'a self, kind: &'a str, key: &'a str, content: String) -> Kept<'a, ()>;

    /// Removes a document. Gives whether there was one.
    fn remove<'a>(&'a self, kind: &'a str, key: &'a str) -> Kept<'a, bool>;
}

/// Why something could not be kept or found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DocumentStoreError(pub String);

/// A cabinet that is gone with the program, for programs that keep nothing.
#[derive(Debug, Default)]
pub struct MemoryDocumentStore(Mutex<BTreeMap<(String, String), String>>);

impl MemoryDocumentStore {
    fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut BTreeMap<(String, String), String>) -> T,
    ) -> Kept<'static, T> {
        let done = work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Box::pin(ready(Ok(done)))
    }
}

impl DocumentStore for MemoryDocumentStore {
    fn all<'a>(&'a self, kind: &'a str) -> Kept<'a, Vec<(String, String)>> {
        self.with(|documents| {
            let of_kind = documents.iter().filter(|((it, _), _)| it == kind);
            of_kind.map(|((_, key), content)| (key.clone(), content.clone())).collect()
        })
    }

    fn put<'a>(&'a self, kind: &'a str, key: &'a str, content: String) -> Kept<'a, ()> {
        self.with(|documents| {
            documents.insert((kind.to_owned(), key.to_owned()), content);
        })
    }

    fn remove<'a>(&'a self, kind: &'a str, key: &'a str) -> Kept<'a, bool> {
        self.with(|documents| documents.remove(&(kind.to_owned(), key.to_owned())).is_some())
    }
}
