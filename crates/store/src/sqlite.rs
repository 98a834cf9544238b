//! A store in one file of this machine: opening, rights, schema, and what its errors mean.

mod documents;
mod schema;
mod statistics;
mod tasks;
#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, OpenOptions, Permissions, set_permissions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqlx::ConnectOptions;
use sqlx::migrate::MigrateError;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use crate::error::StoreError;
use crate::settings::Settings;

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
        match schema::bring_up_to_date(&sqlite).await {
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
