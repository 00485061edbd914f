"""One memory made of one trace, span by span: what a policy sees, and what its choices do.

The trainer, the hub and the benchmarks all go through ``Play``, so that a policy meets in use what it met in training.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from prowess.learning.memskill.affinity import View
from prowess.learning.memskill.executor import RETRIEVED, EmbeddedExecutor, Executor
from prowess.learning.memskill.memory import Found, Limits, MemoryBank, Operation
from prowess.learning.memskill.units import KIND_STEMS, Span, Trace, Vector, unit_vector

__all__ = ["Always", "Play", "Policy", "UniformRandom", "observation_size", "observe", "play_all"]

FEATURES = 6 + len(KIND_STEMS)  # of an observation, beside the two vectors


class Policy(Protocol):
    """Chooses skills. ``begin`` comes before each trace."""

    def begin(self) -> None: ...

    def choose(self, observation: Vector, first: bool, views: Sequence[View]) -> list[int]:
        """Positions in ``views``, the first to be applied first, each at most once."""
        ...


def observation_size(dim: int) -> int:
    """How many numbers an observation has, for vectors of ``dim``."""
    return 2 * dim + FEATURES


def observe(span: Span, memory: MemoryBank, retrieved: Sequence[Found]) -> Vector:
    """The state: span, mean of the retrieved memories (zeros without any), and a few numbers, shape (size,)."""
    mean = np.mean([found.item.vector for found in retrieved], axis=0) if retrieved else np.zeros_like(span.vector)
    limits, count = memory.limits, len(span.units)
    numbers = [
        len(memory.items) / limits.items,
        memory.tokens / limits.tokens,
        retrieved[0].score if retrieved else 0.0,
        retrieved[-1].score if retrieved else 0.0,
        min(sum(unit.tokens for unit in span.units) / 200, 2.0),
        float(span.first),
    ]
    kinds = [sum(stem in unit.terms for unit in span.units) / count for stem in KIND_STEMS.values()]
    return np.concatenate([span.vector, unit_vector(mean), np.asarray(numbers + kinds, np.float32)]).astype(np.float32)


class Play:
    """One trace under way. ``used`` holds the positions of the skills chosen for each span so far."""

    def __init__(
        self,
        trace: Trace,
        views: Sequence[View],
        limits: Limits,
        executor: Executor | None = None,
        memory: MemoryBank | None = None,
    ) -> None:
        self.trace = trace
        self.views = list(views)
        self.memory = MemoryBank(limits) if memory is None else memory
        self.used: list[tuple[int, ...]] = []
        self.done: list[list[Operation]] = []
        self._executor = executor or EmbeddedExecutor()
        self._retrieved: list[Found] = []

    @property
    def span(self) -> Span | None:
        """The span to be decided on; None at the end."""
        return self.trace.spans[len(self.used)] if len(self.used) < len(self.trace.spans) else None

    def observe(self) -> Vector:
        """What the policy sees of the span to be decided on."""
        assert self.span is not None
        self._retrieved = self.memory.near(self.span.vector, RETRIEVED)
        return observe(self.span, self.memory, self._retrieved)

    def step(self, chosen: Sequence[int]) -> list[Operation]:
        """Apply the skills at these positions to the span last observed; what they did."""
        assert self.span is not None
        views = [self.views[index] for index in chosen]
        operations = self._executor.plan(self.span, views, self.memory, self._retrieved)
        self.memory.apply(operations)
        self.used.append(tuple(chosen))
        self.done.append(operations)
        return operations


def play_all(play: Play, policy: Policy) -> MemoryBank:
    """Play to the end; the memory then."""
    policy.begin()
    while (span := play.span) is not None:
        play.step(policy.choose(play.observe(), span.first, play.views))
    return play.memory


class UniformRandom:
    """``k`` different skills, every order as likely as any other."""

    def __init__(self, k: int, seed: int) -> None:
        self._k = k
        self._random = np.random.default_rng(seed)

    def begin(self) -> None:
        """Nothing is kept between spans."""

    def choose(self, observation: Vector, first: bool, views: Sequence[View]) -> list[int]:
        """See Policy."""
        return [int(index) for index in self._random.permutation(len(views))[: self._k]]


class Always:
    """The same skills for every span, in this order."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def begin(self) -> None:
        """Nothing is kept between spans."""

    def choose(self, observation: Vector, first: bool, views: Sequence[View]) -> list[int]:
        """See Policy."""
        names = [view.name for view in views]
        return [names.index(name) for name in self._names if name in names]
