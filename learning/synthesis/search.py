"""Which sequences of moves are worth a skill: shared by several episodes and carrying what is distinctive of them.

Three kinds of candidate. *Procedures*: episodes that share a set of telling (core) moves, aligned to the moves that
most of them have in common, in order and possibly with gaps. *Routines*: contiguous runs shared anywhere. *Moves*: one
telling call that several episodes make among others, of which answers to new combinations are composed.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import reduce
from itertools import combinations, groupby
from operator import and_

import msgspec

from prowess.learning.remembered import remembered
from prowess.learning.synthesis.calls import Call, Run, is_lookup
from prowess.storage.models import Trajectory

__all__ = ["Candidate", "Keys", "Sketch", "Weights", "contains", "last_places", "search"]

MAX_SETS = 300  # sets of core moves that are intersected, and of all those the ones that are aligned
MAX_CORES = 200
MAX_BASES = 3
MAX_ALIGNED = 12
MAX_ROUTINE = 6
COMMON_SHARE = 0.6
SAME_ORDER = 0.8  # of the episodes: what everyone does is a procedure if they do it in one order
MORE_THAN_CHANCE = 1.4  # times what is expected of unrelated moves; frequent tools meet often without any reason
LOOKUP_WEIGHT = 0.25
COMMON_LOOKUP = 0.15  # of the episodes: what more of them look at leads up to anything, what fewer do is telling
COMMON_MOVE = 0.25  # of the episodes: a tool that more of them use is known to everybody by its own description

Keys = tuple[str, ...]


class Sketch(msgspec.Struct, frozen=True):
    """An episode as its calls and their runs; ``keys`` are those of the runs."""

    trajectory: Trajectory
    calls: tuple[Call, ...]
    runs: tuple[Run, ...]
    keys: Keys


class Candidate(msgspec.Struct, frozen=True):
    """A sequence of keys and the episodes (indices) that show it; ``whole`` if it tells all that they achieved."""

    keys: Keys
    members: tuple[int, ...]
    score: float
    whole: bool


class Weights:
    """How much a key says: rare ones more than ubiquitous ones, outcome-making ones more than lookups."""

    def __init__(self, sketches: Sequence[Sketch]) -> None:
        self._episodes = len(sketches)
        self._spread = Counter(key for sketch in sketches for key in set(sketch.keys))
        self._counts = Counter(key for sketch in sketches for key in sketch.keys)
        self._moves = self._counts.total()
        self._core = {index: self.telling(sketch.keys) for index, sketch in enumerate(sketches)}

    def expected_together(self, keys: Collection[str]) -> float:
        """In how many episodes ``keys`` would all occur if they had nothing to do with each other; 0 for one key."""
        if len(keys) < 2:
            return 0.0
        # In one order: what is rounded may decide, and sets have another one in each process.
        return self._episodes * math.prod(self._spread[key] / self._episodes for key in sorted(keys))

    def expected_in_a_row(self, keys: Keys) -> float:
        """How often ``keys`` would follow each other if moves came in any order, none after itself (that is a run)."""
        shares = [self._counts[key] / self._moves for key in keys]
        return self._moves * math.prod(shares) / max(math.prod(1 - share for share in shares[:-1]), 1e-9)

    def of(self, key: str) -> float:
        rarity = math.log((self._episodes + 1) / (self._spread[key] + 0.5)) + 0.2
        return max(rarity, 0.1) * (LOOKUP_WEIGHT if is_lookup(key) else 1.0)

    def core(self, index: int) -> Keys:
        """The distinct telling keys of an episode, in order."""
        return self._core[index]

    def rare(self, key: str) -> bool:
        """Whether so few episodes make this move that it tells something by itself."""
        return self._spread[key] <= COMMON_MOVE * self._episodes

    def telling(self, keys: Keys) -> Keys:
        """The distinct keys that make an outcome or look at what few look at, in order; all where none is such."""
        distinct = tuple(dict.fromkeys(keys))
        acting = any(not is_lookup(key) for key in distinct)
        share = COMMON_LOOKUP if acting else 1 / 3  # who only looked has nothing else to show
        few = share * self._episodes
        return tuple(key for key in distinct if not is_lookup(key) or self._spread[key] <= few) or distinct


def search(sketches: Sequence[Sketch], weights: Weights, min_support: int) -> list[Candidate]:
    """All candidates, the best first. Members are at least ``min_support`` distinct episodes."""
    found = [*_procedures(sketches, weights, min_support), *_routines(sketches, weights, min_support)]
    found += _moves(sketches, weights, min_support)
    return sorted(found, key=lambda candidate: (-candidate.score, candidate.keys))


def contains(keys: Keys, part: Keys) -> bool:
    """Whether ``part`` occurs in ``keys`` in order, gaps allowed."""
    rest = iter(keys)
    return all(key in rest for key in part)


def last_places(keys: Keys, part: Keys) -> list[int]:
    """The last places in ``keys`` that show ``part`` in order: lookups nearest to what they prepare."""
    places: list[int] = []
    rest = list(part)
    for place in range(len(keys) - 1, -1, -1):
        if rest and keys[place] == rest[-1]:
            places.append(place)
            rest.pop()
    return places[::-1]


def _procedures(sketches: Sequence[Sketch], weights: Weights, min_support: int) -> Iterable[Candidate]:
    cores = [weights.core(index) for index in range(len(sketches))]
    exact: dict[frozenset[str], list[int]] = defaultdict(list)
    for index, core in enumerate(cores):
        if core:
            exact[frozenset(core)].append(index)
    for chosen, holders in _core_sets(exact, min_support):
        whole = len(exact.get(chosen, ())) >= min_support
        members = exact[chosen] if whole else holders
        same = _same_order(members, cores, chosen)
        together = len(holders) >= MORE_THAN_CHANCE * weights.expected_together(chosen)
        if not (whole or together or len(same) >= SAME_ORDER * len(members)):
            continue
        aligned = _align(same, sketches, weights, chosen, min_support)
        if aligned is not None:
            keys, shown = aligned
            yield Candidate(keys, shown, _score(keys, shown, sketches, weights), whole)


def _core_sets(exact: dict[frozenset[str], list[int]], least: int) -> list[tuple[frozenset[str], list[int]]]:
    """The sets that occur and what any two of them share, with the episodes that have them all; the best supported."""
    common = sorted(exact, key=lambda chosen: (-len(exact[chosen]), sorted(chosen)))[:MAX_SETS]
    shared = {left & right for left, right in combinations(common, 2)}
    having: dict[str, int] = defaultdict(int)  # bit sets of episodes: thousands of sets are intersected in no time
    for core, indices in exact.items():
        bits = sum(1 << index for index in indices)
        for key in core:
            having[key] |= bits
    held = {chosen: _all_of(chosen, having) for chosen in {*common, *shared} if chosen}
    ranked = sorted(held, key=lambda chosen: (-held[chosen].bit_count() * len(chosen), sorted(chosen)))
    return [(chosen, _indices(held[chosen])) for chosen in ranked[:MAX_CORES] if held[chosen].bit_count() >= least]


def _all_of(chosen: frozenset[str], having: dict[str, int]) -> int:
    return reduce(and_, (having[key] for key in chosen))


def _indices(bits: int) -> list[int]:
    return [index for index, bit in enumerate(reversed(f"{bits:b}")) if bit == "1"]


def _same_order(members: list[int], cores: Sequence[Keys], chosen: frozenset[str]) -> list[int]:
    groups: dict[Keys, list[int]] = defaultdict(list)
    for index in members:
        groups[tuple(key for key in cores[index] if key in chosen)].append(index)
    return min(groups.values(), key=lambda group: (-len(group), group)) if groups else []


def _align(
    members: list[int], sketches: Sequence[Sketch], weights: Weights, chosen: frozenset[str], min_support: int
) -> tuple[Keys, tuple[int, ...]] | None:
    """The subsequence that says most about most ``members``: one of them, less what few others share."""
    if len(members) < min_support:
        return None
    common = Counter(sketches[index].keys for index in members)
    ordered = sorted(common, key=lambda keys: (-common[keys], len(keys), keys))
    options = []
    for base in ordered[:MAX_BASES]:
        for share in (COMMON_SHARE, 1.0):
            keys = _kept(base, ordered[:MAX_ALIGNED], common, chosen, share)
            shown = tuple(index for index in members if contains(sketches[index].keys, keys))
            if keys and len(shown) >= min_support:
                options.append((_score(keys, shown, sketches, weights), keys, shown))
    if not options:
        return None
    _, keys, shown = max(options)
    return keys, shown


# Moves of their own consequence stay out unless chosen: they make other sets, which have to prove that they belong.
def _kept(base: Keys, others: Sequence[Keys], common: Counter[Keys], chosen: frozenset[str], share: float) -> Keys:
    votes = [0] * len(base)
    for other in others:
        for position in _shared_positions(base, other):
            votes[position] += common[other]
    enough = share * sum(common[other] for other in others)
    last = {key: position for position, key in enumerate(base)}
    kept = [
        key
        for position, key in enumerate(base)
        if (key in chosen and (votes[position] >= enough or last[key] == position))
        or (is_lookup(key) and votes[position] >= enough)
    ]
    return tuple(key for key, _ in groupby(kept))


@remembered(20_000)
def _shared_positions(base: Keys, other: Keys) -> tuple[int, ...]:
    """Positions in ``base`` of a longest common subsequence with ``other``."""
    rows, columns = len(base), len(other)
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            same = base[i] == other[j]
            best[i][j] = best[i + 1][j + 1] + 1 if same else max(best[i + 1][j], best[i][j + 1])
    i = j = 0
    positions = []
    while i < rows and j < columns:
        if base[i] == other[j]:
            positions.append(i)
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return tuple(positions)


def _routines(sketches: Sequence[Sketch], weights: Weights, min_support: int) -> Iterable[Candidate]:
    shown: dict[Keys, list[int]] = defaultdict(list)
    times: Counter[Keys] = Counter()
    for index, sketch in enumerate(sketches):
        grams = _grams(sketch.keys)
        times.update(grams)
        for keys in dict.fromkeys(grams):
            shown[keys].append(index)
    kept = {keys: tuple(members) for keys, members in shown.items() if len(members) >= min_support}
    inner = {part for keys in kept for part in (keys[1:], keys[:-1]) if len(kept.get(part, ())) == len(kept[keys])}
    for keys, members in kept.items():
        related = times[keys] >= MORE_THAN_CHANCE * weights.expected_in_a_row(keys)
        if keys not in inner and related and any(not is_lookup(key) for key in keys):
            yield Candidate(keys, members, _score(keys, members, sketches, weights), whole=False)


def _moves(sketches: Sequence[Sketch], weights: Weights, min_support: int) -> Iterable[Candidate]:
    """Single telling moves, by whichever episodes make them."""
    shown: dict[str, list[int]] = defaultdict(list)
    for index in range(len(sketches)):
        for key in weights.core(index):
            shown[key].append(index)
    for key, members in sorted(shown.items()):
        if len(members) >= min_support and weights.rare(key):
            yield Candidate((key,), tuple(members), _score((key,), members, sketches, weights), whole=False)


def _grams(keys: Keys) -> list[Keys]:
    lengths = range(2, MAX_ROUTINE + 1)
    return [keys[start : start + length] for length in lengths for start in range(len(keys) - length + 1)]


def _score(keys: Keys, members: Sequence[int], sketches: Sequence[Sketch], weights: Weights) -> float:
    """Support (tasks count for more than repeats of one) times distinctiveness times length."""
    tasks = len({sketches[index].trajectory.episode.task_id for index in members})
    support = tasks + 0.25 * (len(members) - tasks)
    return round(math.sqrt(support) * sum(weights.of(key) for key in keys), 6)
