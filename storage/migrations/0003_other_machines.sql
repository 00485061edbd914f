-- Events of other machines arrive in any order: what decides about a skill is kept in the order of stamps (see
-- storage/stamps.py), and of what is replaced as a whole the latest stamp.
CREATE TABLE lamport (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    ahead INTEGER NOT NULL
) STRICT;

CREATE TABLE history (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    stamp TEXT NOT NULL,
    type TEXT NOT NULL,
    data TEXT,
    PRIMARY KEY (kind, id, stamp)
) STRICT, WITHOUT ROWID;

-- Two machines may have made the same version of a skill at once: both are kept.
CREATE TABLE all_versions (
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
INSERT INTO all_versions (skill_id, version, log, change, reason, skill, at, updated_seq)
    SELECT skill_id, version, '', change, reason, skill, at, updated_seq FROM skill_versions;
DROP TABLE skill_versions;
ALTER TABLE all_versions RENAME TO skill_versions;

ALTER TABLE skills ADD COLUMN log TEXT NOT NULL DEFAULT '';
ALTER TABLE skill_uses ADD COLUMN stamp TEXT NOT NULL DEFAULT '';
-- Other rows come from the journal, which is projected again.
UPDATE cursor SET log_id = '';
