"""Turn journal events into rows.

Each event is applied by its own function as soon as it is read; what depends on all events of an episode (its counts,
its reward, its searchable words) is settled once at the end of the batch. How the journal is cut into batches makes no
difference to the rows, nor does the order in which events of other logs arrived: those of one log come in their order,
and where that is not enough, the order of stamps decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from prowess.storage import events as ev
from prowess.storage import scoring
from prowess.storage.catalog import columns, rows
from prowess.storage.catalog import queries as sql
from prowess.storage.catalog.adapter import Connection
from prowess.storage.catalog.arrival import Told, arrivals, subject
from prowess.storage.catalog.forgetting import bury, drop_skill, forget, forget_memory, is_buried
from prowess.storage.catalog.words import TEXT_STEPS, TEXTS_PER_EPISODE, words
from prowess.storage.models import Skill, not_before
from prowess.storage.stamps import Identity, authority, is_strange, log_of, strange_twin

__all__ = ["HANDLERS", "Projector"]

AT_ONCE = "(made at once with another machine's version of this number)"


class Projector:
    """Applies one batch; made anew for each, used inside a transaction."""

    def __init__(self, db: Connection, identity: Identity) -> None:
        self._db = db
        self._identity = identity
        self._opened: dict[str, int] = {}
        self._grown: dict[str, tuple[int, int]] = {}
        self._scored: dict[str, int] = {}
        self._chunks: dict[tuple[str, int], None] = {}
        self._stamp = ""
        self._log = ""
        self._actor = ""

    def apply(self, envelopes: Sequence[ev.Envelope]) -> None:
        """Write the rows of ``envelopes``, which follow each other in the journal.

        Raises StoreNewer for types and versions of later programs, StoreDamaged for what cannot be read.
        """
        for told in arrivals(self._db, envelopes, self._identity):
            about = subject(told.event)
            if about is None:
                self._carry_out(told)
            elif about[0] == "skill":
                self._decide(about[1], told)
            elif self._is_latest(*about, told):
                self._carry_out(told)
        self._settle()

    def _carry_out(self, told: Told) -> None:
        self._stamp, self._log, self._actor = told.stamp, told.log, told.actor
        HANDLERS[told.type](self, told.event, told.seq)

    def _is_latest(self, kind: str, key: str, told: Told) -> bool:
        """Whether ``told`` replaces what is known of this: it was decided later, not by a stranger of others'."""
        found = self._db.execute(sql.LATEST, (kind, key))
        latest = found[0][0] if found else ""
        if found and authority(latest) > authority(told.stamp):
            return False
        self._db.execute(sql.DROP_HISTORY, (kind, key, max(latest, told.stamp)))
        self._db.execute(sql.ADD_HISTORY, (kind, key, told.stamp, told.type, None))
        return True

    def _decide(self, skill_id: str, told: Told) -> None:
        """Add to a skill's history; what belongs before something known has the whole of it told again."""
        row = ("skill", skill_id, told.stamp, told.type, rows.to_json(_without_reason(told.event)))
        late = self._db.execute(f"{sql.LATEST} AND stamp > ? LIMIT 1", ("skill", skill_id, told.stamp))
        self._db.execute(sql.ADD_HISTORY, row)
        if told.log != self._identity.log:  # it takes the place of what it was while its writer was a stranger
            late += self._db.execute(sql.DROP_TWIN, ("skill", skill_id, strange_twin(told.stamp)))
        if late:
            self._retell(skill_id, told.seq)
        else:
            self._carry_out(told)

    def _retell(self, skill_id: str, seq: int) -> None:
        drop_skill(self._db, skill_id)
        for place, kind, data in self._db.execute(sql.HISTORY, ("skill", skill_id)):
            event = rows.event(kind, data)
            self._carry_out(Told(kind, event, seq, place, log_of(place)))

    def _settle(self) -> None:
        self._db.many(sql.ADD_TO_COUNT, [(more, seq, key) for key, (more, seq) in self._grown.items()])
        self._db.many(sql.COUNT_STEPS, [(seq, key) for key, seq in self._opened.items()])
        for key, seq in self._scored.items():
            self._score(key, seq)
        for key, chunk in self._chunks:
            self._index_episode(key, chunk)

    def _score(self, episode_id: str, seq: int) -> None:
        reward = scoring.combine([scoring.Score(*row) for row in self._db.execute(sql.SCORES, (episode_id,))])
        self._db.execute(sql.SET_REWARD, (reward, scoring.outcome_of(reward), seq, episode_id))

    def _index_episode(self, episode_id: str, chunk: int) -> None:
        found = self._db.execute(sql.EPISODE_TEXT, (episode_id,))
        if not found or chunk >= TEXTS_PER_EPISODE:
            return
        [[num, task]] = found
        first = chunk * TEXT_STEPS + 1
        steps = self._db.execute(sql.CHUNK_ACTIONS, (episode_id, first, first + TEXT_STEPS - 1))
        # A word counts once for these steps: a command run thirty times is no better a match.
        actions = dict.fromkeys(word for tool, action in steps for word in words(f"{tool or ''} {action}"))
        rowid = num * TEXTS_PER_EPISODE + chunk
        self._db.execute("DELETE FROM episode_words WHERE rowid = ?", (rowid,))
        self._db.execute(sql.EPISODE_WORDS, (rowid, " ".join(words(task)) if chunk == 0 else "", " ".join(actions)))

    # ---- episodes

    def episode_opened(self, event: ev.EpisodeOpened, seq: int) -> None:
        self._db.execute(sql.OPEN_EPISODE, columns.episode(event, seq, is_strange(self._log)))
        self._opened[event.episode_id] = self._scored[event.episode_id] = seq
        self._chunks[event.episode_id, 0] = None
        # Steps may have come before, from elsewhere.
        for (chunk,) in self._db.execute(sql.CHUNKS_OF_EPISODE, (TEXT_STEPS, event.episode_id)):
            self._chunks[event.episode_id, chunk] = None

    def episode_described(self, event: ev.EpisodeDescribed, seq: int) -> None:
        self._db.execute(sql.DESCRIBE_EPISODE, (event.task, rows.digest(event.task), seq, event.episode_id))
        self._chunks[event.episode_id, 0] = None

    def episode_closed(self, event: ev.EpisodeClosed, seq: int) -> None:
        self._db.execute(sql.CLOSE_EPISODE, (event.at, seq, event.episode_id))

    def step_tracked(self, event: ev.StepTracked, seq: int) -> None:
        row = columns.step(event, seq)
        added = self._db.execute(sql.ADD_STEP, row)
        if not added:  # a log that was restored, and a copy of one, go on from the same number
            self._db.execute(sql.REPLACE_STEP, row)
        more = self._grown.get(event.episode_id, (0, 0))[0] + len(added)
        self._grown[event.episode_id] = (more, seq)
        self._chunks[event.episode_id, (event.number - 1) // TEXT_STEPS] = None

    def reward_scored(self, event: ev.RewardScored, seq: int) -> None:
        given = event.reward
        self._db.execute(sql.ADD_REWARD, columns.reward(given, seq))
        self._scored[given.episode_id] = seq

    # ---- skills

    def skill_saved(self, event: ev.SkillSaved, seq: int) -> None:
        skill = event.skill
        self._save_version(event, seq)
        if self._stays(skill):
            return
        [[num]] = self._db.execute(sql.SAVE_SKILL, columns.skill(skill, seq, self._log))
        self._db.execute(sql.UNBURY, ("skill", skill.id))
        self._db.execute(sql.COUNT_USES, (seq, skill.id))
        self._index_skill(num, skill)

    def _stays(self, skill: Skill) -> bool:
        """Whether the version that counts now goes on counting, once ``skill`` was saved.

        The log that made it may replace it, and others with a later version. A stranger's is only a draft: it replaces
        neither what others made nor what somebody has decided about, and is replaced by whatever others make.
        """
        present = self._db.execute(sql.SKILL_AUTHORITY, (skill.id,))
        if not present:
            return False
        [(version, log, status)] = present
        if is_strange(self._log) and (status != "draft" or not is_strange(log)):
            return True
        if is_strange(log) and not is_strange(self._log):
            return False
        return bool(log != self._log and version >= skill.version)

    def _save_version(self, event: ev.SkillSaved, seq: int) -> None:
        skill = event.skill
        at = skill.updated_at or skill.created_at
        others = self._db.execute(sql.OTHER_VERSIONS, (skill.id, skill.version, self._log))
        reason = " ".join(filter(None, (event.reason, AT_ONCE if others else "")))
        row = (skill.id, skill.version, self._log, event.change, reason, rows.to_json(skill), at, seq)
        self._db.execute(sql.SAVE_VERSION, row)

    def _index_skill(self, num: int, skill: Skill) -> None:
        tools = [f"{step.tool or ''} {step.note}" for step in skill.steps]
        needs = [f"{parameter.name} {parameter.description}" for parameter in skill.parameters]
        body = words(" ".join([skill.description, *skill.keywords, *tools, *needs]))
        self._db.execute("DELETE FROM skill_words WHERE rowid = ?", (num,))
        self._db.execute(sql.SKILL_WORDS, (num, " ".join(words(skill.name)), " ".join(body)))

    def skill_status_set(self, event: ev.SkillStatusSet, seq: int) -> None:
        """A stranger's draft becomes active by saving its text: what its id stands for they may change meanwhile."""
        present = self._db.execute(sql.SKILL_AUTHORITY, (event.skill_id,))
        if event.status == "active" and present and is_strange(present[0][1]):
            return
        self._db.execute(sql.SET_STATUS, (event.status, self._decided_at(event), seq, event.skill_id))

    def skill_trial_ended(self, event: ev.SkillTrialEnded, seq: int) -> None:
        self._db.execute(sql.END_TRIAL, (self._decided_at(event), seq, event.skill_id))

    def skill_pinned(self, event: ev.SkillPinned, seq: int) -> None:
        self._db.execute(sql.SET_PINNED, (event.pinned, self._decided_at(event), seq, event.skill_id))

    def _decided_at(self, event: ev.SkillStatusSet | ev.SkillTrialEnded | ev.SkillPinned) -> str:
        """When: not before what it was decided about, though the clock of who made that may have been ahead."""
        found = self._db.execute(sql.SKILL_UPDATED, (event.skill_id,))
        return not_before(found[0][0], event.at) if found else event.at

    def skill_used(self, event: ev.SkillUsed, seq: int) -> None:
        use = event.use
        episode = "" if is_buried(self._db, "episode", use.episode_id) else use.episode_id
        row = (use.id, use.skill_id, use.version, episode, use.success, use.at, seq, self._stamp)
        if self._db.execute(sql.ADD_USE, row):
            self._db.execute(sql.COUNT_USES, (seq, use.skill_id))

    # ---- the rest

    def exposure_made(self, event: ev.ExposureMade, seq: int) -> None:
        made = event.exposure
        row = (made.id, made.at, made.query, made.project, made.task_id, made.episode_id, seq, made.session)
        self._db.execute(sql.ADD_EXPOSURE, row)
        self._db.many(
            sql.ADD_EXPOSED,
            [(made.id, s.skill_id, s.version, s.rank, s.score, s.shown) for s in made.skills],
        )

    def patterns_reflected(self, event: ev.PatternsReflected, seq: int) -> None:
        self._db.execute(sql.DROP_PATTERNS, (event.project,))
        found = enumerate(event.patterns, start=1)
        self._db.many(sql.ADD_PATTERN, [columns.pattern(pattern, rank, event, seq) for rank, pattern in found])

    def memory_saved(self, event: ev.MemorySaved, seq: int) -> None:
        saved = event.memory
        [[num]] = self._db.execute(sql.SAVE_MEMORY, columns.memory(saved, seq))
        self._db.execute(sql.UNBURY, ("memory", saved.id))
        self._db.execute("DELETE FROM memory_words WHERE rowid = ?", (num,))
        if saved.superseded_by is None:
            self._db.execute(sql.MEMORY_WORDS, (num, " ".join(words(saved.text))))

    def memory_deleted(self, event: ev.MemoryDeleted, seq: int) -> None:
        forget_memory(self._db, event.memory_id)
        bury(self._db, "memory", event.memory_id, event.at, seq)

    def controller_adopted(self, event: ev.ControllerAdopted, seq: int) -> None:
        scores = (event.reward, event.before)
        told = (event.project, event.at, event.bank, event.weights, event.run_id, event.embedding)
        self._db.execute(sql.ADOPT_CONTROLLER, (*told, *scores, rows.to_json(event.skills), event.reason, seq))

    def model_answered(self, event: ev.ModelAnswered, seq: int) -> None:
        self._db.execute(sql.ADD_MODEL_CALL, columns.model_call(event, seq))

    def forgotten(self, event: ev.Forgotten, seq: int) -> None:
        for skill_id in forget(self._db, event, seq, self._stamp, event.alone(self._actor)):
            self._retell(skill_id, seq)

    def privacy_set(self, event: ev.PrivacySet, seq: int) -> None:
        """Nothing to do: no row is made of it, here or elsewhere."""

    def steps_trimmed(self, event: ev.StepsTrimmed, seq: int) -> None:
        """Nothing to do: the catalog holds summaries only, and they stay."""


def _without_reason(event: ev.Event) -> ev.Event:
    """Why a status changed stands in the journal; no row is made of it."""
    if isinstance(event, ev.SkillStatusSet | ev.SkillTrialEnded):
        return msgspec.structs.replace(event, reason="")
    return event


HANDLERS: dict[str, Callable[[Projector, Any, int], None]] = {
    "episode.opened": Projector.episode_opened,
    "episode.described": Projector.episode_described,
    "episode.closed": Projector.episode_closed,
    "step.tracked": Projector.step_tracked,
    "reward.scored": Projector.reward_scored,
    "skill.saved": Projector.skill_saved,
    "skill.status_set": Projector.skill_status_set,
    "skill.trial_ended": Projector.skill_trial_ended,
    "skill.pinned": Projector.skill_pinned,
    "skill.used": Projector.skill_used,
    "exposure.made": Projector.exposure_made,
    "patterns.reflected": Projector.patterns_reflected,
    "memory.saved": Projector.memory_saved,
    "memory.deleted": Projector.memory_deleted,
    "controller.adopted": Projector.controller_adopted,
    "privacy.set": Projector.privacy_set,
    "model.answered": Projector.model_answered,
    "payloads.forgotten": Projector.forgotten,
    "steps.trimmed": Projector.steps_trimmed,
}  # what came from another log is taken out of its "foreign.received" before (see arrival.py)
