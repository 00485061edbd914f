-- The catalog as the newest program makes it. An existing file gets here by storage/migrations; a test compares both.
-- Times are ISO 8601 text in UTC. Each row keeps the journal number of its last change (updated_seq), and what was
-- deleted leaves a tombstone, so that rows can be synchronised. num is local to this file and names nothing outside.

CREATE TABLE migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    program TEXT NOT NULL
) STRICT;

CREATE TABLE cursor (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    log_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    digest BLOB NOT NULL
) STRICT;

CREATE TABLE episodes (
    num INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    task_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    opened_at TEXT NOT NULL,
    task TEXT NOT NULL,
    agent TEXT NOT NULL,
    closed_at TEXT,
    steps INTEGER NOT NULL DEFAULT 0,
    reward REAL,
    outcome TEXT NOT NULL DEFAULT 'unknown',
    digest BLOB NOT NULL,
    updated_seq INTEGER NOT NULL,
    strange INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX episodes_by_task ON episodes (task_id, project, session, attempt);
CREATE INDEX episodes_by_time ON episodes (opened_at);
CREATE INDEX episodes_by_project ON episodes (project, opened_at);
CREATE INDEX episodes_visible ON episodes (num, project);
CREATE INDEX episodes_changed ON episodes (updated_seq);
CREATE INDEX episodes_by_session ON episodes (session, opened_at);

CREATE TABLE steps (
    episode_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    at TEXT NOT NULL,
    action TEXT NOT NULL,
    numbered INTEGER NOT NULL,
    tool TEXT,
    arg_names TEXT,
    outcome TEXT NOT NULL,
    error TEXT,
    context TEXT,
    duration_ms REAL,
    external_id TEXT,
    size INTEGER NOT NULL,
    updated_seq INTEGER NOT NULL,
    PRIMARY KEY (episode_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE rewards (
    id TEXT PRIMARY KEY,
    episode_id TEXT NOT NULL,
    step INTEGER,
    at TEXT NOT NULL,
    value REAL,
    source TEXT NOT NULL,
    label TEXT,
    reason TEXT NOT NULL,
    evidence TEXT NOT NULL,
    updated_seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX rewards_by_episode ON rewards (episode_id);

CREATE TABLE skills (
    num INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    description TEXT NOT NULL,
    steps TEXT NOT NULL,
    version INTEGER NOT NULL,
    parameters TEXT NOT NULL,
    status TEXT NOT NULL,
    project TEXT NOT NULL,
    author TEXT NOT NULL,
    trust TEXT NOT NULL,
    pinned INTEGER NOT NULL,
    episodes TEXT NOT NULL,
    support INTEGER NOT NULL,
    keywords TEXT NOT NULL,
    use_count INTEGER NOT NULL DEFAULT 0,
    success_rate REAL NOT NULL DEFAULT 1.0,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    last_used_at TEXT,
    digest BLOB NOT NULL,
    updated_seq INTEGER NOT NULL,
    trial_of INTEGER,
    log TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX skills_by_name ON skills (name);
CREATE INDEX skills_by_project ON skills (project, status);
CREATE INDEX skills_visible ON skills (num, project, status);
CREATE INDEX skills_changed ON skills (updated_seq);

CREATE TABLE "skill_versions" (
    skill_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    log TEXT NOT NULL,
    change TEXT NOT NULL,
    reason TEXT NOT NULL,
    skill TEXT NOT NULL,
    at TEXT NOT NULL,
    updated_seq INTEGER NOT NULL,
    PRIMARY KEY (skill_id, version, log)
) STRICT, WITHOUT ROWID;

CREATE TABLE skill_uses (
    id TEXT PRIMARY KEY,
    skill_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    episode_id TEXT NOT NULL,
    success INTEGER NOT NULL,
    at TEXT NOT NULL,
    updated_seq INTEGER NOT NULL,
    stamp TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX skill_uses_by_skill ON skill_uses (skill_id, updated_seq);
CREATE INDEX skill_uses_by_episode ON skill_uses (episode_id);

CREATE TABLE exposures (
    id TEXT PRIMARY KEY,
    at TEXT NOT NULL,
    query TEXT NOT NULL,
    project TEXT NOT NULL,
    task_id TEXT,
    episode_id TEXT,
    updated_seq INTEGER NOT NULL,
    session TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
CREATE INDEX exposures_by_time ON exposures (at);
CREATE INDEX exposures_by_episode ON exposures (episode_id);

CREATE TABLE exposed_skills (
    exposure_id TEXT NOT NULL,
    skill_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    score REAL NOT NULL,
    shown INTEGER NOT NULL,
    PRIMARY KEY (exposure_id, rank)
) STRICT, WITHOUT ROWID;
CREATE INDEX exposed_by_skill ON exposed_skills (skill_id);

CREATE TABLE patterns (
    scope TEXT NOT NULL,
    rank INTEGER NOT NULL,
    id TEXT NOT NULL,
    reflection_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    statement TEXT NOT NULL,
    support INTEGER NOT NULL,
    against INTEGER NOT NULL,
    effect REAL,
    low REAL,
    high REAL,
    q_value REAL,
    examples TEXT NOT NULL,
    project TEXT NOT NULL,
    detail TEXT NOT NULL,
    at TEXT NOT NULL,
    updated_seq INTEGER NOT NULL,
    PRIMARY KEY (scope, rank)
) STRICT, WITHOUT ROWID;

CREATE TABLE memories (
    num INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    at TEXT NOT NULL,
    project TEXT NOT NULL,
    episode_id TEXT,
    trust TEXT NOT NULL,
    importance REAL NOT NULL,
    digest BLOB NOT NULL,
    updated_seq INTEGER NOT NULL,
    subject TEXT NOT NULL DEFAULT '',
    support INTEGER NOT NULL DEFAULT 1,
    against INTEGER NOT NULL DEFAULT 0,
    evidence TEXT NOT NULL DEFAULT '[]',
    superseded_by TEXT,
    made_by TEXT NOT NULL DEFAULT '[]'
) STRICT;
CREATE INDEX memories_by_project ON memories (project, at);
CREATE INDEX memories_visible ON memories (num, project);
CREATE INDEX memories_changed ON memories (updated_seq);
CREATE INDEX memories_by_episode ON memories (episode_id);

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

CREATE TABLE model_calls (
    id TEXT PRIMARY KEY,
    at TEXT NOT NULL,
    purpose TEXT NOT NULL,
    model TEXT NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    ok INTEGER NOT NULL,
    error TEXT NOT NULL,
    updated_seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX model_calls_by_time ON model_calls (at, cost_usd);

CREATE TABLE tombstones (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    at TEXT NOT NULL,
    updated_seq INTEGER NOT NULL,
    PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;

-- Lamport time runs ahead of the journal's numbers by so much, since events of other logs arrived.
CREATE TABLE lamport (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    ahead INTEGER NOT NULL
) STRICT;

-- What decides about a skill, in the order of stamps (storage/stamps.py); of what is replaced as a whole (memories,
-- descriptions, patterns) the latest stamp alone, without data.
CREATE TABLE history (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    stamp TEXT NOT NULL,
    type TEXT NOT NULL,
    data TEXT,
    PRIMARY KEY (kind, id, stamp)
) STRICT, WITHOUT ROWID;

-- vector: dim float32 values, little-endian, in libSQL's F32_BLOB layout. digest: of the text that was embedded.
CREATE TABLE embeddings (
    kind TEXT NOT NULL,
    model TEXT NOT NULL,
    id TEXT NOT NULL,
    dim INTEGER NOT NULL,
    vector BLOB NOT NULL,
    digest BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX embeddings_by_id ON embeddings (kind, model, id);

-- Text arrives analysed (storage/catalog/words.py), so the tokenizer only has to split at spaces.
CREATE VIRTUAL TABLE skill_words USING fts5 (name, body, tokenize = "unicode61 remove_diacritics 0");
CREATE VIRTUAL TABLE episode_words USING fts5 (task, actions, tokenize = "unicode61 remove_diacritics 0");
CREATE VIRTUAL TABLE memory_words USING fts5 (body, tokenize = "unicode61 remove_diacritics 0");
