"""Episodes as arrays of integers, so that 100,000 steps are counted in tens of milliseconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from prowess.storage.models import PatternKind, Trajectory

__all__ = ["Coded", "Hypothesis", "Ints", "code_episodes", "distinct", "distinct_pairs"]

Ints = np.ndarray[Any, np.dtype[np.int64]]
Floats = np.ndarray[Any, np.dtype[np.float64]]


class Coded(msgspec.Struct, frozen=True):
    """All steps in order.

    ``verb`` and ``episode`` have one entry per step; ``moves`` and ``owner`` one per run of equal verbs; ``repeated``
    tells by verb whether its runs are mostly longer than one. ``reward`` is NaN where unknown.
    """

    trajectories: Sequence[Trajectory]
    names: tuple[str, ...]
    verb: Ints
    episode: Ints
    moves: Ints
    owner: Ints
    repeated: tuple[bool, ...]
    reward: Floats

    def label(self, verb: int) -> str:
        """The verb's name, with a + where it is mostly repeated."""
        return self.names[verb] + ("+" if self.repeated[verb] else "")


class Hypothesis(msgspec.Struct, frozen=True):
    """Something that episodes show, to be compared by reward.

    ``members`` are the episodes (sorted indices) that show it, ``within`` those among which it is compared (None: all).
    ``content`` identifies it within its kind, ``subject`` says it in words, ``detail`` has the kind's own fields.
    """

    kind: PatternKind
    content: tuple[Any, ...]
    members: Ints
    subject: str
    detail: dict[str, Any]
    within: Ints | None = None
    weight: float = 1.0


def code_episodes(trajectories: Sequence[Trajectory]) -> Coded:
    """``trajectories`` as arrays; verbs are numbered in order of their names."""
    verbs = [step.tool or step.action for trajectory in trajectories for step in trajectory.steps]
    names = tuple(sorted(set(verbs)))
    numbers = {name: number for number, name in enumerate(names)}
    verb = np.fromiter((numbers[name] for name in verbs), np.int64, len(verbs))
    lengths = np.fromiter((len(trajectory.steps) for trajectory in trajectories), np.int64, len(trajectories))
    episode = np.repeat(np.arange(len(trajectories)), lengths)
    starts = np.flatnonzero(np.r_[True, (verb[1:] != verb[:-1]) | (episode[1:] != episode[:-1])][: len(verb)])
    moves, owner = verb[starts], episode[starts]
    long = np.diff(np.r_[starts, len(verb)]) > 1
    runs = np.bincount(moves, minlength=len(names))
    repeated = np.bincount(moves[long], minlength=len(names)) * 2 > runs
    return Coded(trajectories, names, verb, episode, moves, owner, tuple(repeated.tolist()), _rewards(trajectories))


def _rewards(trajectories: Sequence[Trajectory]) -> Floats:
    known = (trajectory.episode.reward for trajectory in trajectories)
    values = np.array([np.nan if value is None else value for value in known], np.float64)
    return np.where(np.isfinite(values), values, np.nan)


def distinct(values: Ints) -> Ints:
    """Sorted without repeats; on integers several times as fast as numpy's own, which hashes."""
    ranked = np.sort(values)
    fresh = np.r_[True, ranked[1:] != ranked[:-1]][: len(ranked)]
    return np.asarray(ranked[fresh], np.int64)


def distinct_pairs(keys: Ints, episodes: Ints) -> tuple[Ints, Ints, Ints]:
    """The distinct keys, their episodes concatenated (sorted, each once) and where those of each begin (one more)."""
    if len(keys) == 0:
        empty = np.zeros(0, np.int64)
        return empty, empty, np.zeros(1, np.int64)
    width = int(episodes.max()) + 1
    both = distinct(keys * width + episodes)
    key, episode = both // width, both % width
    begins = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
    return key[begins], episode, np.r_[begins, len(both)]
