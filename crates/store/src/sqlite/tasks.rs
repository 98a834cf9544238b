//! Tasks: one row each, written over when it changes.

use sqlx::Row;

use super::Sqlite;
use super::statistics::{signed, unsigned};
use crate::error::StoreError;
use crate::tasks::TaskRow;

const SAVE: &str = "
INSERT INTO tasks (id, expires, record) VALUES (?1, ?2, ?3)
ON CONFLICT (id) DO UPDATE SET expires = excluded.expires, record = excluded.record";

impl Sqlite {
    pub(crate) async fn save_task(&self, task: &TaskRow) -> Result<(), StoreError> {
        let query = sqlx::query(SAVE).bind(&task.id).bind(signed(task.expires)).bind(&task.record);
        let saved = query.execute(&self.pool).await;
        saved.map(drop).map_err(|error| self.explain(error))
    }

    pub(crate) async fn task(&self, id: &str) -> Result<Option<TaskRow>, StoreError> {
        let query = sqlx::query("SELECT id, expires, record FROM tasks WHERE id = ?1").bind(id);
        let row = query.fetch_optional(&self.pool).await;
        let row = row.map_err(|error| self.explain(error))?;
        Ok(row.map(|row| TaskRow {
            id: row.get(0),
            expires: unsigned(row.get(1)),
            record: row.get(2),
        }))
    }

    pub(crate) async fn remove_expired_tasks(&self, now: u64) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM tasks WHERE expires < ?1").bind(signed(now));
        let removed = query.execute(&self.pool).await;
        removed.map(drop).map_err(|error| self.explain(error))
    }
}
