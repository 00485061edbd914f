"""Which skill first: lexical and dense candidates fused query by query, then weighed by what is known of each skill.

What is known is its record, where it belongs, and its precedents: the tasks of the episodes that it was drawn from.

All functions are pure. Scores are comparable within one call only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from prowess.learning.text import terms
from prowess.storage.models import Skill, parse_time

__all__ = ["Ranked", "fuse", "rank"]

Candidates = Sequence[tuple[str, float]]

# Tuned on one half of SkillsBench, MetaTool and Seal-Tools, confirmed on the other; 0.35 to 0.45 do as well.
LEXICAL_SHARE = 0.4

# Below these a candidate is taken for unrelated. Measured with questions about private life asked of 666 agent skills
# and of 199 plugins: eight in ten find nothing, while no right first answer to a real query is lost.
LEAST_COSINE = 0.3
LEAST_WORDS = 2  # shared words that make up for a small cosine when they are also this much of the query
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

PRIOR_USES = 4.0  # how many uses the pool's success rate counts for against a skill's own
SUPPORT_SHARE = 0.5  # of a use: a successful episode that the skill was drawn from, before anybody used the skill
RATE_WEIGHT = 0.5  # how much of the score hangs on success
CONTEXT_BONUS = 0.1
OTHER_PROJECT = 0.85
ALL_PROJECTS = 0.97
DRAFT = 0.9
AGE_LOSS = 0.1  # the most that a skill loses by age
HALF_LIFE_DAYS = 180.0


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


def rank(
    query: str,
    skills: Sequence[Skill],
    *,
    lexical: Candidates,
    dense: Candidates | None = None,
    now: datetime,
    precedents: Candidates = (),
    project: str = "",
    context: str = "",
) -> list[Ranked]:
    """The ``skills`` that fit ``query``, best first; what fits too badly is left out, so the list may be empty.

    ``lexical`` and ``dense`` are the retrievers' (id, score), dense scores cosines; candidates that are not among
    ``skills`` are ignored. ``precedents`` are past episodes whose tasks are like the query: (id, cosine) where
    ``dense`` is given, else of the lexical retriever. The fused score is blended with how near the nearest episode is
    that a skill was drawn from (a skill drawn from none keeps its score), then weighed by the posterior mean of success
    (a skill's own uses and, at half weight, the episodes it was drawn from, shrunk to the pool's rate), by project and
    context, by status and, mildly, by age.
    """
    known = {skill.id: skill for skill in skills}
    cosines, last = dict(dense or ()), min((score for _, score in dense or ()), default=0.0)
    asked, around, pool = terms(query), terms(context), _pool_rate(skills)
    near = dict(precedents) if dense is not None else {}
    share, votes = _precedent_share(precedents, dense is not None), _votes(skills, precedents, dense is not None)
    known_ground = max(near.values(), default=1.0 if project else 0.0) >= LEAST_PAST
    ranked = []
    for key, score in fuse(query, lexical, dense):
        if (skill := known.get(key)) is None:
            continue
        has = _stems(_text(skill))
        shared = [word for stem, word in asked.items() if stem in has]
        cosine = cosines.get(key, last) if dense else None
        at_home = known_ground and skill.project == project and bool(project or skill.episodes)
        precedent = _nearest(skill, near, 0.0)
        if precedent < LEAST_PRECEDENT and not _fits(len(shared), len(asked), cosine, at_home=at_home):
            continue
        weight = _success(skill, pool) * _place(skill, project) * _status(skill) * _freshness(skill, now)
        weight *= 1 + CONTEXT_BONUS * _coverage(around, has)
        blended = (1 - share) * score + share * votes.get(key, score)
        ranked.append(Ranked(key, blended * weight, _why(skill, shared, cosine, precedent, project)))
    return sorted(ranked, key=lambda item: (-item.score, item.id))


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
    return max((found[episode] for episode in found.keys() & skill.episodes), default=otherwise)


@lru_cache(maxsize=2048)
def _stems(text: str) -> frozenset[str]:
    """What ``terms`` makes of a skill's text, kept: the same skills are candidates again and again."""
    return frozenset(terms(text))


def _text(skill: Skill) -> str:
    tools = (step.tool or "" for step in skill.steps)
    return " ".join([skill.name, skill.description, *skill.keywords, *tools])


def _fits(shared: int, asked: int, cosine: float | None, *, at_home: bool) -> bool:
    if at_home and (shared or (cosine or 0.0) >= LEAST_COSINE_AT_HOME):
        return True
    coverage = shared / min(asked, LONG_QUERY) if asked else 0.0
    if cosine is None:
        return shared >= LEAST_WORDS or coverage >= LEAST_COVERAGE
    return cosine >= LEAST_COSINE or (shared >= LEAST_WORDS and coverage >= LEAST_COVERAGE)


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


def _why(skill: Skill, shared: Sequence[str], cosine: float | None, precedent: float, project: str) -> str:
    said = [f"shares {', '.join(shared[:5])}"] if shared else []
    if cosine is not None and cosine >= LEAST_COSINE:
        said.append(f"close in meaning ({cosine:.2f})")
    if precedent >= LEAST_PRECEDENT:
        said.append(f"worked for a task like this ({precedent:.2f})")
    if skill.use_count:
        said.append(f"{skill.success_rate:.0%} success in {skill.use_count} use{'s' * (skill.use_count != 1)}")
    if project and skill.project == project:
        said.append("from this project")
    if skill.status == "draft":
        said.append("a draft, not proven yet")
    return "; ".join(said)
