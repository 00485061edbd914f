"""What may turn out to be a pattern: groups of episodes to be compared by reward, and how to put each into words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from prowess.learning.arrays import Ints
from prowess.learning.mining.incidence import Groups
from prowess.storage.models import PatternKind

__all__ = ["Candidates", "Told", "marks_of", "mixed", "summed"]

_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB), np.uint64(0x9E3779B97F4A7C15))


class Told(msgspec.Struct, frozen=True):
    """``content`` identifies a candidate within its kind, ``subject`` says it in words, ``detail`` has the kind's own
    fields."""

    content: tuple[Any, ...]
    subject: str
    detail: dict[str, Any]


class Candidates(msgspec.Struct, frozen=True):
    """Candidates of one kind, in an order that their content alone decides.

    ``groups`` are the episodes that show each. It is compared within ``wholes`` number ``whole[i]`` (None: within all
    episodes). ``weight`` is what an episode of support counts where effects do not decide.
    """

    kind: PatternKind
    groups: Groups
    told: Callable[[int], Told]
    wholes: Groups | None = None
    whole: Ints | None = None
    weight: Ints | int = 1


def marks_of(groups: Groups) -> Ints:
    """A number for each group that equal groups share, and others but for one chance in 2⁶⁴ do not."""
    return summed(mixed(groups.members), groups.begins[:-1])


def mixed(members: np.ndarray[Any, Any]) -> Ints:
    """What each episode adds to the marks of its groups."""
    numbers = members.astype(np.uint64) * _MIX[2] + _MIX[2]
    for shift, factor in ((30, _MIX[0]), (27, _MIX[1])):  # the finaliser of splitmix64
        numbers = (numbers ^ numbers >> np.uint64(shift)) * factor
    numbers ^= numbers >> np.uint64(31)
    return np.asarray(numbers.view(np.int64), np.int64)


def summed(values: Ints, begins: Ints) -> Ints:
    """The sum of each stretch of ``values`` that begins at one of ``begins``."""
    return np.asarray(np.add.reduceat(values, begins) if len(begins) else values[:0], np.int64)
