//! Documents: one row each, written over when it changes.

use sqlx::Row;

use super::Sqlite;
use crate::documents::Document;
use crate::error::StoreError;

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
