-- Calls that run by themselves, so that their clients find them again after a restart.
CREATE TABLE tasks (
    id      TEXT PRIMARY KEY,
    -- Milliseconds since 1970 after which nobody needs it.
    expires INTEGER NOT NULL,
    -- JSON of whoever wrote it.
    record  TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX tasks_by_expiry ON tasks (expires);
