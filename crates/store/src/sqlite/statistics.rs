//! Tool statistics in SQLite: added in one transaction, read in one state.

use std::collections::BTreeMap;

use sqlx::{Connection, Row, SqliteConnection};

use super::Sqlite;
use crate::error::StoreError;
use crate::store::ToolStatistics;

const ADD_TOOL: &str = "
INSERT INTO tool_statistics (tool, calls, micros, standby_hits, standby_misses, last_call)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (tool) DO UPDATE SET
    calls = calls + excluded.calls,
    micros = micros + excluded.micros,
    standby_hits = standby_hits + excluded.standby_hits,
    standby_misses = standby_misses + excluded.standby_misses,
    last_call = max(last_call, excluded.last_call)";

const ADD_ERROR: &str = "
INSERT INTO tool_errors (tool, error_type, calls) VALUES (?1, ?2, ?3)
ON CONFLICT (tool, error_type) DO UPDATE SET calls = calls + excluded.calls";

const ADD_LATENCY: &str = "
INSERT INTO tool_latency (tool, micros, calls) VALUES (?1, ?2, ?3)
ON CONFLICT (tool, micros) DO UPDATE SET calls = calls + excluded.calls";

impl Sqlite {
    pub(crate) async fn add_statistics(&self, added: &[ToolStatistics]) -> Result<(), StoreError> {
        self.add_all(added).await.map_err(|error| self.explain(error))
    }

    pub(crate) async fn statistics(&self) -> Result<Vec<ToolStatistics>, StoreError> {
        self.read_all().await.map_err(|error| self.explain(error))
    }

    async fn add_all(&self, added: &[ToolStatistics]) -> Result<(), sqlx::Error> {
        let mut connection = self.pool.acquire().await?;
        // A transaction that reads first and writes later may fail at once when another writes.
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        for tool in added {
            add(&mut transaction, tool).await?;
        }
        transaction.commit().await
    }

    async fn read_all(&self) -> Result<Vec<ToolStatistics>, sqlx::Error> {
        let mut connection = self.pool.acquire().await?;
        // All three tables are read in one state.
        let mut transaction = connection.begin().await?;
        let mut tools = read_tools(&mut transaction).await?;
        let errors = sqlx::query("SELECT tool, error_type, calls FROM tool_errors");
        for row in errors.fetch_all(&mut *transaction).await? {
            if let Some(tool) = tools.get_mut(row.get::<&str, _>(0)) {
                tool.errors.insert(row.get(1), unsigned(row.get(2)));
            }
        }
        let latency = sqlx::query("SELECT tool, micros, calls FROM tool_latency");
        for row in latency.fetch_all(&mut *transaction).await? {
            if let Some(tool) = tools.get_mut(row.get::<&str, _>(0)) {
                tool.latency.insert(unsigned(row.get(1)), unsigned(row.get(2)));
            }
        }
        Ok(tools.into_values().collect())
    }
}

async fn add(connection: &mut SqliteConnection, tool: &ToolStatistics) -> Result<(), sqlx::Error> {
    sqlx::query(ADD_TOOL)
        .bind(&tool.tool)
        .bind(signed(tool.calls))
        .bind(signed(tool.micros))
        .bind(signed(tool.standby_hits))
        .bind(signed(tool.standby_misses))
        .bind(signed(tool.last_call))
        .execute(&mut *connection)
        .await?;
    for (error_type, calls) in &tool.errors {
        let query = sqlx::query(ADD_ERROR).bind(&tool.tool).bind(error_type).bind(signed(*calls));
        query.execute(&mut *connection).await?;
    }
    for (micros, calls) in &tool.latency {
        let query = sqlx::query(ADD_LATENCY).bind(&tool.tool).bind(signed(*micros));
        query.bind(signed(*calls)).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn read_tools(
    connection: &mut SqliteConnection,
) -> Result<BTreeMap<String, ToolStatistics>, sqlx::Error> {
    let query = sqlx::query(
        "SELECT tool, calls, micros, standby_hits, standby_misses, last_call FROM tool_statistics",
    );
    let rows = query.fetch_all(connection).await?;
    let tools = rows.iter().map(|row| {
        let tool = ToolStatistics {
            tool: row.get(0),
            calls: unsigned(row.get(1)),
            micros: unsigned(row.get(2)),
            standby_hits: unsigned(row.get(3)),
            standby_misses: unsigned(row.get(4)),
            last_call: unsigned(row.get(5)),
            ..ToolStatistics::default()
        };
        (tool.tool.clone(), tool)
    });
    Ok(tools.collect())
}

/// Databases count with a sign; half of the range is enough for anything counted here.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
