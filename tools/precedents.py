"""Past successes whose tasks are like the one asked about, and what answers they speak for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from prowess.learning.ranking import Ranked
from prowess.learning.synthesis_answers import Answer, answers, joined, moves_of_skill
from prowess.learning.synthesis_calls import calls_of
from prowess.learning.synthesis_evidence import Moves, Outlook, Precedent, moves_of, particular_free
from prowess.storage.errors import UnknownEpisode
from prowess.storage.models import Episode, EpisodeFilter, Skill
from prowess.tools.skills import flat_steps, known_parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from prowess.storage.store import Store

__all__ = ["Answers", "with_precedents"]

NEAREST = 50  # episodes of each retriever: what is farther away says little
PARTS = 50  # skills that are looked up by the names of likely moves
NAMED_MOVES = 12
LEXICAL_SHARE = 0.4  # of nearness, beside the cosine
REMEMBERED = 20_000  # episodes' or skills' moves kept in memory, a few hundred bytes each

_Told = tuple[int, tuple[str, ...]]  # the episode's last change, and its moves
_Known = tuple[Skill, Moves]  # the skill as it was read, with the skills that it refers to, until any changes

Match = tuple[Ranked, Skill]


class Answers(NamedTuple):
    """Skills, the best first, and ids of episodes that are examples, each with its place (from 0) among all answers."""

    matches: list[Match]
    examples: list[tuple[int, str]]


async def with_precedents(
    ranked: Sequence[Match], query: str, vector: NDArray[np.float32] | None, *, project: str | None, store: Store
) -> Answers:
    """``ranked`` (best first) in the order that precedents speak for, with skills joined where those suggest it.

    As it was where nothing in the store is like the question.
    """
    if not any(skill.episodes for _, skill in ranked):
        return Answers(list(ranked), [])
    moves: dict[str, _Known] = store.kept("skill")
    outlook = Outlook(query, await _precedents(query, vector, project, store), vector)
    usable = {skill.id: skill for _, skill in ranked}
    if outlook.strength:
        usable |= await _parts(outlook, project, store)
    fit = {item.id: item.score for item, _ in ranked}
    found = answers(outlook, await _moves(usable, moves, store), fit)
    known = {item.id: item for item, _ in ranked}
    return Answers(
        [_match(answer, known, usable) for answer in found if answer.skills],
        [(place, answer.example) for place, answer in enumerate(found) if answer.example],
    )


async def _precedents(
    query: str, vector: NDArray[np.float32] | None, project: str | None, store: Store
) -> list[Precedent]:
    known: dict[str, _Told] = store.kept("episode")
    words = particular_free(query)
    lexical, dense = await store.either("episode", words, vector, limit=NEAREST, project=project)
    near = _nearness(dict(lexical), dict(dense))
    successes = EpisodeFilter(ids=tuple(near), outcome="success", trusted=True)
    episodes = {one.id: one for one in await store.episodes(successes)} if near else {}
    told = await _told(list(episodes.values()), known, store)
    vectors = {} if vector is None else await store.vectors("episode", list(episodes))
    return [
        Precedent(one.task_id, one.task, told[key], near[key], key, vectors.get(key))
        for key, one in sorted(episodes.items())
        if one.task and told.get(key)
    ]


def _nearness(lexical: Mapping[str, float], dense: Mapping[str, float]) -> dict[str, float]:
    """Each list's score as a share of its best; what a list lacks has no word in common, or is its last."""
    best, nearest = max(lexical.values(), default=0.0), max(dense.values(), default=0.0)
    words = {key: max(score, 0.0) / best if best > 0 else 0.0 for key, score in lexical.items()}
    if nearest <= 0:
        return words
    meaning = {key: max(score, 0.0) / nearest for key, score in dense.items()}
    last = min(meaning.values())
    return {
        key: LEXICAL_SHARE * words.get(key, 0.0) + (1 - LEXICAL_SHARE) * meaning.get(key, last)
        for key in {**words, **meaning}
    }


async def _told(episodes: Sequence[Episode], known: dict[str, _Told], store: Store) -> dict[str, tuple[str, ...]]:
    """The moves of each episode, by id; those that have not changed are ``known``."""
    fresh = [one.id for one in episodes if known.get(one.id, (-1, ()))[0] != one.updated_seq]
    if len(known) + len(fresh) > REMEMBERED:
        known.clear()
    try:
        for found in await store.trajectories(fresh):
            moves = moves_of([call.key for call in calls_of(found)])
            known[found.episode.id] = (found.episode.updated_seq, moves)
    except UnknownEpisode:
        pass  # forgotten just now: the others are looked up at the next question
    return {one.id: known[one.id][1] for one in episodes if one.id in known}


async def _parts(outlook: Outlook, project: str | None, store: Store) -> dict[str, Skill]:
    """Skills that are called like the likely moves: what answers are joined of need not share the question's words."""
    names = " ".join(outlook.likely()[:NAMED_MOVES])
    found = await store.lexical("skill", names, limit=PARTS, project=project)
    skills = await store.skills_by_id({key for key, _ in found})
    return {key: skill for key, skill in skills.items() if skill.status in ("draft", "active")}


async def _moves(skills: Mapping[str, Skill], known: dict[str, _Known], store: Store) -> dict[str, Moves]:
    """The moves of each skill, by id; those of skills that were read before are ``known``."""
    fresh = [skill for key, skill in skills.items() if key not in known or known[key][0] is not skill]
    if len(known) + len(fresh) > REMEMBERED:
        known.clear()
        fresh = list(skills.values())
    parts = await known_parts(list(skills.values()), store) if fresh else {}
    made = {skill.id: (skill, moves_of_skill(replace(skill, steps=flat_steps(skill, parts)))) for skill in fresh}
    known |= made
    return {key: (made.get(key) or known[key])[1] for key in skills}


def _match(answer: Answer, ranked: Mapping[str, Ranked], skills: Mapping[str, Skill]) -> Match:
    parts = [skills[key] for key in answer.skills]
    skill = parts[0] if len(parts) == 1 else joined(parts)
    known = ranked.get(skill.id)
    why = known.why if known else _why(parts)
    return Ranked(skill.id, answer.score, why), skill


def _why(parts: Collection[Skill]) -> str:
    if len(parts) == 1:
        return "past tasks like this took its steps"
    return "past tasks like this took the steps of these skills"
