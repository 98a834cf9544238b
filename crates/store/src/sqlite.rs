//! The SQLite backend: opening, permissions, schema migrations, documents, and its errors.

mod statistics;
mod tasks;
#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, OpenOptions, Permissions, set_permissions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, Row, SqlSafeStr, SqliteConnection};

use crate::error::StoreError;
use crate::store::{Document, Settings};

/// The size of a page, fixed when a file is made.
const PAGE: u64 = 4096;

/// Between two tries to open a file that another program is opening or closing.
const PAUSE: Duration = Duration::from_millis(10);
/// How long a connection may take to be made, beside waiting for others: a disk may be slow.
const TIMEOUT: Duration = Duration::from_secs(30);

/// An open file.
#[derive(Debug)]
pub(crate) struct Sqlite {
    path: PathBuf,
    pool: SqlitePool,
}

impl Sqlite {
    pub(crate) async fn open(path: &Path, settings: &Settings) -> Result<Self, StoreError> {
        let started = Instant::now();
        loop {
            match Self::try_open(path, settings).await {
                // Who opens a file while another makes or closes it may be refused at once, and
                // SQLite does not wait in that case.
                Err(StoreError::Locked { .. }) if started.elapsed() < settings.busy => {
                    tokio::time::sleep(PAUSE).await;
                }
                opened => return opened,
            }
        }
    }

    async fn try_open(path: &Path, settings: &Settings) -> Result<Self, StoreError> {
        make_private(path).map_err(|source| {
            let place = path.display().to_string();
            StoreError::Open { place, source }
        })?;
        // Writers of one program take turns anyway, and a reader never waits for a writer.
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .test_before_acquire(false)
            .acquire_timeout(settings.busy + TIMEOUT)
            .connect_lazy_with(options(path, settings));
        let sqlite = Self { path: path.to_owned(), pool };
        match bring_up_to_date(&sqlite).await {
            Ok(()) => Ok(sqlite),
            Err(error) => {
                sqlite.close().await;
                Err(error)
            }
        }
    }

    pub(crate) async fn close(self) {
        self.pool.close().await;
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }

    /// What an error of the database means.
    fn explain(&self, source: sqlx::Error) -> StoreError {
        let place = self.place();
        let code = source.as_database_error().and_then(|error| error.code()?.parse().ok());
        // The lowest byte is the kind; the rest says more than anyone can act on.
        match code.map(|code: i32| code & 0xff) {
            Some(5 | 6) => StoreError::Locked { place },
            Some(8) => StoreError::ReadOnly { place },
            Some(11 | 26) => StoreError::Corrupt { place },
            Some(13) => StoreError::Full { place },
            _ if matches!(source, sqlx::Error::PoolTimedOut) => StoreError::Locked { place },
            _ => StoreError::Database { place, source },
        }
    }

    fn explain_change(&self, error: MigrateError) -> StoreError {
        match error {
            MigrateError::Execute(source) | MigrateError::ExecuteMigration(source, _) => {
                self.explain(source)
            }
            other => self.explain(sqlx::Error::Migrate(Box::new(other))),
        }
    }
}

fn options(path: &Path, settings: &Settings) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .page_size(PAGE as u32)
        .journal_mode(SqliteJournalMode::Wal)
        // With a write-ahead journal this can lose the last seconds of a power cut, never the file.
        .synchronous(SqliteSynchronous::Normal)
        .busy_timeout(settings.busy)
        .foreign_keys(true)
        .pragma("journal_size_limit", settings.journal.to_string())
        .pragma("max_page_count", (settings.size / PAGE).max(1).to_string())
        // A negative number is kibibytes.
        .pragma("cache_size", format!("-{}", settings.cache >> 10))
        .statement_cache_capacity(8)
        .thread_name(|_| "gantry-store".to_owned())
        .disable_statement_logging()
}

/// Makes the directory and the file for this user alone. What SQLite puts beside a file has the
/// file's rights, so that setting them here is enough for what is made later.
fn make_private(path: &Path) -> std::io::Result<()> {
    if let Some(directory) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    for suffix in ["", "-wal", "-shm"] {
        let mut file = path.as_os_str().to_owned();
        file.push(suffix);
        if Path::new(&file).exists() {
            set_permissions(&file, Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

/// Every change there ever was, in order. A change that has been released is never edited.
const CHANGES: [(i64, &str, &str); 4] = [
    (1, "statistics", include_str!("../migrations/sqlite/0001_statistics.sql")),
    (2, "tasks", include_str!("../migrations/sqlite/0002_tasks.sql")),
    (3, "documents", include_str!("../migrations/sqlite/0003_documents.sql")),
    (4, "task owners", include_str!("../migrations/sqlite/0004_task_owners.sql")),
];

/// Where the library notes which changes a file has.
const NOTES: &str = "_sqlx_migrations";

/// Makes the tables what this version knows.
async fn bring_up_to_date(sqlite: &Sqlite) -> Result<(), StoreError> {
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

const SAVE: &str = "
INSERT INTO documents (kind, key, content) VALUES (?1, ?2, ?3)
ON CONFLICT (kind, key) DO UPDATE SET content = excluded.content";

impl Sqlite {
    pub(crate) async fn save_document(
        &self,
        kind: &str,
        document: &Document,
    ) -> Result<(), StoreError> {
        let query = sqlx::query(SAVE).bind(kind).bind(&document.key).bind(&document.content);
        let saved = query.execute(&self.pool).await;
        saved.map(drop).map_err(|error| self.explain(error))
    }

    pub(crate) async fn documents(&self, kind: &str) -> Result<Vec<Document>, StoreError> {
        const ALL: &str = "SELECT key, content FROM documents WHERE kind = ?1 ORDER BY key";
        let rows = sqlx::query(ALL).bind(kind).fetch_all(&self.pool).await;
        let rows = rows.map_err(|error| self.explain(error))?;
        let document = |row| Document { key: Row::get(&row, 0), content: Row::get(&row, 1) };
        Ok(rows.into_iter().map(document).collect())
    }

    pub(crate) async fn remove_document(&self, kind: &str, key: &str) -> Result<bool, StoreError> {
        const REMOVE: &str = "DELETE FROM documents WHERE kind = ?1 AND key = ?2";
        let removed = sqlx::query(REMOVE).bind(kind).bind(key).execute(&self.pool).await;
        let removed = removed.map_err(|error| self.explain(error))?;
        Ok(removed.rows_affected() > 0)
    }
}
