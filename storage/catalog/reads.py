"""What the rest of the program may ask the catalog."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any

from prowess.storage.catalog import queries as sql
from prowess.storage.catalog import rows
from prowess.storage.catalog.adapter import Connection, Row
from prowess.storage.errors import UnknownEpisode, UnknownSkill
from prowess.storage.models import (
    Adopted,
    Episode,
    EpisodeFilter,
    Exposure,
    Memory,
    Pattern,
    Reward,
    Skill,
    SkillStatus,
    SkillUse,
    SkillVersion,
    Stats,
    Step,
    Trial,
    Where,
)

__all__ = ["Reads", "conditions"]

ANY_EPISODE = EpisodeFilter()
IDS = 500  # in one question
REMEMBERED = 4_096  # skills kept in memory, 2 to 3 kB each: reading one takes as long as ranking it


def conditions(**clauses: tuple[str, Any]) -> tuple[str, list[Any]]:
    """The WHERE of those clauses whose value is not None, with its parameters; a list stands for any of its values."""
    parts: list[str] = []
    params: list[Any] = []
    for clause, value in clauses.values():
        if value is None:
            continue
        many = list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]
        parts.append(clause.replace("(?)", f"({', '.join('?' * len(many))})"))
        params += many
    return (" WHERE " + " AND ".join(parts) if parts else ""), params


class Reads:
    """Queries over one connection. Values are of ``storage.models``; every method raises StoreError only."""

    _db: Connection
    _skills: dict[str, Skill]
    """Those that were asked for by id, until a skill changes."""

    # ---- episodes

    def episode(self, episode_id: str) -> Episode:
        """Raises UnknownEpisode."""
        found = self._db.execute(f"{sql.EPISODE} WHERE id = ?", (episode_id,))
        if not found:
            raise UnknownEpisode(f"no episode has the id {episode_id!r}", hint="list the episodes to see their ids")
        return rows.episode(found[0])

    def find_episode(self, where: Where) -> Episode | None:
        """The newest attempt of this task in this session, else the newest of the task in any session.

        Where the project was assumed, what this session tracks in another one is meant rather than another session's.
        """
        task = (where.task_id, where.project)
        found = self._db.execute(sql.EPISODE + sql.NEWEST_ATTEMPT, (*task, where.session))
        if not found and where.assumed and where.session:
            found = self._db.execute(sql.EPISODE + sql.NEWEST_OF_SESSION, (where.task_id, where.session))
        found = found or self._db.execute(sql.EPISODE + sql.NEWEST_OF_TASK, task)
        return rows.episode(found[0]) if found else None

    def episodes(self, wanted: EpisodeFilter = ANY_EPISODE, limit: int | None = None) -> tuple[Episode, ...]:
        """Episodes that fit, newest first."""
        where, params = conditions(
            project=("project = ?", wanted.project),
            task_id=("task_id = ?", wanted.task_id),
            since=("opened_at >= ?", wanted.since),
            outcome=("outcome = ?", wanted.outcome),
            scored=("(reward IS NOT NULL) = ?", wanted.scored),
            closed=("(closed_at IS NOT NULL) = ?", wanted.closed),
            after=("updated_seq > ?", wanted.after),
            trusted=("(strange = 0) = ?", wanted.trusted),
            ids=("id IN (?)", wanted.ids),
            without=("project NOT IN (?)", wanted.without or None),
        )
        return tuple(
            map(rows.episode, self._limited(f"{sql.EPISODE}{where} ORDER BY opened_at DESC, id DESC", params, limit))
        )

    def newly_scored(self, after: int) -> dict[str, int]:
        """How many scored episodes of each project changed after event ``after``."""
        return dict(self._db.execute(sql.NEWLY_SCORED, (after,)))

    def summaries(self, episode_id: str) -> tuple[Step, ...]:
        """Steps without payloads, by number: ``args`` has the arguments' names, ``error`` is a template."""
        found = self._db.execute(f"{sql.STEP} WHERE episode_id = ? ORDER BY number", (episode_id,))
        return tuple(map(rows.step, found))

    def rewards(self, episode_id: str) -> tuple[Reward, ...]:
        """All scores of an episode, by time."""
        found = self._db.execute(f"{sql.REWARD} WHERE episode_id = ? ORDER BY at, id", (episode_id,))
        return tuple(map(rows.reward, found))

    # ---- skills

    def skills(
        self, *, project: str | None = None, statuses: Collection[SkillStatus] | None = None
    ) -> tuple[Skill, ...]:
        """Skills by name; those for all projects belong to every ``project``."""
        scope = None if project is None else sorted({project, ""})
        where, params = conditions(
            project=("project IN (?)", scope),
            statuses=("status IN (?)", None if statuses is None else sorted(statuses)),
        )
        return tuple(map(rows.skill, self._db.execute(f"{sql.SKILL}{where} ORDER BY name, id", params)))

    def skill(self, id_or_name: str, *, project: str | None = None) -> Skill:
        """A skill by id, else by name: the project's own before one for all projects, a usable one before an archived.

        Raises UnknownSkill, with similar names in the hint.
        """
        found = self._db.execute(f"{sql.SKILL} WHERE id = ?", (id_or_name,))
        if not found:
            scope = None if project is None else sorted({project, ""})
            where, params = conditions(name=("name = ?", id_or_name), project=("project IN (?)", scope))
            found = self._db.execute(f"{sql.SKILL}{where} {sql.BEST_SKILL}", params)
        if not found:
            raise self._unknown_skill(id_or_name)
        return rows.skill(found[0])

    def _unknown_skill(self, name: str) -> UnknownSkill:
        if found := self._db.execute(f"{sql.SKILL} WHERE name = ? {sql.BEST_SKILL}", (name,)):
            known = rows.skill(found[0])
            return UnknownSkill(
                f"no skill has the name {name[:100]!r} here",
                hint=f"project {known.project!r} has one, with the id {known.id}: send that",
            )
        names = dict.fromkeys(known for (known,) in self._db.execute(sql.RECENT_SKILLS))
        near = ", ".join(get_close_matches(name, names, n=3, cutoff=0.5))
        return UnknownSkill(
            f"no skill has the id or name {name[:100]!r}",
            hint=f"did you mean: {near}" if near else "look for one with find_skill, or `prowess skills list`",
        )

    def skills_by_id(self, ids: Collection[str]) -> dict[str, Skill]:
        """Those of ``ids`` that exist."""
        if len(self._skills) > REMEMBERED:
            for key in list(islice(self._skills, REMEMBERED // 2)):
                del self._skills[key]
        wanted = sorted(set(ids))
        missing = [key for key in wanted if key not in self._skills]
        for start in range(0, len(missing), IDS):
            where, params = conditions(ids=("id IN (?)", missing[start : start + IDS]))
            self._skills |= {skill.id: skill for skill in map(rows.skill, self._db.execute(sql.SKILL + where, params))}
        return {key: self._skills[key] for key in wanted if key in self._skills}

    def versions(self, skill_id: str) -> tuple[SkillVersion, ...]:
        """All versions of a skill, oldest first."""
        found = self._db.execute(f"{sql.VERSION} WHERE skill_id = ? ORDER BY version", (skill_id,))
        return tuple(map(rows.version, found))

    def uses(self, skill_id: str | None = None, *, episode_id: str | None = None) -> tuple[SkillUse, ...]:
        """Reported uses in the order of the journal."""
        where, params = conditions(skill=("skill_id = ?", skill_id), episode=("episode_id = ?", episode_id))
        return tuple(map(rows.use, self._db.execute(f"{sql.USE}{where} ORDER BY updated_seq, id", params)))

    # ---- the rest

    def patterns(
        self,
        *,
        project: str | None = None,
        kinds: Collection[str] | None = None,
        min_support: int = 0,
        limit: int | None = None,
    ) -> tuple[Pattern, ...]:
        """What the last reflections found, in their order; the project's own before that over all projects."""
        where, params = conditions(
            scope=("scope IN (?)", None if project is None else sorted({project, ""})),
            kinds=("kind IN (?)", None if kinds is None else sorted(kinds)),
            support=("support >= ?", min_support),
        )
        return tuple(map(rows.pattern, self._limited(f"{sql.PATTERN}{where} ORDER BY scope DESC, rank", params, limit)))

    def memories(
        self,
        *,
        project: str | None = None,
        kinds: Collection[str] | None = None,
        ids: Collection[str] | None = None,
        limit: int | None = None,
    ) -> tuple[Memory, ...]:
        """Memories, newest first; those for all projects belong to every ``project``."""
        where, params = conditions(
            project=("project IN (?)", None if project is None else sorted({project, ""})),
            kinds=("kind IN (?)", None if kinds is None else sorted(kinds)),
            ids=("id IN (?)", None if ids is None else sorted(ids)),
        )
        return tuple(map(rows.memory, self._limited(f"{sql.MEMORY}{where} ORDER BY at DESC, id DESC", params, limit)))

    def has_memories(self) -> bool:
        """Whether there is any memory."""
        return bool(self._db.execute("SELECT 1 FROM memories LIMIT 1"))

    def adopted(self) -> tuple[Adopted, ...]:
        """The memory skills and controllers in use, by project."""
        return tuple(map(rows.adopted, self._db.execute(sql.ADOPTED)))

    def exposures(
        self,
        *,
        ids: Collection[str] | None = None,
        project: str | None = None,
        episode_id: str | None = None,
        skill_id: str | None = None,
        since: str | None = None,
        limit: int | None = None,
    ) -> tuple[Exposure, ...]:
        """What queries were answered with, newest first."""
        where, params = conditions(
            ids=("id IN (?)", None if ids is None else sorted(ids)),
            project=("project = ?", project),
            episode=("episode_id = ?", episode_id),
            skill=("id IN (SELECT exposure_id FROM exposed_skills WHERE skill_id = ?)", skill_id),
            since=("at >= ?", since),
        )
        found = self._limited(f"{sql.EXPOSURE}{where} ORDER BY at DESC, id DESC", params, limit)
        return tuple(rows.exposure(row, self._exposed(row[0])) for row in found)

    def trials(self, *, project: str | None = None, limit: int) -> tuple[Trial, ...]:
        """Matches of the newest ``limit`` questions whose episodes ended with a known outcome, oldest first.

        Of each skill in each episode the first alone: later ones hang on what became of that.
        """
        where, params = conditions(project=("project = ?", project))
        found = self._db.execute(sql.TRIALS.format(where=where), [*params, limit])
        first: dict[tuple[str, str], Trial] = {}
        for trial in map(rows.trial, found):
            first.setdefault((trial.skill_id, trial.episode_id), trial)
        return tuple(first.values())

    def _exposed(self, exposure_id: str) -> tuple[Any, ...]:
        return tuple(map(rows.exposed, self._db.execute(sql.EXPOSED, (exposure_id,))))

    def spent(self, since: str, until: str) -> float:
        """US dollars that language models have cost from the time ``since`` on and before ``until``."""
        [[cost]] = self._db.execute(sql.MODEL_COST, (since, until))
        return float(cost)

    def stats(self, project: str | None = None) -> Stats:
        """How much the catalog holds; of one project, without what belongs to none (what was forgotten, models)."""
        where, params = conditions(project=("project = ?", project))
        [counts] = self._db.execute(sql.COUNTS if project is None else sql.COUNTS_OF_PROJECT, params)
        (episodes, steps, rewards, scored, patterns, memories, uses, exposures, forgotten, calls, cost, last) = counts
        return Stats(
            episodes=episodes,
            steps=steps,
            rewards=rewards,
            scored=scored,
            patterns=patterns,
            memories=memories,
            uses=uses,
            exposures=exposures,
            forgotten=forgotten,
            model_calls=calls,
            cost_usd=cost,
            skills=dict(self._db.execute(sql.SKILLS_BY_STATUS.format(where=where), params)),
            outcomes=dict(self._db.execute(sql.EPISODES_BY_OUTCOME.format(where=where), params)),
            projects=tuple(name for (name,) in self._db.execute(sql.PROJECTS)) if project is None else (project,),
            last_at=last,
        )

    def _limited(self, query: str, params: list[Any], limit: int | None) -> list[Row]:
        if limit is None:
            return self._db.execute(query, params)
        return self._db.execute(f"{query} LIMIT ?", [*params, max(limit, 0)])

    def projects_of(self, named: Mapping[str, Collection[str]]) -> dict[str, str]:
        """The project of each id that is known; ``named`` has ids by table: episodes, skills, memories."""
        found: dict[str, str] = {}
        for table, keys in named.items():
            wanted = sorted(set(keys))
            for start in range(0, len(wanted), IDS):
                where, params = conditions(ids=("id IN (?)", wanted[start : start + IDS]))
                found.update(self._db.execute(f"SELECT id, project FROM {table}{where}", params))  # noqa: S608
        return found
