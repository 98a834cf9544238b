//! The tables: made when they are not there, changed when they are older, refused when newer.

use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType};
use sqlx::{Connection, SqlSafeStr, SqliteConnection};

use super::Sqlite;
use crate::error::StoreError;

/// Every change there ever was, in order. A change that has been released is never edited.
const CHANGES: [(i64, &str, &str); 4] = [
    (1, "statistics", include_str!("../../migrations/sqlite/0001_statistics.sql")),
    (2, "tasks", include_str!("../../migrations/sqlite/0002_tasks.sql")),
    (3, "documents", include_str!("../../migrations/sqlite/0003_documents.sql")),
    (4, "task owners", include_str!("../../migrations/sqlite/0004_task_owners.sql")),
];

/// Where the library notes which changes a file has.
const NOTES: &str = "_sqlx_migrations";

/// Makes the tables what this version knows.
pub(super) async fn bring_up_to_date(sqlite: &Sqlite) -> Result<(), StoreError> {
    let explain = |error| sqlite.explain(error);
    let mut connection = sqlite.pool.acquire().await.map_err(explain)?;
    let known = CHANGES[CHANGES.len() - 1].0;
    let found = version(&mut connection).await.map_err(explain)?;
    if found > known {
        return Err(StoreError::Newer { place: sqlite.place(), found, known });
    }
    if found == known {
        return Ok(());
    }
    // Two programs may start at once: the second waits here, and then finds nothing to do.
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(explain)?;
    let changed = change(&mut transaction).await;
    changed.map_err(|error| sqlite.explain_change(error))?;
    transaction.commit().await.map_err(explain)
}

async fn change(connection: &mut SqliteConnection) -> Result<(), MigrateError> {
    connection.ensure_migrations_table(NOTES).await?;
    let found = version(connection).await?;
    for (version, name, sql) in CHANGES.into_iter().filter(|(version, ..)| *version > found) {
        let (name, sql) = (name.into(), sql.into_sql_str());
        let migration = Migration::new(version, name, MigrationType::Simple, sql, false);
        connection.apply(NOTES, &migration).await?;
    }
    Ok(())
}

/// The newest change that was made to this file; 0 for a new one.
async fn version(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    let has_notes: bool = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '_sqlx_migrations')",
    )
    .fetch_one(&mut *connection)
    .await?;
    if !has_notes {
        return Ok(0);
    }
    sqlx::query_scalar("SELECT coalesce(max(version), 0) FROM _sqlx_migrations")
        .fetch_one(connection)
        .await
}
