"""Where episodes go well or badly: projects, agents, words of the task, tools at hand."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from prowess.learning.arrays import Ints
from prowess.learning.mining.candidates import Candidates, Told, marks_of
from prowess.learning.mining.incidence import Groups, Incidence

__all__ = ["contexts"]

MAX_WORDS = 400
LARGEST_SHARE = 0.9  # what nearly all episodes have tells none apart

_PHRASES = {
    "project": "the project is",
    "agent": "the agent is",
    "tool": "the episode uses",
    "word": "the task mentions",
}


def contexts(labels: Incidence, verbs: Incidence, episodes: int, least: int) -> Candidates:
    """Properties of episodes that some have and some lack; those with the same episodes are told as one."""
    features, groups = _features(labels, verbs)
    sizes = groups.sizes
    usable = [at for at in _ranked(features, sizes) if least <= sizes[at] <= LARGEST_SHARE * episodes]
    groups = groups.at(np.array(usable, np.int64))
    merged: dict[int, list[int]] = defaultdict(list)
    for place, mark in enumerate(marks_of(groups).tolist()):
        merged[mark].append(place)
    alike = list(merged.values())

    def told(index: int) -> Told:
        what, value = features[usable[alike[index][0]]]
        values = [features[usable[place]][1] for place in alike[index] if features[usable[place]][0] == what]
        detail = {"feature": what, "value": value, "also": values[1:4]}
        return Told((what, value), f"{_PHRASES[what]} {', '.join(values[:4])}", detail)

    chosen = np.array([places[0] for places in alike], np.int64)
    return Candidates("context", groups.at(chosen), told)


def _features(labels: Incidence, verbs: Incidence) -> tuple[list[tuple[str, str]], Groups]:
    numbers, one = labels.table()
    used, other = verbs.table()
    features = [labels.keys[number] for number in numbers.tolist()]
    features += [("tool", verbs.keys[number]) for number in used.tolist()]
    sizes = np.cumsum(np.r_[one.sizes, other.sizes])
    return features, Groups(np.r_[one.members, other.members], np.r_[0, sizes])


def _ranked(features: list[tuple[str, str]], sizes: Ints) -> list[int]:
    """Places in the order of telling, with only the most frequent of the words."""
    kinds = [*_PHRASES]
    words = sorted(
        (place for place, (what, _) in enumerate(features) if what == "word"),
        key=lambda place: (-sizes[place], features[place][1]),
    )
    left_out = {*words[MAX_WORDS:]}
    kept = [place for place in range(len(features)) if place not in left_out]
    return sorted(kept, key=lambda place: (kinds.index(features[place][0]), features[place][1]))
