//! Tasks in the store, so that clients find them again after a restart.

use futures_util::future::BoxFuture;
use gantry::{RawJson, TaskLog, TaskLogError, TaskRecord};
use gantry_protocol::JsonLimits;
use gantry_store::{Settings, Store, StoreError, TaskRow};

/// Tasks in the store at this address. It is open only while something is read or written: tasks
/// are rare, and an idle gateway holds no connection.
#[derive(Debug)]
pub(crate) struct KeptTasks(pub(crate) String);

impl KeptTasks {
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

impl TaskLog for KeptTasks {
    fn save(&self, record: TaskRecord) -> BoxFuture<'_, Result<(), TaskLogError>> {
        let TaskRecord { id, expires, text } = record;
        let row = TaskRow { id, expires, record: text.as_str().to_owned() };
        Box::pin(async move { self.with(async |store| store.save_task(&row).await).await })
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
    let TaskRow { id, expires, record } = row;
    let limits = JsonLimits { size: usize::MAX, ..JsonLimits::default() };
    let text = RawJson::parse(record, limits)
        .map_err(|error| TaskLogError(format!("the record of task `{id}` is damaged: {error}")))?;
    Ok(TaskRecord { id, expires, text })
}
