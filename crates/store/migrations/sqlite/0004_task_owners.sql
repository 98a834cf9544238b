-- Whose tasks are whose, how large they are and which are older, so that each principal has its share.
ALTER TABLE tasks ADD COLUMN principal TEXT NOT NULL DEFAULT '';
-- Bytes that it counts for, at least a page.
ALTER TABLE tasks ADD COLUMN size INTEGER NOT NULL DEFAULT 4096;
-- Grows from one task to the next.
ALTER TABLE tasks ADD COLUMN written INTEGER NOT NULL DEFAULT 0;

UPDATE tasks SET
    size = max(4096, length(CAST(record AS BLOB))),
    principal = CASE
        WHEN json_valid(record) THEN coalesce(CAST(json_extract(record, '$.principal') AS TEXT), '')
        ELSE ''
    END;

CREATE INDEX tasks_by_principal ON tasks (principal, written, size);
CREATE INDEX tasks_by_age ON tasks (written);
