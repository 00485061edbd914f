"""Patterns over episodes: which actions lead to high reward, in which contexts the agent does best and which failures
recur, answered with a size, an interval and a correction for everything that was looked at."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Sequence
from heapq import merge
from itertools import islice
from typing import get_args

import msgspec
import numpy as np

from prowess.learning.arrays import Floats, Ints
from prowess.learning.mining.candidates import Candidates
from prowess.learning.mining.corpus import Corpus
from prowess.learning.mining.incidence import Groups
from prowess.learning.mining.proof import SIGNIFICANT
from prowess.learning.mining.stats import Comparisons, Rewards, Sums, compare, q_values
from prowess.storage.models import Pattern, PatternKind, Trajectory

__all__ = ["SIGNIFICANT", "find", "mine"]

MAX_EXAMPLES = 3
SAME_EPISODES = 0.9  # patterns of one kind that overlap more (Jaccard) tell the same story twice
COMPARED = 100  # of the best patterns, with which the others are compared for that: long lists stay linear
BY_SUPPORT = ("failure", "recovery")  # kinds whose worth is how often they help, more than how much


class _Judged(msgspec.Struct, frozen=True):
    """Candidates of one kind with what their rewards say; ``q`` is NaN where nothing could be compared."""

    candidates: Candidates
    sizes: Ints
    against: Ints
    result: Comparisons
    q: Floats


def mine(
    trajectories: Sequence[Trajectory],
    *,
    kinds: Collection[PatternKind] | None = None,
    min_support: int = 2,
    limit: int = 50,
    project: str = "",
) -> list[Pattern]:
    """Up to ``limit`` patterns that at least ``min_support`` of ``trajectories`` show, each kind's best in turn.

    Steps may be summaries (no arguments, no observations; errors as templates). Episodes without a reward count for
    support but not for effects. ``q_value`` corrects for every hypothesis that was compared, shown or not, each kind
    with the same say. ``project`` only labels the patterns and enters their ids; without it, the ``home`` in a
    pattern's ``detail`` is the one project whose episodes show it.
    """
    corpus = Corpus()
    corpus.update(trajectories)
    return find(corpus, kinds=kinds, min_support=min_support, limit=limit, project=project)


def find(
    corpus: Corpus,
    *,
    kinds: Collection[PatternKind] | None = None,
    min_support: int = 2,
    limit: int = 50,
    project: str = "",
) -> list[Pattern]:
    """``mine`` of the episodes that ``corpus`` holds."""
    wanted = [kind for kind in get_args(PatternKind) if kinds is None or kind in kinds]
    if len(corpus) == 0:
        return []
    judged = _judge(corpus, list(corpus.candidates(wanted, max(min_support, 1))))
    chosen = _choose(judged, corpus, max(limit, 0))
    groups = _groups_of(chosen)
    examples = corpus.latest(groups, MAX_EXAMPLES)
    homes = [""] * len(chosen) if project else corpus.homes(groups)
    return [
        _pattern(line, place, shown, project, home)
        for (line, place), shown, home in zip(chosen, examples, homes, strict=True)
    ]


def _judge(corpus: Corpus, found: Sequence[Candidates]) -> list[_Judged]:
    rewards, everyone = Rewards(corpus.rewards), corpus.everyone()
    results, against = [], []
    rate = SIGNIFICANT / max(sum(len(candidates.groups) > 0 for candidates in found), 1)
    for candidates in found:
        sizes = candidates.groups.sizes
        wholes, at = candidates.wholes, candidates.whole
        if wholes is None or at is None:
            wholes, at = everyone, np.zeros(len(sizes), np.int64)
        part = rewards.sums(candidates.groups.members, candidates.groups.begins)
        whole, shape = _described(rewards, wholes)
        shapes = shape[0][at], shape[1][at]
        results.append(compare(part, whole.at(at), shapes, rewards.least, rewards.most, rate))
        against.append(wholes.sizes[at] - sizes)
    p, attainable = (np.concatenate([getattr(result, name) for result in results]) for name in ("p", "attainable"))
    family = np.repeat(np.arange(len(results)), [len(result.p) for result in results])
    q = q_values(p, attainable, family, SIGNIFICANT)
    ends = np.cumsum([len(result.p) for result in results])[:-1]
    return [
        _Judged(candidates, candidates.groups.sizes, rest, result, corrected)
        for candidates, rest, result, corrected in zip(found, against, results, np.split(q, ends), strict=True)
    ]


def _described(rewards: Rewards, wholes: Groups) -> tuple[Sums, tuple[Floats, Floats]]:
    """Sums and shape of groups; rewards of two values are tested by counting, so that their shape is not needed."""
    sums = rewards.sums(wholes.members, wholes.begins)
    skew, kurtosis = np.zeros((2, len(wholes)))
    at = np.flatnonzero(sums.low + sums.high != sums.n)
    others = wholes.at(at)
    skew[at], kurtosis[at] = rewards.moments(others.members, others.begins).shape
    return sums, (skew, kurtosis)


def _choose(judged: Sequence[_Judged], corpus: Corpus, limit: int) -> list[tuple[_Judged, int]]:
    """The best of each kind in turn until ``limit``, proven ones of any kind before the others."""
    lines = [_turns(line, number, corpus) for number, line in enumerate(judged)]
    return [(judged[number], place) for _, _, number, place in islice(merge(*lines), limit)]


def _turns(line: _Judged, number: int, corpus: Corpus) -> Iterator[tuple[bool, int, int, int]]:
    for turn, place in enumerate(_varied(line, _ranked(line), corpus)):
        yield not line.q[place] < SIGNIFICANT, turn, number, place


def _ranked(line: _Judged) -> list[int]:
    """Proven first, then by how far the interval keeps from 0, then by support; the order given settles the rest."""
    low, high = np.nan_to_num(line.result.low), np.nan_to_num(line.result.high)
    margin = np.where(low * high > 0, np.minimum(np.abs(low), np.abs(high)), 0.0)
    if line.candidates.kind in BY_SUPPORT:
        margin = np.zeros(len(margin))
    unproven = ~(line.q < SIGNIFICANT)
    order: list[int] = np.lexsort((-line.sizes * line.candidates.weight, -margin, unproven)).tolist()
    return order


def _varied(line: _Judged, ranked: Sequence[int], corpus: Corpus) -> Iterator[int]:
    """``ranked`` without those that tell the story of a better one."""
    if line.candidates.kind not in ("sequence", "context"):
        yield from ranked
        return
    shown = _Shown(line.candidates.groups, corpus)
    yield from (place for place in ranked if shown.is_new(place))


class _Shown:
    """The episodes of the patterns kept so far, as bits."""

    def __init__(self, groups: Groups, corpus: Corpus) -> None:
        self._groups = groups
        self._width = (int(corpus.everyone().members.max(initial=0)) // 64 + 1) * 64
        self._bits = np.zeros((COMPARED, self._width // 64), np.uint64)
        self._sizes = np.zeros(COMPARED, np.int64)
        self._count = 0

    def is_new(self, place: int) -> bool:
        """Whether the group overlaps none of the kept too much; then it is kept, while there is room."""
        members = self._groups.of(place)
        flags = np.zeros(self._width, np.bool_)
        flags[members] = True
        bits = np.packbits(flags).view(np.uint64)
        if self._overlap(bits, len(members)):
            return False
        if self._count < COMPARED:
            self._bits[self._count], self._sizes[self._count] = bits, len(members)
            self._count += 1
        return True

    def _overlap(self, bits: np.ndarray[tuple[int], np.dtype[np.uint64]], size: int) -> bool:
        sizes = self._sizes[: self._count]
        near = np.flatnonzero(np.minimum(sizes, size) >= SAME_EPISODES * np.maximum(sizes, size))
        common = np.bitwise_count(self._bits[near] & bits).sum(axis=1, dtype=np.int64)
        return bool((common > SAME_EPISODES * (sizes[near] + size - common)).any())


def _groups_of(chosen: Sequence[tuple[_Judged, int]]) -> Groups:
    members = [line.candidates.groups.of(place) for line, place in chosen]
    begins = np.cumsum([0, *map(len, members)])
    return Groups(np.concatenate([np.zeros(0, np.int64), *members]), begins)


def _pattern(line: _Judged, place: int, examples: tuple[str, ...], project: str, home: str) -> Pattern:
    candidates, result = line.candidates, line.result
    told = candidates.told(place)
    detail = {**told.detail, "home": home} if home else told.detail
    inside, outside, effect, low, high = (
        round(float(column[place]), 4)
        for column in (result.inside, result.outside, result.effect, result.low, result.high)
    )
    compared = not np.isnan(line.q[place])
    return Pattern(
        id=_identify(candidates.kind, told.content, project),
        kind=candidates.kind,
        statement=_statement(line, place, told.subject),
        support=int(line.sizes[place]),
        against=int(line.against[place]),
        effect=effect if compared else None,
        low=low if compared else None,
        high=high if compared else None,
        q_value=float(line.q[place]) if compared else None,
        examples=examples,
        project=project,
        detail={**detail, "mean_with": inside, "mean_without": outside} if compared else detail,
    )


def _identify(kind: PatternKind, content: tuple[object, ...], project: str) -> str:
    text = msgspec.json.encode([kind, project, content])
    return hashlib.sha256(text).hexdigest()[:32]


def _others(count: int) -> str:
    return "other" if count == 1 else f"{count} others"


def _statement(line: _Judged, place: int, subject: str) -> str:
    count, against = int(line.sizes[place]), int(line.against[place])
    said = f"In {count} episode{'' if count == 1 else 's'} {subject}"
    if np.isnan(line.q[place]):
        return f"{said}; there is {'nothing' if against == 0 else 'no reward'} to compare them with."
    chance = "" if line.q[place] < SIGNIFICANT else ", which may be chance"
    means = f"{line.result.inside[place]:.2f} against {line.result.outside[place]:.2f} in the {_others(against)}"
    return f"{said}; their mean reward is {means}{chance}."
