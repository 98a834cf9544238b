//! Tasks in SQLite: one row each; the oldest are removed when there are too many.

use sqlx::{Connection, Row, SqliteConnection};

use super::Sqlite;
use super::statistics::{signed, unsigned};
use crate::error::StoreError;
use crate::store::{TaskLimits, TaskRow};

/// What a task counts for at least: a page of the file.
const LEAST: u64 = super::PAGE;

const SAVE: &str = "
INSERT INTO tasks (id, principal, expires, record, size, written)
VALUES (?1, ?2, ?3, ?4, ?5, (SELECT coalesce(max(written), 0) + 1 FROM tasks))
ON CONFLICT (id) DO UPDATE SET principal = excluded.principal, expires = excluded.expires,
    record = excluded.record, size = excluded.size";

/// Keeps the newest of a principal's other tasks that fit.
const TRIM_PRINCIPAL: &str = "
DELETE FROM tasks WHERE id IN (
    SELECT id FROM (
        SELECT id, sum(size) OVER (ORDER BY written DESC ROWS UNBOUNDED PRECEDING) AS kept
        FROM tasks WHERE principal = ?1 AND id <> ?2
    ) WHERE kept > ?3
)";

/// Removes the oldest task of the principal that has most.
const TRIM_TOTAL: &str = "
DELETE FROM tasks WHERE id = (
    SELECT id FROM tasks WHERE id <> ?1 AND principal = (
        SELECT principal FROM tasks WHERE id <> ?1
        GROUP BY principal ORDER BY sum(size) DESC LIMIT 1
    ) ORDER BY written LIMIT 1
)";

impl Sqlite {
    pub(crate) async fn save_task(
        &self,
        task: &TaskRow,
        limits: TaskLimits,
    ) -> Result<(), StoreError> {
        let saved = async {
            let mut connection = self.pool.acquire().await?;
            let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
            save(&mut transaction, task, limits).await?;
            transaction.commit().await
        };
        saved.await.map_err(|error| self.explain(error))
    }

    pub(crate) async fn task(&self, id: &str) -> Result<Option<TaskRow>, StoreError> {
        let query = "SELECT id, principal, expires, record FROM tasks WHERE id = ?1";
        let row = sqlx::query(query).bind(id).fetch_optional(&self.pool).await;
        let row = row.map_err(|error| self.explain(error))?;
        Ok(row.map(|row| TaskRow {
            id: row.get(0),
            principal: row.get(1),
            expires: unsigned(row.get(2)),
            record: row.get(3),
        }))
    }

    pub(crate) async fn remove_expired_tasks(&self, now: u64) -> Result<(), StoreError> {
        let query = sqlx::query("DELETE FROM tasks WHERE expires < ?1").bind(signed(now));
        let removed = query.execute(&self.pool).await;
        removed.map(drop).map_err(|error| self.explain(error))
    }
}

async fn save(
    connection: &mut SqliteConnection,
    task: &TaskRow,
    limits: TaskLimits,
) -> Result<(), sqlx::Error> {
    let size = LEAST.max(u64::try_from(task.record.len()).unwrap_or(u64::MAX));
    sqlx::query(SAVE)
        .bind(&task.id)
        .bind(&task.principal)
        .bind(signed(task.expires))
        .bind(&task.record)
        .bind(signed(size))
        .execute(&mut *connection)
        .await?;
    let of_principal = "SELECT coalesce(sum(size), 0) FROM tasks WHERE principal = ?1";
    let used = sqlx::query_scalar(of_principal).bind(&task.principal);
    if unsigned(used.fetch_one(&mut *connection).await?) > limits.per_principal {
        let left = limits.per_principal.saturating_sub(size);
        let trim = sqlx::query(TRIM_PRINCIPAL).bind(&task.principal).bind(&task.id);
        trim.bind(signed(left)).execute(&mut *connection).await?;
    }
    loop {
        let used = sqlx::query_scalar("SELECT coalesce(sum(size), 0) FROM tasks");
        if unsigned(used.fetch_one(&mut *connection).await?) <= limits.total {
            return Ok(());
        }
        let removed = sqlx::query(TRIM_TOTAL).bind(&task.id).execute(&mut *connection).await?;
        if removed.rows_affected() == 0 {
            return Ok(());
        }
    }
}
