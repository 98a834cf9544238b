//! What policies keep, in the store.

use std::path::Path;

use gantry_policy::{DocumentStore, DocumentStoreError, Kept};
use gantry_store::{Document, Settings, Store, StoreError};

/// A cabinet in the store at this address. It is open only while something is read or written:
/// decisions are rare, and an idle gateway holds no connection.
#[derive(Debug)]
pub(crate) struct DatabaseDocuments(pub(crate) String);

impl DatabaseDocuments {
    async fn with<T>(
        &self,
        work: impl AsyncFnOnce(&Store) -> Result<T, StoreError>,
    ) -> Result<T, DocumentStoreError> {
        let told = |error: StoreError| DocumentStoreError(error.to_string());
        let store = Store::open(&self.0, &Settings::default()).await.map_err(told)?;
        let done = work(&store).await;
        store.close().await;
        done.map_err(told)
    }
}

impl DocumentStore for DatabaseDocuments {
    /// Whether the store is a file that nobody has made yet.
    fn is_new(&self) -> bool {
        self.0.strip_prefix("sqlite://").is_some_and(|path| !Path::new(path).exists())
    }

    fn all<'a>(&'a self, kind: &'a str) -> Kept<'a, Vec<(String, String)>> {
        Box::pin(async move {
            // To look must not make what is not there.
            if self.is_new() {
                return Ok(Vec::new());
            }
            let all = self.with(async |store| store.documents(kind).await).await?;
            Ok(all.into_iter().map(|it| (it.key, it.content)).collect())
        })
    }

    fn put<'a>(&'a self, kind: &'a str, key: &'a str, content: String) -> Kept<'a, ()> {
        let document = Document { key: key.to_owned(), content };
        Box::pin(async move {
            self.with(async |store| store.save_document(kind, &document).await).await
        })
    }

    fn remove<'a>(&'a self, kind: &'a str, key: &'a str) -> Kept<'a, bool> {
        Box::pin(
            async move { self.with(async |store| store.remove_document(kind, key).await).await },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_kept_is_found_by_the_next_program() {
        let folder = std::env::temp_dir().join(format!("gantry-cabinet-{}", std::process::id()));
        let address = format!("sqlite://{}/gantry.db", folder.display());
        let document_store = DatabaseDocuments(address.clone());
        document_store.put("tokens", "a", "{}".to_owned()).await.expect("it can be written");
        let again = DatabaseDocuments(address);
        let all = again.all("tokens").await.expect("it can be read");
        assert_eq!(all, [("a".to_owned(), "{}".to_owned())]);
        assert!(again.remove("tokens", "a").await.expect("it can be written"));
        assert_eq!(document_store.all("tokens").await.expect("it can be read"), []);
        std::fs::remove_dir_all(&folder).expect("the folder can be removed");
    }
}
