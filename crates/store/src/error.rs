//! Why the store cannot be read or written, and what to do about it.

/// Why the store cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The address is not one of a store.
    #[error("`{0}` is not the address of a store; write sqlite://PATH")]
    Address(String),
    /// The file or its directory cannot be made or opened.
    #[error("`{place}` cannot be opened: {source}; make it readable and writable for this user")]
    Open {
        /// Where the store is.
        place: String,
        /// Why.
        source: std::io::Error,
    },
    /// Another program holds it for longer than we wait.
    #[error("`{place}` is locked by another program; retrying until it is released")]
    Locked {
        /// Where the store is.
        place: String,
    },
    /// There is no room.
    #[error("`{place}` cannot grow: the disk or the allowed size is full; make room")]
    Full {
        /// Where the store is.
        place: String,
    },
    /// It is not a database, or a damaged one.
    #[error("`{place}` is damaged or not a database; move it away, and a new one is made")]
    Corrupt {
        /// Where the store is.
        place: String,
    },
    /// It may not be written.
    #[error("`{place}` may not be written; give this user the right to write it")]
    ReadOnly {
        /// Where the store is.
        place: String,
    },
    /// A newer version of this program has changed it.
    #[error(
        "`{place}` was written by a newer version (schema {found}, here {known}); update this program or use another file"
    )]
    Newer {
        /// Where the store is.
        place: String,
        /// The version it has.
        found: i64,
        /// The newest version known here.
        known: i64,
    },
    /// Anything else.
    #[error("`{place}` failed: {source}")]
    Database {
        /// Where the store is.
        place: String,
        /// Why.
        source: sqlx::Error,
    },
}

impl StoreError {
    /// Whether both are the same trouble, which need not be told twice.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}
