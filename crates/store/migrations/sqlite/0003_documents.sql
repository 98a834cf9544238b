-- What policies keep: tokens, decisions about trust, approvals, budgets. Few, small, read at the start.
CREATE TABLE documents (
    kind    TEXT NOT NULL,
    key     TEXT NOT NULL,
    -- JSON of whoever wrote it.
    content TEXT NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
