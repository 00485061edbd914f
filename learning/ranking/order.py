"""Which skill first: all evidence fused query by query, then weighed by what is known of each skill.

What is known is its record, where it belongs, and its precedents: the tasks of the episodes that it was drawn from.

All functions are pure. Scores are comparable within one call only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import NamedTuple

import numpy as np

from prowess.learning.arrays import Flags, Floats
from prowess.learning.ranking.evidence import Document, Evidence, gather, words_of
from prowess.learning.ranking.fusion import fits, fused, relative
from prowess.learning.remembered import remembered, when_let_go
from prowess.learning.text import stems, terms
from prowess.storage.models import Skill, parse_time

__all__ = ["Asked", "Ranked", "document", "fuse", "prepare", "rank"]

Candidates = Sequence[tuple[str, float]]

LEXICAL_SHARE = 0.4  # of two plain lists, where no more is known than their scores; 0.35 to 0.45 do as well

LEAST_COSINE = 0.3  # from which on it is worth telling
# Without vectors, fewer shared words that are also less of the query are taken for chance.
LEAST_WORDS = 2
LEAST_COVERAGE = 0.4
# A skill learned in the project that asks is likely of use: one shared word or a smaller cosine will do. Recorded
# customers' stories are as far as 0.13 from the terse skills that serve them.
LEAST_COSINE_AT_HOME = 0.25
# Unless no past task is anywhere near the query. Of 300 questions about private life, asked of stores of four kinds
# (customer service, flights, function calls), 78 to 100 in 100 are told apart so, and no answer to a real one is lost.
LEAST_PAST = 0.25
LONG_QUERY = 10  # words; a longer query tells a story, of which a skill need not share more

# What a skill was drawn from speaks for it as far as the query is near to any past task at all: 0.3 of the score where
# it is as good as repeated, nothing where it is no nearer than other people's stories often are. More of it pays where
# tasks repeat (function calls) and misleads where the same things are told of tasks that end differently.
PRECEDENT_SHARE = 0.3
FAR, NEAR = 0.6, 0.9  # cosines
PRECEDENT_SHARE_OF_WORDS = 0.2  # where there are no vectors
# From this cosine on a precedent alone makes a skill fit; to 99 in 100 of those questions none is nearer than 0.38.
LEAST_PRECEDENT = 0.4
# Tasks of one project speak of the same things: to change accounts and to export them are as near as 0.47. So what
# nobody asked for needs a nearer precedent to be offered, and at home two signs, where one will do for who asks.
LEAST_PRECEDENT_UNASKED = 0.5
LEAST_SIGNS_UNASKED = 2

PRIOR_USES = 4.0  # how many uses the pool's success rate counts for against a skill's own
SUPPORT_SHARE = 0.5  # of a use: a successful episode that the skill was drawn from, before anybody used the skill
RATE_WEIGHT = 0.5  # how much of the score hangs on success
CONTEXT_BONUS = 0.1
OTHER_PROJECT = 0.85
ALL_PROJECTS = 0.97
DRAFT = 0.9
AGE_LOSS = 0.1  # the most that a skill loses by age
HALF_LIFE_DAYS = 180.0
COMPARED = 40  # of the best: twice as many as an answer can show
REMEMBERED = 4_096  # skills whose words are kept, some kB each: as many as a store keeps
ALIKE = 0.8  # the share of their words from which on two skills with the same steps say the same


class Ranked(NamedTuple):
    """A skill's id, its score (higher is better) and in words why it is there."""

    id: str
    score: float
    why: str


def fuse(query: str, lexical: Candidates, dense: Candidates | None) -> list[tuple[str, float]]:
    """Both retrievers' candidates (id, score; best first) as one list, best first, with scores in [0, 1].

    Each list is scaled by its best score, not by rank and not to its own spread: so a retriever that finds one
    candidate far better than the rest decides, and one whose scores are flat hardly moves the order. That makes the
    weights fit the query, though its words are not looked at. What a retriever did not return counts as its last.
    """
    if not dense:
        return _ordered(_scaled(lexical))
    if not lexical:
        return _ordered(_scaled(dense))
    words, meaning = _scaled(lexical), _scaled(dense)
    no_words, no_meaning = min(words.values()), min(meaning.values())
    return _ordered(
        {
            key: LEXICAL_SHARE * words.get(key, no_words) + (1 - LEXICAL_SHARE) * meaning.get(key, no_meaning)
            for key in {**words, **meaning}
        }
    )


def _scaled(found: Candidates) -> dict[str, float]:
    top = max((score for _, score in found), default=0.0)
    return {key: max(score, 0.0) / top if top > 0 else 0.0 for key, score in found}


def _ordered(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


class Asked(NamedTuple):
    """A question's ``parts`` (``parts_of``), the rarity of their words by stem, and how many skills were searched."""

    parts: Sequence[str]
    rare: Mapping[str, float]
    pool: int


def document(skill: Skill) -> Document:
    """What of a skill can be found."""
    more = [f"{step.tool or ''} {step.note}" for step in skill.steps]
    more += [f"{parameter.name} {parameter.description}" for parameter in skill.parameters]
    return Document(skill.id, skill.name, " ".join([skill.description, *skill.keywords]), " ".join(more))


def prepare(skills: Iterable[Skill]) -> None:
    """Read ``skills`` before they are ranked: what is made of their texts is remembered. It changes no result."""
    for skill in skills:
        _read(skill)


class _Read(NamedTuple):
    """What was made of a skill's texts: ``stems`` are those of what it says of itself, its tools' names included."""

    skill: Skill
    document: Document
    stems: frozenset[str]


# By identity, for as long as the skill is kept here: to compare texts takes longer than all that is looked up by them.
_known: dict[int, _Read] = {}
when_let_go(_known.clear)


def _read(skill: Skill) -> _Read:
    found = _known.get(id(skill))
    if found is None:
        if len(_known) >= REMEMBERED:
            for key in list(islice(_known, REMEMBERED // 2)):
                _known.pop(key, None)
        told = document(skill)
        tools = [_tool_stems(step.tool) for step in skill.steps if step.tool]
        found = _known[id(skill)] = _Read(skill, told, words_of(told).union(*tools))
    return found


@remembered(4096)
def _tool_stems(tool: str) -> frozenset[str]:
    return frozenset(stems(tool))


def rank(
    asked: Asked,
    skills: Sequence[Skill],
    *,
    cosines: Floats | None = None,
    now: datetime,
    precedents: Candidates = (),
    project: str = "",
    context: str = "",
    unasked: Mapping[str, str] | None = None,
) -> list[Ranked]:
    """The ``skills`` that fit the question, best first; what fits too badly is left out, so the list may be empty.

    ``cosines`` is (parts, skills), NaN for a skill that has no vector yet: it counts as the farthest of the others, and
    has to fit by its words. ``precedents`` are past episodes whose tasks are like the question: (id, cosine)
    where ``cosines`` are given, else of the lexical retriever. The fused score is blended with how near the nearest
    episode is that a skill was drawn from (a skill drawn from none keeps its score), then weighed by the posterior mean
    of success (a skill's own uses and, at half weight, the episodes it was drawn from, shrunk to the pool's rate), by
    project and context, by status and, mildly, by age. What is all but the same as a better one goes behind the rest.
    ``unasked`` is given where nobody asked, so that more has to speak for what is no clear match: by id, what the tasks
    of past episodes said. It changes no score.
    """
    if not skills:
        return []
    known = cosines is not None and ~np.isnan(cosines[0])
    filled = None if cosines is None else np.where(known, cosines, np.nanmin(cosines, axis=1, keepdims=True))
    read = [_read(skill) for skill in skills]
    said = {skill.id: told.stems for skill, told in zip(skills, read, strict=True)}
    evidence = gather(asked.parts, [told.document for told in read], filled, asked.rare)
    scores = relative(fused(evidence)).tolist()
    reasons = _fitting(asked, skills, said, evidence, known, precedents, project, unasked)
    around, pool = terms(context), _pool_rate(skills)
    share, votes = _precedent_share(precedents, cosines is not None), _votes(skills, precedents, cosines is not None)
    ranked = []
    for skill, score, reason in zip(skills, scores, reasons, strict=True):
        if reason is None:
            continue
        weight = _success(skill, pool) * _place(skill, project) * _status(skill) * _freshness(skill, now)
        if around:
            weight *= 1 + CONTEXT_BONUS * _coverage(around, said[skill.id])
        blended = (1 - share) * score + share * votes.get(skill.id, score)
        ranked.append(Ranked(skill.id, blended * weight, _why(skill, reason, project)))
    best = sorted(ranked, key=lambda item: (-item.score, item.id))
    return _repeats_last(best, {skill.id: skill for skill in skills}, said)


class _Reason(NamedTuple):
    """``shared`` are words that question and skill have, ``telling`` counts those that tell its tasks from others."""

    shared: Sequence[str]
    cosine: float | None
    precedent: float
    telling: int


def _fitting(
    asked: Asked,
    skills: Sequence[Skill],
    said: Mapping[str, frozenset[str]],
    evidence: Evidence,
    known: Flags | bool,
    precedents: Candidates,
    project: str,
    unasked: Mapping[str, str] | None,
) -> list[_Reason | None]:
    """For each skill what speaks for it, None where that is too little; ``known`` are those whose cosines are."""
    wanted = terms(asked.parts[0])
    near = dict(precedents) if evidence.cosines is not None else {}
    known_ground = max(near.values(), default=1.0 if project else 0.0) >= LEAST_PAST
    about = [False] * len(skills) if evidence.cosines is None else fits(evidence, asked.pool)
    measured = np.broadcast_to(known, len(skills)).tolist()
    whole = None if evidence.cosines is None else evidence.cosines[0].tolist()
    alone = LEAST_PRECEDENT if unasked is None else LEAST_PRECEDENT_UNASKED
    signs = 1 if unasked is None else LEAST_SIGNS_UNASKED
    said_of = {key: wanted.keys() & terms(text).keys() for key, text in (unasked or {}).items()}
    found: list[_Reason | None] = []
    for place, skill in enumerate(skills):
        cosine = whole[place] if whole is not None and measured[place] else None
        at_home = known_ground and skill.project == project and bool(project or skill.episodes)
        precedent = _nearest(skill, near, 0.0)
        enough = about[place] or precedent >= alone
        if not (enough or at_home or cosine is None):
            found.append(None)
            continue
        has = said[skill.id]
        telling = _telling(skill, said_of) if at_home and not enough else 0
        shared = [word for stem, word in wanted.items() if stem in has]
        reason = _Reason(shared, cosine, precedent, telling)
        found.append(reason if enough or _fits(reason, len(wanted), signs if at_home else 0) else None)
    return found


def _repeats_last(
    ranked: Sequence[Ranked], skills: Mapping[str, Skill], said: Mapping[str, frozenset[str]]
) -> list[Ranked]:
    """The same items, each that is all but the same as a better one behind the others, so that it costs none a place.

    All but the same are two skills that use the same tools in the same order and share most of their words.
    """
    kept: list[Ranked] = []
    repeats: list[Ranked] = []
    seen: dict[tuple[str, ...], list[frozenset[str]]] = {}
    for item in ranked[:COMPARED]:
        skill = skills[item.id]
        told = seen.setdefault(tuple(step.tool or step.skill or "" for step in skill.steps), [])
        says = said[item.id]
        repeated = bool(skill.steps) and any(_overlap(says, other) >= ALIKE for other in told)
        (repeats if repeated else kept).append(item)
        told.append(says)
    return [*kept, *repeats, *ranked[COMPARED:]]


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(len(one | other), 1)


def _precedent_share(precedents: Candidates, cosines: bool) -> float:
    """How much precedents count: by the nearest of them all, whatever skill it belongs to."""
    if not cosines:
        return PRECEDENT_SHARE_OF_WORDS
    nearest = max((cosine for _, cosine in precedents), default=0.0)
    return PRECEDENT_SHARE * min(max((nearest - FAR) / (NEAR - FAR), 0.0), 1.0)


def _votes(skills: Sequence[Skill], precedents: Candidates, cosines: bool) -> dict[str, float]:
    """For each skill drawn from episodes the score of the one nearest to the query, the best skill's being 1.

    An episode that was not found shares no word, or is at most as near as the last that was. The nearest decides, not
    the mean: a skill that serves many kinds of task has most of them far from any query.
    """
    if not precedents:
        return {}
    found = dict(precedents)
    last = min(found.values()) if cosines else 0.0
    return _scaled([(skill.id, _nearest(skill, found, last)) for skill in skills if skill.episodes])


def _nearest(skill: Skill, found: Mapping[str, float], otherwise: float) -> float:
    if not found or not skill.episodes:
        return otherwise
    return max((found[episode] for episode in found.keys() & skill.episodes), default=otherwise)


def _fits(reason: _Reason, asked: int, signs: int) -> bool:
    """Whether words alone are enough, or as many ``signs`` of what was learned here; 0 for what was not."""
    if signs and _signs(reason) >= signs:
        return True
    shared = len(reason.shared)
    coverage = shared / min(asked, LONG_QUERY) if asked else 0.0
    return reason.cosine is None and (shared >= LEAST_WORDS or coverage >= LEAST_COVERAGE)


def _signs(reason: _Reason) -> int:
    """How much speaks for what was learned here: words of the skill, a cosine, a precedent, words that tell its tasks.

    Without vectors there is less to see, and each word that tells its tasks counts.
    """
    if reason.cosine is None:
        return bool(reason.shared) + reason.telling
    near = (reason.cosine >= LEAST_COSINE_AT_HOME) + (reason.precedent >= LEAST_PRECEDENT)
    return near + bool(reason.shared) + bool(reason.telling)


def _telling(skill: Skill, said_of: Mapping[str, Collection[str]]) -> int:
    """How many words of the question are said of the skill's tasks more often than of others."""
    of_skill = set(skill.episodes)
    balance = Counter[str]()
    for key, said in said_of.items():
        balance.update(dict.fromkeys(said, 1 if key in of_skill else -1))
    return sum(count > 0 for count in balance.values())


def _coverage(wanted: Collection[str], has: Collection[str]) -> float:
    return sum(word in has for word in wanted) / len(wanted) if wanted else 0.0


def _pool_rate(skills: Sequence[Skill]) -> float:
    """The success rate of all uses of ``skills``, a half where there are none."""
    uses = sum(skill.use_count for skill in skills)
    return (sum(skill.use_count * skill.success_rate for skill in skills) + 1) / (uses + 2)


def _success(skill: Skill, pool: float) -> float:
    drawn_from = SUPPORT_SHARE * skill.support
    successes = skill.use_count * skill.success_rate + drawn_from
    rate = (successes + PRIOR_USES * pool) / (skill.use_count + drawn_from + PRIOR_USES)
    return 1 - RATE_WEIGHT + RATE_WEIGHT * rate


def _place(skill: Skill, project: str) -> float:
    if skill.project == project:
        return 1.0
    return OTHER_PROJECT if skill.project else ALL_PROJECTS


def _status(skill: Skill) -> float:
    return DRAFT if skill.status == "draft" else 1.0


def _freshness(skill: Skill, now: datetime) -> float:
    """1 for what was used or changed just now, falling to ``1 - AGE_LOSS``; a clock that went back ages nothing."""
    last = max(skill.last_used_at or "", skill.updated_at, skill.created_at)
    if not last:
        return 1.0
    days = max(0.0, (now - parse_time(last)).total_seconds() / 86_400)
    return 1 - AGE_LOSS * (1 - 2 ** (-days / HALF_LIFE_DAYS))


def _why(skill: Skill, reason: _Reason, project: str) -> str:
    said = [f"shares {', '.join(reason.shared[:5])}"] if reason.shared else []
    if reason.cosine is not None and reason.cosine >= LEAST_COSINE:
        said.append(f"close in meaning ({reason.cosine:.2f})")
    if reason.precedent >= LEAST_PRECEDENT:
        said.append(f"worked for a task like this ({reason.precedent:.2f})")
    if skill.use_count:
        said.append(f"{skill.success_rate:.0%} success in {skill.use_count} use{'s' * (skill.use_count != 1)}")
    if project and skill.project == project:
        said.append("from this project")
    if skill.status == "draft":
        said.append("a draft, not proven yet")
    return "; ".join(said)
