-- What is known of each tool. Every number is a sum, so that two programs may add to one row.
CREATE TABLE tool_statistics (
    tool           TEXT PRIMARY KEY,
    calls          INTEGER NOT NULL,
    micros         INTEGER NOT NULL,
    standby_hits   INTEGER NOT NULL,
    standby_misses INTEGER NOT NULL,
    -- Milliseconds since 1970; 0 when there was no call.
    last_call      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tool_errors (
    tool       TEXT NOT NULL REFERENCES tool_statistics (tool) ON DELETE CASCADE,
    error_type TEXT NOT NULL,
    calls      INTEGER NOT NULL,
    PRIMARY KEY (tool, error_type)
) STRICT, WITHOUT ROWID;

-- How many calls took at least so many microseconds and less than the next row's. A row says its own
-- bound, so that the numbers stay true when later versions choose other bounds.
CREATE TABLE tool_latency (
    tool   TEXT NOT NULL REFERENCES tool_statistics (tool) ON DELETE CASCADE,
    micros INTEGER NOT NULL,
    calls  INTEGER NOT NULL,
    PRIMARY KEY (tool, micros)
) STRICT, WITHOUT ROWID;
