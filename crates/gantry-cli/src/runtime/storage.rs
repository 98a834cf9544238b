//! What policies keep, in the store.

use std::path::Path;

use futures_util::future::BoxFuture;
use gantry::{RawJson, TaskLog, TaskLogError, TaskLogLimits, TaskRecord};
use gantry_policy::{DocumentStore, DocumentStoreError, Kept};
use gantry_protocol::JsonLimits;
use gantry_store::{Document, Settings, Store, StoreError, TaskLimits, TaskRow};

/// The documents in the store at this address. It is open only while something is read or written:
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

/// Tasks in the store at this address. It is open only while something is read or written: tasks
/// are rare, and an idle gateway holds no connection.
#[derive(Debug)]
pub(crate) struct StoredTasks(pub(crate) String);

impl StoredTasks {
    async fn with<T>(
        &self,
        work: impl AsyncFnOnce(&Store) -> Result<T, StoreError>,
    ) -> Result<T, TaskLogError> {
        let told = |error: StoreError| TaskLogError(error.to_string());
        let store = Store::open(&self.0, &Settings::default()).await.map_err(told)?;
        let done = work(&store).await;
        store.close().await;
        done.map_err(told)
    }
}

impl TaskLog for StoredTasks {
    fn save(
        &self,
        record: TaskRecord,
        limits: TaskLogLimits,
    ) -> BoxFuture<'_, Result<(), TaskLogError>> {
        let TaskRecord { id, principal, expires, text } = record;
        let row = TaskRow { id, principal, expires, record: text.as_str().to_owned() };
        let bytes = |limit: usize| u64::try_from(limit).unwrap_or(u64::MAX);
        let (total, per_principal) = (bytes(limits.total), bytes(limits.per_principal));
        let limits = TaskLimits { total, per_principal };
        Box::pin(async move { self.with(async |store| store.save_task(&row, limits).await).await })
    }

    fn load<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<TaskRecord>, TaskLogError>> {
        Box::pin(async move {
            let row = self.with(async |store| store.task(id).await).await?;
            row.map(read).transpose()
        })
    }

    fn remove_expired(&self, now: u64) -> BoxFuture<'_, Result<(), TaskLogError>> {
        Box::pin(
            async move { self.with(async |store| store.remove_expired_tasks(now).await).await },
        )
    }
}

/// What was written was within the doors' limits then, whatever they are now.
fn read(row: TaskRow) -> Result<TaskRecord, TaskLogError> {
    let TaskRow { id, principal, expires, record } = row;
    let limits = JsonLimits { size: usize::MAX, ..JsonLimits::default() };
    let text = RawJson::parse(record, limits)
        .map_err(|error| TaskLogError(format!("the record of task `{id}` is damaged: {error}")))?;
    Ok(TaskRecord { id, principal, expires, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_kept_is_found_by_the_next_program() {
        let folder = std::env::temp_dir().join(format!("gantry-documents-{}", std::process::id()));
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

#[cfg(test)]
mod stored_tasks_tests {
    use super::*;

    fn record(id: &str, expires: u64, text: &'static str) -> TaskRecord {
        let (id, principal) = (id.to_owned(), "ada".to_owned());
        TaskRecord { id, principal, expires, text: RawJson::from_static(text) }
    }

    #[tokio::test]
    async fn what_is_kept_is_what_was_written() {
        let folder = std::env::temp_dir().join(format!("gantry-tasks-{}", std::process::id()));
        let tasks = StoredTasks(format!("sqlite://{}/gantry.db", folder.display()));
        let written = [record("a", 4, r#"{ "big": 12345678901234567890 }"#), record("b", 9, "{}")];
        let limits = TaskLogLimits { total: 1 << 20, per_principal: 1 << 20 };
        for record in &written {
            tasks.save(record.clone(), limits).await.expect("it can be written");
        }
        // Another program, or the same after a restart.
        let again = StoredTasks(tasks.0.clone());
        for record in written {
            let id = record.id.clone();
            assert_eq!(again.load(&id).await.expect("it can be read"), Some(record));
        }
        let (third, narrow) = (record("c", 4, "{}"), TaskLogLimits { total: 8192, ..limits });
        again.save(third, narrow).await.expect("it can be written");
        assert_eq!(again.load("a").await.expect("it can be read"), None, "the oldest makes room");
        again.remove_expired(5).await.expect("it can be written");
        for (id, there) in [("a", false), ("b", true), ("c", false), ("d", false)] {
            assert_eq!(tasks.load(id).await.expect("it can be read").is_some(), there, "{id}");
        }
        std::fs::remove_dir_all(&folder).expect("the folder can be removed");
        let nowhere = StoredTasks("nowhere".to_owned());
        let refused = nowhere.load("a").await.expect_err("an address that is none");
        assert!(refused.to_string().contains("sqlite://PATH"), "{refused}");
    }
}
