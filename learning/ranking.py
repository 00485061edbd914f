"""Which skill first: lexical and dense candidates fused query by query, then weighed by what is known of each skill.

All functions are pure. Scores are comparable within one call only.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from prowess.storage.models import Skill

__all__ = ["Ranked", "fuse", "rank"]

Candidates = Sequence[tuple[str, float]]

DENSE_SHARE = 0.5
RANK_OFFSET = 10
PRIOR_USES = 4.0  # how many uses the pool's success rate counts for against a skill's own
HALF_LIFE_DAYS = 180.0
DRAFT = 0.9
OTHER_PROJECT = 0.85
FLOOR_DENSE = 0.2


class Ranked(NamedTuple):
    """A skill's id, its score (higher is better) and in words why it is there."""

    id: str
    score: float
    why: str


def fuse(query: str, lexical: Candidates, dense: Candidates | None) -> list[tuple[str, float]]:
    """Both retrievers' candidates (id, score; best first) as one list with scores in [0, 1], best first."""
    if not dense:
        return _scaled(lexical)
    if not lexical:
        return _scaled(dense)
    share = DENSE_SHARE
    total: dict[str, float] = {}
    for weight, found in ((1 - share, lexical), (share, dense)):
        for place, (key, value) in enumerate(_scaled(found)):
            total[key] = total.get(key, 0.0) + weight * value + weight / (RANK_OFFSET + place)
    return sorted(total.items(), key=lambda pair: (-pair[1], pair[0]))


def _scaled(found: Candidates) -> list[tuple[str, float]]:
    top = max((score for _, score in found), default=0.0)
    return [(key, max(score, 0.0) / top if top > 0 else 0.0) for key, score in found]


def rank(
    query: str,
    skills: Sequence[Skill],
    *,
    lexical: Candidates,
    dense: Candidates | None = None,
    now: datetime,
    project: str = "",
    context: str = "",
) -> list[Ranked]:
    """``skills`` that fit ``query``, best first; those that fit too badly are left out."""
    known = {skill.id: skill for skill in skills}
    fused = [(key, score) for key, score in fuse(query, lexical, dense) if key in known]
    prior = _pool_rate(skills)
    ranked = [_weighed(known[key], score, prior, now, project, query) for key, score in fused]
    return sorted(ranked, key=lambda item: (-item.score, item.id))


def _weighed(skill: Skill, score: float, prior: float, now: datetime, project: str, query: str) -> Ranked:
    rate = (skill.use_count * skill.success_rate + PRIOR_USES * prior) / (skill.use_count + PRIOR_USES)
    worth = score * (0.5 + 0.5 * rate) * (DRAFT if skill.status == "draft" else 1.0)
    return Ranked(skill.id, worth, f"fits {score:.2f}")


def _pool_rate(skills: Sequence[Skill]) -> float:
    used = [skill for skill in skills if skill.use_count]
    total = sum(skill.use_count for skill in used)
    return sum(skill.use_count * skill.success_rate for skill in used) / total if total else 1.0
