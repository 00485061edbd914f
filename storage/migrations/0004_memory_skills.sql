-- What made a memory; the memory skills and controllers in use.
ALTER TABLE memories ADD COLUMN made_by TEXT NOT NULL DEFAULT '[]';
CREATE TABLE controllers (
    project TEXT PRIMARY KEY,
    at TEXT NOT NULL,
    bank TEXT NOT NULL,
    weights TEXT NOT NULL,
    run_id TEXT NOT NULL,
    embedding TEXT NOT NULL,
    reward REAL,
    before REAL,
    skills TEXT NOT NULL,
    reason TEXT NOT NULL,
    updated_seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
