"""Episodes counted once: what changes is counted anew, the rest is kept from the last time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from prowess.learning.arrays import Flags, Floats, Ints
from prowess.learning.mining.candidates import Candidates
from prowess.learning.mining.contexts import contexts
from prowess.learning.mining.decisions import Forks
from prowess.learning.mining.facts import Facts, Reader
from prowess.learning.mining.failures import failures, recoveries
from prowess.learning.mining.incidence import EPISODE_MASK, Groups, Incidence, inserted
from prowess.learning.mining.sequences import MOST_VERBS, REACH, Growth, Moves, sequences
from prowess.storage.models import PatternKind, Trajectory

__all__ = ["Corpus"]

TOLD = ("verbs", "runs", "long", "decisions", "contexts", "failing", "fixes", "changed")
WASTE = 2  # times as many numbers given as episodes held: then counting everything again is cheaper than carrying on


class Corpus:
    """Episodes to find patterns in. ``update`` tells it what is new, changed or gone.

    What ``mining.find`` makes of it depends on the episodes that it holds, never on how they came in. It takes about
    6 kB per episode of ten steps, and holds no text but verbs, error templates, words of tasks and projects.
    """

    def __init__(self) -> None:
        self._changes = 0
        self._clear()

    def _clear(self) -> None:
        self._reader = Reader()
        self._numbers: dict[str, int] = {}
        self._ids: list[str] = []
        self._sorted: list[str] = []  # ids by name, also of those that are gone
        self._by_id = np.zeros(0, np.int64)  # their numbers
        self._rewards: list[float] = []
        self._steps: list[int] = []
        self._projects: dict[str, int] = {}  # their numbers
        self._project: list[int] = []
        self._held = 0
        self._gone = np.zeros(0, np.bool_)
        self._moves = Moves()
        self._grown_to = 0
        self._shown = {name: Incidence() for name in TOLD}
        self._forks = Forks(self._shown["decisions"])
        self._growth = (Growth(1), Growth(REACH))
        self._rank = np.zeros(0, np.int64)

    def __len__(self) -> int:
        """Episodes held."""
        return len(self._numbers)

    @property
    def steps(self) -> int:
        """Steps held."""
        return self._held

    @property
    def changes(self) -> int:
        """How often something was put in, taken out or scored: as long as it stays, so does what is found."""
        return self._changes

    @property
    def worn(self) -> bool:
        """Whether so much has changed that a new corpus with all episodes is better than this one."""
        given = len(self._ids)
        return (
            given > WASTE * len(self) + 1_000
            or given > EPISODE_MASK // 2
            or self._moves.full
            or any(growth.full for growth in self._growth)
        )

    @property
    def rewards(self) -> Floats:
        """By number; NaN where unknown or where the episode is gone."""
        rewards = np.array(self._rewards, np.float64)
        rewards[self._gone | ~np.isfinite(rewards)] = np.nan
        return rewards

    def latest(self, groups: Groups, count: int) -> list[tuple[str, ...]]:
        """The last episodes of each group, by id, the last one first."""
        fresh = sorted(range(len(self._sorted), len(self._ids)), key=self._ids.__getitem__)
        at = [bisect_left(self._sorted, self._ids[number]) for number in fresh]
        self._by_id = inserted(self._by_id, np.array(at, np.int64), np.array(fresh, np.int64))
        self._sorted = sorted([*self._sorted, *(self._ids[number] for number in fresh)])
        place = np.empty(len(self._ids), np.int64)
        place[self._by_id] = np.arange(len(place))
        chosen = (_largest(place[groups.of(at)], count) for at in range(len(groups)))
        return [tuple(self._sorted[at] for at in places) for places in chosen]

    def homes(self, groups: Groups) -> list[str]:
        """The project that all episodes of a group are of, for each group; "" where they are of several."""
        project, names = np.array(self._project, np.int64), list(self._projects)
        members = (project[groups.of(at)] for at in range(len(groups)))
        return [names[found[0]] if len(found) and (found == found[0]).all() else "" for found in members]

    def update(self, trajectories: Sequence[Trajectory], gone: Iterable[str] = ()) -> None:
        """Put in ``trajectories``, each instead of what was held of its episode, and take out those named by ``gone``.

        Steps may be summaries: no arguments, no observations, errors as templates.
        """
        told = {trajectory.episode.id: trajectory for trajectory in trajectories}
        self._drop({*gone, *told})
        if not told:
            return
        read = [(self._enter(told[key]), self._reader.read(told[key])) for key in sorted(told)]
        self._gone = np.r_[self._gone, np.zeros(len(read), np.bool_)]
        for name, shown in self._shown.items():
            shown.add([(number, getattr(facts, name)) for number, facts in read])
        self._add_moves(read)

    def score(self, rewards: Mapping[str, float | None]) -> None:
        """Set the rewards of episodes by id, which changes nothing else; ids that are not held are passed over."""
        for key, reward in rewards.items():
            if (number := self._numbers.get(key)) is not None:
                self._rewards[number] = np.nan if reward is None else reward
                self._changes += 1

    def _drop(self, ids: Collection[str]) -> None:
        numbers = [self._numbers.pop(key) for key in sorted(ids) if key in self._numbers]
        self._changes += len(numbers)
        if numbers and not self._numbers:
            self._clear()
        elif numbers:
            self._gone[numbers] = True
            self._held -= sum(self._steps[number] for number in numbers)
            for shown in self._shown.values():
                shown.drop(self._gone)
            for growth in self._growth:
                growth.drop(self._gone, self._moves)

    def _enter(self, trajectory: Trajectory) -> int:
        number = self._numbers[trajectory.episode.id] = len(self._ids)
        reward = trajectory.episode.reward
        self._ids.append(trajectory.episode.id)
        self._rewards.append(np.nan if reward is None else reward)
        self._steps.append(len(trajectory.steps))
        self._project.append(self._projects.setdefault(trajectory.episode.project, len(self._projects)))
        self._held += len(trajectory.steps)
        self._changes += 1
        return number

    def _add_moves(self, read: Sequence[tuple[int, Facts]]) -> None:
        number = self._shown["verbs"].number
        verbs = [number(move) for _, facts in read for move in facts.moves]
        owners = [owner for owner, facts in read for _ in facts.moves]
        pairs = [pair for pair in zip(verbs, owners, strict=True) if pair[0] < MOST_VERBS]
        self._moves.add([verb for verb, _ in pairs], [owner for _, owner in pairs])

    def candidates(self, kinds: Collection[PatternKind], least: int) -> Iterator[Candidates]:
        """What at least ``least`` episodes show, by kind, in the order of ``kinds``."""
        shown = self._shown
        for kind in kinds:
            match kind:
                case "sequence":
                    yield self._sequences(least)
                case "decision":
                    yield self._forks.candidates(least)
                case "recovery":
                    yield recoveries(shown["fixes"], shown["changed"], shown["failing"], least)
                case "context":
                    yield contexts(shown["contexts"], shown["verbs"], len(self), least)
                case "failure":
                    yield failures(shown["failing"], shown["verbs"], least)

    def _sequences(self, least: int) -> Candidates:
        names = self._shown["verbs"].keys
        if len(self._rank) != len(names):
            self._rank = np.empty(len(names), np.int64)
            self._rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        tight, loose = (
            growth.grow(self._moves, self._gone, self._grown_to, least, self._rank[:MOST_VERBS])
            for growth in self._growth
        )
        self._grown_to = len(self._moves.verb)
        return sequences(tight, loose, names, self._rank, self._repeated(len(names)))

    def _repeated(self, count: int) -> Flags:
        """By verb number, whether its runs are mostly longer than one step."""
        runs, long = (self._by_verb(name, count) for name in ("runs", "long"))
        return 2 * long > runs

    def _by_verb(self, name: str, count: int) -> Ints:
        shown, number = self._shown[name], self._shown["verbs"].number
        totals = np.zeros(count, np.int64)
        totals[[number(shown.keys[key]) for key in shown.table()[0].tolist()]] = shown.times()
        return totals

    def everyone(self) -> Groups:
        """All episodes as one group."""
        members = np.flatnonzero(~self._gone)
        return Groups(members, np.array([0, len(members)]))


def _largest(values: Ints, count: int) -> list[int]:
    if len(values) > count:
        values = np.partition(values, len(values) - count)[len(values) - count :]
    return sorted(values.tolist(), reverse=True)
