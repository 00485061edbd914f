"""The tables of the log and what their keys and values are.

``journal`` and ``steps`` hold what was told; the others are what the writer needs to decide the next command.
"""

from __future__ import annotations

import redb

__all__ = [
    "ALL",
    "EPISODES",
    "ERASURES",
    "EXPIRY",
    "EXTERNAL",
    "FOREIGN",
    "FORGOTTEN",
    "IDENTITIES",
    "JOURNAL",
    "KEYS",
    "META",
    "REWARDS",
    "SCHEMA",
    "STEPS",
    "TASKS",
]

# Of the tables, the steps and the types of event in the journal: a program refuses a log whose schema is later than its
# own, since it would write behind what it cannot read.
SCHEMA = 2

# Facts of the file, as msgpack: schema, program (that made it this schema's), id, epoch, epochs, created, scrub,
# backups, owed, unfinished_backup, projects (in which something was recorded here), clock (believed.py), loose (free
# pages are to be given back) and mark:NAME; and of sharing: offset (from number to Lamport time, at the head), held,
# writers, syncs, private, pulled:REMOTE and reread.
META = redb.TableDefinition("meta", key=str, value=bytes)
# seq -> digest (16 bytes), zstd of the event's body (see codec.py)
JOURNAL = redb.TableDefinition("journal", key="u64", value=bytes)
# (episode id, number) -> zstd of the step (see codec.py)
STEPS = redb.TableDefinition("steps", key=(bytes, "u32"), value=bytes)
# episode id -> EpisodeState
EPISODES = redb.TableDefinition("episodes", key=bytes, value=bytes)
# hash of (project, session, task id) -> id of the newest attempt
IDENTITIES = redb.TableDefinition("identities", key=bytes, value=bytes)
# hash of (project, task id) -> id of the newest episode of any session
TASKS = redb.TableDefinition("tasks", key=bytes, value=bytes)
# hash of (client, session, external id) -> episode id, number (4 bytes, big endian)
EXTERNAL = redb.TableDefinition("external", key=bytes, value=bytes)
# (episode id, journal seq of the reward) -> what counts of it (scoring.Score); nothing where an older program wrote it
REWARDS = redb.TableDefinition("rewards", key=(bytes, "u64"), value=bytes)
# hash of (operation, idempotency key) -> Remembered
KEYS = redb.TableDefinition("keys", key=bytes, value=bytes)
# (expiry in Unix milliseconds, hash as in KEYS) -> nothing
EXPIRY = redb.TableDefinition("expiry", key=("u64", bytes), value=bytes)

# identity of a foreign event (see foreign.py) -> nothing, or "~" where it came from somebody who was not trusted
FOREIGN = redb.TableDefinition("foreign", key=bytes, value=bytes)
# hash of (kind, id) of what was forgotten -> the stamp of the event that says so
FORGOTTEN = redb.TableDefinition("forgotten", key=bytes, value=bytes)
# identity of an event whose payload was erased here and may still be at the remote -> what of it (see erasures.py)
ERASURES = redb.TableDefinition("erasures", key=bytes, value=bytes)

ALL = (META, JOURNAL, STEPS, EPISODES, IDENTITIES, TASKS, EXTERNAL, REWARDS, KEYS, EXPIRY, FOREIGN, FORGOTTEN, ERASURES)
