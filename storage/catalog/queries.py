"""The catalog's statements by name. ``rows.py`` reads their columns in the order that stands here."""

from __future__ import annotations

__all__ = [
    "ADD_EXPOSED",
    "ADD_EXPOSURE",
    "ADD_HISTORY",
    "ADD_MODEL_CALL",
    "ADD_PATTERN",
    "ADD_REWARD",
    "ADD_STEP",
    "ADD_TO_COUNT",
    "ADD_USE",
    "BEST_SKILL",
    "BLANK_EXPOSURES",
    "BURIED",
    "BURY",
    "CHUNKS_OF_EPISODE",
    "CHUNK_ACTIONS",
    "CLOSE_EPISODE",
    "COUNTS",
    "COUNTS_OF_PROJECT",
    "COUNT_STEPS",
    "COUNT_USES",
    "CURSOR",
    "DESCRIBE_EPISODE",
    "DRAWN_FROM",
    "DROP_HISTORY",
    "DROP_PATTERNS",
    "DROP_TWIN",
    "END_TRIAL",
    "EPISODE",
    "EPISODES_BY_OUTCOME",
    "EPISODE_TEXT",
    "EPISODE_WORDS",
    "EXPOSED",
    "EXPOSURE",
    "HISTORY",
    "HISTORY_NAMING",
    "LAMPORT",
    "LAST_FORGOTTEN",
    "LATEST",
    "MEMORY",
    "MEMORY_WORDS",
    "MODEL_COST",
    "NEWEST_ATTEMPT",
    "NEWEST_OF_SESSION",
    "NEWEST_OF_TASK",
    "NEWLY_SCORED",
    "OPEN_EPISODE",
    "OTHER_VERSIONS",
    "PATTERN",
    "PATTERNS_NAMING",
    "PROJECTS",
    "RECENT_SKILLS",
    "REWARD",
    "SAVE_MEMORY",
    "SAVE_SKILL",
    "SAVE_VERSION",
    "SCORES",
    "SET_CURSOR",
    "SET_EXAMPLES",
    "SET_HISTORY",
    "SET_LAMPORT",
    "SET_PARAMETERS",
    "SET_PINNED",
    "SET_REWARD",
    "SET_STATUS",
    "SET_VERSION",
    "SKILL",
    "SKILLS_BY_STATUS",
    "SKILLS_NAMING",
    "SKILL_AUTHORITY",
    "SKILL_UPDATED",
    "SKILL_WORDS",
    "STEP",
    "TRIALS",
    "UNBURY",
    "UNLINK_USES",
    "USE",
    "VERSION",
    "VERSIONS_NAMING",
]

EPISODE = (
    "SELECT id, project, session, task_id, attempt, opened_at, task, agent, closed_at, steps, reward, outcome,"
    " updated_seq FROM episodes"
)
STEP = (
    "SELECT episode_id, number, at, action, numbered, tool, arg_names, outcome, error, context, duration_ms,"
    " external_id FROM steps"
)
SCORES = "SELECT id, at, step, source, value FROM rewards WHERE episode_id = ?"
REWARD = "SELECT id, episode_id, step, at, value, source, label, reason, evidence FROM rewards"
SKILL = (
    "SELECT id, name, description, steps, version, parameters, status, project, author, trust, pinned, episodes,"
    " support, keywords, use_count, success_rate, created_at, updated_at, last_used_at, updated_seq, trial_of"
    " FROM skills"
)
BEST_SKILL = (
    "ORDER BY project = '', CASE status WHEN 'active' THEN 0 WHEN 'draft' THEN 1 ELSE 2 END,"
    " updated_seq DESC, id LIMIT 1"
)
RECENT_SKILLS = "SELECT name FROM skills ORDER BY updated_seq DESC LIMIT 2000"
VERSION = "SELECT skill, version, change, reason, at, updated_seq FROM skill_versions"
USE = "SELECT id, skill_id, version, episode_id, success, at FROM skill_uses"
EXPOSURE = "SELECT id, at, query, project, task_id, episode_id, session FROM exposures"
EXPOSED = "SELECT skill_id, version, rank, score, shown FROM exposed_skills WHERE exposure_id = ? ORDER BY rank"
PATTERN = (
    "SELECT id, kind, statement, support, against, effect, low, high, q_value, examples, project, detail FROM patterns"
)
MEMORY = (
    "SELECT id, kind, text, at, project, episode_id, trust, importance, updated_seq, subject, support, against,"
    " evidence, superseded_by, made_by FROM memories"
)
ADOPTED = (
    "SELECT project, at, bank, weights, run_id, embedding, reward, before, skills, reason FROM controllers"
    " ORDER BY project"
)
# A question is asked before or during its episode: the one it named; else of its task the first that was not over;
# else of its session the one that was open, or the next that was opened within an hour.
TRIALS = """
WITH asked AS (
    SELECT id, at, coalesce(
        episode_id,
        CASE WHEN task_id IS NOT NULL THEN coalesce((
            SELECT p.id FROM episodes p WHERE p.task_id = e.task_id AND p.project = e.project
                AND p.session = e.session AND coalesce(p.closed_at, e.at) >= e.at
            ORDER BY p.opened_at, p.id LIMIT 1
        ), (
            SELECT p.id FROM episodes p WHERE p.task_id = e.task_id AND p.project = e.project
                AND coalesce(p.closed_at, e.at) >= e.at
            ORDER BY p.opened_at, p.id LIMIT 1
        )) WHEN e.session != '' THEN coalesce((
            SELECT p.id FROM episodes p WHERE p.session = e.session AND p.project = e.project AND p.opened_at <= e.at
                AND coalesce(p.closed_at, e.at) >= e.at
            ORDER BY p.opened_at DESC, p.id DESC LIMIT 1
        ), (
            SELECT p.id FROM episodes p WHERE p.session = e.session AND p.project = e.project AND p.opened_at > e.at
                AND p.opened_at <= strftime('%Y-%m-%dT%H:%M:%fZ', e.at, '+1 hour')
            ORDER BY p.opened_at, p.id LIMIT 1
        )) END
    ) AS episode_id
    FROM (SELECT * FROM exposures{where} ORDER BY at DESC, id DESC LIMIT ?) e
)
SELECT x.skill_id, x.version, x.shown, p.id, asked.at, p.outcome = 'success', p.reward
FROM asked JOIN episodes p ON p.id = asked.episode_id JOIN exposed_skills x ON x.exposure_id = asked.id
WHERE p.outcome != 'unknown' ORDER BY asked.at, asked.id, x.rank
"""
MODEL_COST = "SELECT coalesce(sum(cost_usd), 0.0) FROM model_calls WHERE at >= ? AND at < ?"

NEWEST_ATTEMPT = (
    " WHERE task_id = ? AND project = ? AND session = ? ORDER BY attempt DESC, opened_at DESC, id DESC LIMIT 1"
)
NEWEST_OF_SESSION = " WHERE task_id = ? AND session = ? ORDER BY opened_at DESC, id DESC LIMIT 1"
NEWEST_OF_TASK = " WHERE task_id = ? AND project = ? ORDER BY opened_at DESC, id DESC LIMIT 1"
NEWLY_SCORED = "SELECT project, count(*) FROM episodes WHERE updated_seq > ? AND reward IS NOT NULL GROUP BY project"

COUNTS = """
SELECT (SELECT count(*) FROM episodes), (SELECT coalesce(sum(steps), 0) FROM episodes), (SELECT count(*) FROM rewards),
    (SELECT count(reward) FROM episodes), (SELECT count(*) FROM patterns), (SELECT count(*) FROM memories),
    (SELECT count(*) FROM skill_uses), (SELECT count(*) FROM exposures), (SELECT count(*) FROM tombstones),
    (SELECT count(*) FROM model_calls), (SELECT coalesce(sum(cost_usd), 0.0) FROM model_calls),
    (SELECT max(opened_at) FROM episodes)
"""
COUNTS_OF_PROJECT = """
WITH this (project) AS (SELECT ?), mine AS (SELECT id, steps, reward, opened_at FROM episodes NATURAL JOIN this)
SELECT (SELECT count(*) FROM mine), (SELECT coalesce(sum(steps), 0) FROM mine),
    (SELECT count(*) FROM rewards WHERE episode_id IN (SELECT id FROM mine)),
    (SELECT count(reward) FROM mine), (SELECT count(*) FROM patterns NATURAL JOIN this),
    (SELECT count(*) FROM memories NATURAL JOIN this),
    (SELECT count(*) FROM skill_uses WHERE episode_id IN (SELECT id FROM mine)),
    (SELECT count(*) FROM exposures NATURAL JOIN this), 0, 0, 0.0, (SELECT max(opened_at) FROM mine)
"""
SKILLS_BY_STATUS = "SELECT status, count(*) FROM skills{where} GROUP BY status ORDER BY status"
EPISODES_BY_OUTCOME = "SELECT outcome, count(*) FROM episodes{where} GROUP BY outcome ORDER BY outcome"
PROJECTS = "SELECT project FROM episodes UNION SELECT project FROM skills UNION SELECT project FROM memories ORDER BY 1"

# ---- cursor

CURSOR = "SELECT log_id, epoch, seq, digest FROM cursor"
SET_CURSOR = (
    "INSERT INTO cursor (one, log_id, epoch, seq, digest) VALUES (1, ?, ?, ?, ?) ON CONFLICT (one) DO UPDATE SET"
    " log_id = excluded.log_id, epoch = excluded.epoch, seq = excluded.seq, digest = excluded.digest"
)

# ---- projection: episodes

OPEN_EPISODE = (
    "INSERT INTO episodes (id, project, session, task_id, attempt, opened_at, task, agent, digest, updated_seq,"
    " strange) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET project = excluded.project,"
    " session = excluded.session, task_id = excluded.task_id, attempt = excluded.attempt,"
    " opened_at = excluded.opened_at, task = excluded.task, agent = excluded.agent, digest = excluded.digest,"
    " updated_seq = excluded.updated_seq, strange = excluded.strange WHERE episodes.strange > excluded.strange"
)
DESCRIBE_EPISODE = "UPDATE episodes SET task = ?, digest = ?, updated_seq = ? WHERE id = ?"
# The later of two times, whichever came first.
CLOSE_EPISODE = "UPDATE episodes SET closed_at = max(ifnull(closed_at, ''), ?), updated_seq = ? WHERE id = ?"
COUNT_STEPS = (
    "UPDATE episodes SET steps = (SELECT count(*) FROM steps WHERE episode_id = episodes.id),"
    " updated_seq = max(updated_seq, ?) WHERE id = ?"
)
ADD_TO_COUNT = "UPDATE episodes SET steps = steps + ?, updated_seq = max(updated_seq, ?) WHERE id = ?"
_INSERT_STEP = (
    "INSERT INTO steps (episode_id, number, at, action, numbered, tool, arg_names, outcome, error, context,"
    " duration_ms, external_id, size, updated_seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
ADD_STEP = f"{_INSERT_STEP} ON CONFLICT DO NOTHING RETURNING number"
# Of two steps with one number the later one; of two at one time the same on every machine, whichever came first.
REPLACE_STEP = (
    f"{_INSERT_STEP} ON CONFLICT DO UPDATE SET at = excluded.at, action = excluded.action,"
    " numbered = excluded.numbered, tool = excluded.tool, arg_names = excluded.arg_names, outcome = excluded.outcome,"
    " error = excluded.error, context = excluded.context, duration_ms = excluded.duration_ms,"
    " external_id = excluded.external_id, size = excluded.size, updated_seq = excluded.updated_seq"
    " WHERE (excluded.at, excluded.action, excluded.numbered, ifnull(excluded.tool, ''),"
    " ifnull(excluded.arg_names, ''), excluded.outcome, ifnull(excluded.error, ''), ifnull(excluded.context, ''),"
    " ifnull(excluded.duration_ms, -1), ifnull(excluded.external_id, ''), excluded.size)"
    " > (steps.at, steps.action, steps.numbered, ifnull(steps.tool, ''),"
    " ifnull(steps.arg_names, ''), steps.outcome, ifnull(steps.error, ''), ifnull(steps.context, ''),"
    " ifnull(steps.duration_ms, -1), ifnull(steps.external_id, ''), steps.size)"
)
ADD_REWARD = (
    "INSERT INTO rewards (id, episode_id, step, at, value, source, label, reason, evidence, updated_seq)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
SET_REWARD = "UPDATE episodes SET reward = ?, outcome = ?, updated_seq = max(updated_seq, ?) WHERE id = ?"
CHUNKS_OF_EPISODE = "SELECT DISTINCT (number - 1) / ? FROM steps WHERE episode_id = ?"
EPISODE_TEXT = "SELECT num, task FROM episodes WHERE id = ?"
CHUNK_ACTIONS = "SELECT tool, action FROM steps WHERE episode_id = ? AND number BETWEEN ? AND ? ORDER BY number"

# ---- projection: skills

SAVE_SKILL = (
    "INSERT INTO skills (id, name, description, steps, version, parameters, status, project, author, trust, pinned,"
    " episodes, support, keywords, created_at, updated_at, digest, updated_seq, trial_of, log)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
    " name = excluded.name, description = excluded.description, steps = excluded.steps, version = excluded.version,"
    " parameters = excluded.parameters, status = excluded.status, project = excluded.project, author = excluded.author,"
    " trust = excluded.trust, pinned = excluded.pinned, episodes = excluded.episodes, support = excluded.support,"
    " keywords = excluded.keywords, updated_at = excluded.updated_at, digest = excluded.digest,"
    " updated_seq = excluded.updated_seq, trial_of = excluded.trial_of, log = excluded.log RETURNING num"
)
SAVE_VERSION = (
    "INSERT INTO skill_versions (skill_id, version, log, change, reason, skill, at, updated_seq)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (skill_id, version, log) DO UPDATE SET"
    " change = excluded.change, reason = excluded.reason, skill = excluded.skill,"
    " at = excluded.at, updated_seq = excluded.updated_seq"
)
SET_STATUS = "UPDATE skills SET status = ?, updated_at = ?, updated_seq = ? WHERE id = ?"
END_TRIAL = "UPDATE skills SET trial_of = NULL, updated_at = ?, updated_seq = ? WHERE id = ?"
SET_PINNED = "UPDATE skills SET pinned = ?, updated_at = ?, updated_seq = ? WHERE id = ?"
SKILL_AUTHORITY = "SELECT version, log, status FROM skills WHERE id = ?"
SKILL_UPDATED = "SELECT updated_at FROM skills WHERE id = ?"
OTHER_VERSIONS = "SELECT 1 FROM skill_versions WHERE skill_id = ? AND version = ? AND log != ? LIMIT 1"
ADD_USE = (
    "INSERT INTO skill_uses (id, skill_id, version, episode_id, success, at, updated_seq, stamp)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING id"
)
# The running mean of the skill library, from all uses anew: whatever their order, the sum is the same.
COUNT_USES = (
    "UPDATE skills SET (use_count, success_rate, last_used_at) ="
    " (SELECT count(*), coalesce(avg(success), 1.0), max(at) FROM skill_uses WHERE skill_id = skills.id),"
    " updated_seq = max(updated_seq, ?) WHERE id = ?"
)

# ---- projection: the rest

ADD_EXPOSURE = (
    "INSERT INTO exposures (id, at, query, project, task_id, episode_id, updated_seq, session)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING"
)
ADD_EXPOSED = (
    "INSERT INTO exposed_skills (exposure_id, skill_id, version, rank, score, shown) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT DO NOTHING"
)
DROP_PATTERNS = "DELETE FROM patterns WHERE scope = ?"
ADD_PATTERN = (
    "INSERT INTO patterns (scope, rank, id, reflection_id, kind, statement, support, against, effect, low, high,"
    " q_value, examples, project, detail, at, updated_seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
SAVE_MEMORY = (
    "INSERT INTO memories (id, kind, text, at, project, episode_id, trust, importance, digest, updated_seq, subject,"
    " support, against, evidence, superseded_by, made_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, text = excluded.text,"
    " at = excluded.at, project = excluded.project, episode_id = excluded.episode_id, trust = excluded.trust,"
    " importance = excluded.importance, digest = excluded.digest, updated_seq = excluded.updated_seq,"
    " subject = excluded.subject, support = excluded.support, against = excluded.against,"
    " evidence = excluded.evidence, superseded_by = excluded.superseded_by, made_by = excluded.made_by RETURNING num"
)
ADOPT_CONTROLLER = (
    "INSERT INTO controllers (project, at, bank, weights, run_id, embedding, reward, before, skills, reason,"
    " updated_seq) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project) DO UPDATE SET at = excluded.at,"
    " bank = excluded.bank, weights = excluded.weights, run_id = excluded.run_id, embedding = excluded.embedding,"
    " reward = excluded.reward, before = excluded.before, skills = excluded.skills, reason = excluded.reason,"
    " updated_seq = excluded.updated_seq"
)
ADD_MODEL_CALL = (
    "INSERT INTO model_calls (id, at, purpose, model, input_tokens, output_tokens, cost_usd, ok, error, updated_seq)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
BURY = (
    "INSERT INTO tombstones (kind, id, at, updated_seq) VALUES (?, ?, ?, ?) ON CONFLICT (kind, id) DO UPDATE SET"
    " at = max(tombstones.at, excluded.at), updated_seq = excluded.updated_seq"
)
UNBURY = "DELETE FROM tombstones WHERE kind = ? AND id = ?"
BURIED = "SELECT 1 FROM tombstones WHERE kind = ? AND id = ?"

# ---- the order of stamps

LAMPORT = "SELECT ahead FROM lamport"
SET_LAMPORT = "INSERT INTO lamport (one, ahead) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET ahead = excluded.ahead"
ADD_HISTORY = "INSERT INTO history (kind, id, stamp, type, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
LATEST = "SELECT stamp FROM history WHERE kind = ? AND id = ?"
LAST_FORGOTTEN = "SELECT stamp, data FROM history WHERE kind = ? AND id = ?"
HISTORY = "SELECT stamp, type, data FROM history WHERE kind = ? AND id = ? ORDER BY stamp"
DROP_TWIN = "DELETE FROM history WHERE kind = ? AND id = ? AND stamp = ? RETURNING id"
DROP_HISTORY = "DELETE FROM history WHERE kind = ? AND id = ? AND stamp <= ?"

# ---- forgetting

UNLINK_USES = "UPDATE skill_uses SET episode_id = '', updated_seq = ? WHERE episode_id = ?"
BLANK_EXPOSURES = (
    "UPDATE exposures SET query = '', task_id = NULL, episode_id = NULL, updated_seq = ? WHERE episode_id = ?"
)
PATTERNS_NAMING = "SELECT scope, rank, examples FROM patterns WHERE instr(examples, ?) > 0"
SET_EXAMPLES = "UPDATE patterns SET examples = ?, updated_seq = ? WHERE scope = ? AND rank = ?"
SKILLS_NAMING = "SELECT id, parameters FROM skills WHERE instr(episodes, ?) > 0"
SET_PARAMETERS = "UPDATE skills SET parameters = ? WHERE id = ?"
VERSIONS_NAMING = "SELECT skill_id, version, log, skill FROM skill_versions WHERE instr(skill, ?) > 0"
SET_VERSION = "UPDATE skill_versions SET skill = ? WHERE skill_id = ? AND version = ? AND log = ?"
HISTORY_NAMING = "SELECT id, stamp, data FROM history WHERE kind = 'skill' AND instr(data, ?) > 0"
SET_HISTORY = "UPDATE history SET data = ? WHERE kind = 'skill' AND id = ? AND stamp = ?"
DRAWN_FROM = "SELECT id FROM memories WHERE episode_id = ? ORDER BY id"

# ---- words: one FTS5 table per kind

SKILL_WORDS = "INSERT INTO skill_words (rowid, name, body) VALUES (?, ?, ?)"
EPISODE_WORDS = "INSERT INTO episode_words (rowid, task, actions) VALUES (?, ?, ?)"
MEMORY_WORDS = "INSERT INTO memory_words (rowid, body) VALUES (?, ?)"
