"""Past successes whose tasks are like the one asked about, and what answers they speak for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from prowess.learning.ranking.order import LEAST_PRECEDENT, Ranked
from prowess.learning.synthesis.answers import Answer, answers, joined, moves_of_skill
from prowess.learning.synthesis.calls import calls_of
from prowess.learning.synthesis.evidence import Moves, Outlook, Precedent, moves_of, particular_free
from prowess.learning.text import terms
from prowess.storage.errors import UnknownEpisode
from prowess.storage.models import Episode, EpisodeFilter, Skill
from prowess.tools.searching import PAST
from prowess.tools.skills import flat_steps, known_parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from prowess.storage.search import NearEpisodes
    from prowess.storage.store import Store
    from prowess.tools.searching import Question, Scores

__all__ = ["Answers", "Past", "called_before", "lone_success", "past_of", "task_of", "with_precedents"]

PARTS = 50  # skills that are looked up by the names of likely moves
NAMED_MOVES = 12
LEXICAL_SHARE = 0.4  # of nearness, beside the cosine
# From which a past task is the question's in other words: of foreign requests almost none reach it, and half of BFCL's
# turns do with one of another task, whose tools overlap .72 with theirs (benchmarks/quality/alone.py, build part).
SAME_TASK = 0.65
SAME_WORDS = 0.6  # share of both tasks' different words, where there are no vectors
# What past tasks called is likely to be called again: the nearest of them, from where they speak of the same things.
LIKE = 0.45
MOST_LIKE = 4
REMEMBERED = 20_000  # episodes' or skills' moves kept in memory, a few hundred bytes each

_Told = tuple[int, tuple[str, ...]]  # the episode's last change, and its moves
_Known = tuple[Skill, Moves]  # the skill as it was read, with the skills that it refers to, until any changes

Match = tuple[Ranked, Skill]


class Answers(NamedTuple):
    """Skills, the best first, and ids of episodes that are examples, each with its place (from 0) among all answers."""

    matches: list[Match]
    examples: list[tuple[int, str]]


class Past(NamedTuple):
    """Past successes like ``query``, and (id, cosine) of all ``near`` episodes, best first, whatever came of them."""

    query: str
    vector: NDArray[np.float32] | None
    near: Scores
    successes: list[Precedent]

    @property
    def tasks(self) -> dict[str, str]:
        """What the successes were asked for, by id, without what steered them."""
        return {one.id: one.text.partition("\n\n")[0] for one in self.successes}


def task_of(query: str) -> str:
    """What of the question is compared with past tasks by words."""
    return particular_free(query)


async def past_of(query: str, searched: Question, *, project: str | None, store: Store) -> Past:
    """Past episodes whose tasks are like ``query``, for which was ``searched``; of ``project`` and those of none."""
    known: dict[str, _Told] = store.kept("episode")
    lexical, found = await _near(query, searched, project, store)
    near = _nearness(dict(lexical), dict(found.dense))
    told = await _told(found.episodes, known, store)
    successes = [
        Precedent(one.task_id, one.task, told[one.id], near[one.id], one.id, found.vectors.get(one.id))
        for one in sorted(found.episodes, key=lambda one: one.id)
        if one.id in near and one.task and told.get(one.id)
    ]
    return Past(query, searched.vector, found.dense, successes)


async def called_before(searched: Question, past: Past | None, *, project: str | None, store: Store) -> set[str]:
    """What at least half of the nearest past tasks called, whatever came of them, as memories name it.

    Without vectors nothing.
    """
    wanted = EpisodeFilter(trusted=True)
    if past is None:
        found = await store.near_episodes(searched.vector, also=(), limit=MOST_LIKE, wanted=wanted, project=project)
        near = found.dense
    else:
        near = past.near[:MOST_LIKE]
        found = await store.near_episodes(None, also=[key for key, _ in near], limit=0, wanted=wanted)
    like = {key for key, cosine in near if cosine >= LIKE}
    told = await _told([one for one in found.episodes if one.id in like], store.kept("episode"), store)
    counts = Counter(move for moves in told.values() for move in set(moves))
    return {move for move, count in counts.items() if 2 * count >= len(told)}


async def lone_success(query: str, searched: Question, *, project: str | None, store: Store) -> list[str]:
    """The id of the past success whose task is the question's in other words, the newest of equals; empty without."""
    _, found = await _near(query, searched, project, store)
    asked, cosines = terms(query).keys(), dict(found.dense)

    def likeness(one: Episode) -> float:
        """From 1 on, it is the same task."""
        if one.id in found.vectors:
            return cosines.get(one.id, 0.0) / SAME_TASK
        told = terms(one.task.partition("\n\n")[0]).keys()  # without what steered it
        return len(asked & told) / max(len(asked | told), 1) / SAME_WORDS

    best = max(((likeness(one), one.opened_at, one.id) for one in found.episodes), default=(0.0, "", ""))
    return [best[-1]] if best[0] >= 1 else []


async def with_precedents(
    ranked: Sequence[Match], past: Past | None, *, project: str | None, store: Store, unasked: bool = False
) -> Answers:
    """``ranked`` (best first) in the order that precedents speak for, with skills joined where those suggest it.

    As it was where nothing in the store is like the question. ``unasked``, a skill that is not among ``ranked`` serves
    only where one of the past tasks is near enough to speak for a skill by itself.
    """
    if past is None or not any(skill.episodes for _, skill in ranked):
        return Answers(list(ranked), [])
    moves: dict[str, _Known] = store.kept("skill")
    outlook = Outlook(past.query, past.successes, past.vector)
    usable = {skill.id: skill for _, skill in ranked}
    if outlook.strength and not (unasked and _far(past)):
        usable |= await _parts(outlook, project, store)
    fit = {item.id: item.score for item, _ in ranked}
    found = answers(outlook, await _moves(usable, moves, store), fit)
    known = {item.id: item for item, _ in ranked}
    return Answers(
        [_match(answer, known, usable) for answer in found if answer.skills],
        [(place, answer.example) for place, answer in enumerate(found) if answer.example],
    )


def _far(past: Past) -> bool:
    """Whether no past task is near by meaning; without vectors nobody knows."""
    return bool(past.near) and max(cosine for _, cosine in past.near) < LEAST_PRECEDENT


async def _near(query: str, searched: Question, project: str | None, store: Store) -> tuple[Scores, NearEpisodes]:
    """Episodes whose tasks share words with ``query``, and successes among those and the ones near to it by meaning."""
    lexical = searched.past
    if lexical is None:
        lexical = await store.lexical("episode", task_of(query), limit=PAST, project=project)
    wanted = EpisodeFilter(outcome="success", trusted=True)
    also = [key for key, _ in lexical]
    return lexical, await store.near_episodes(searched.vector, also=also, limit=PAST, wanted=wanted, project=project)


def _nearness(lexical: Mapping[str, float], dense: Mapping[str, float]) -> dict[str, float]:
    """Each list's score as a share of its best; what a list lacks has no word in common, or is its last.

    Where all that are near by meaning point away from the question, those say nothing.
    """
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
    found = await store.skills_by_words([(names, PARTS)], [], project=project)
    return {key: skill for key, skill in found.skills.items() if skill.status in ("draft", "active")}


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
