"""Calls that only got an episode past a failure: of the procedure they are no step, but what to do where it fails.

Who runs ``terraform plan`` and is told to run ``terraform init`` first does so once in a while. Were it a step, each
way in which something may fail would make a procedure of its own.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from prowess.learning.outcomes import failed
from prowess.learning.synthesis.calls import Call, is_lookup, is_of_project, key_of, succeeded
from prowess.learning.synthesis.clients import is_change, is_note, is_of_client, is_reading
from prowess.learning.templates import template
from prowess.storage.models import Step, Trajectory

__all__ = ["spare_calls"]

LOOKED_AHEAD = 6  # steps after a failure in which the same command must work
LOOKED_AHEAD_OF_CHANGES = 25  # the same where files alone were changed meanwhile
LEAST_EPISODES = 2  # that got past one error alike: then it is told where it occurs
USUAL = 0.8  # of the episodes: what so many do before a command is part of how it is run


def spare_calls(trajectories: Sequence[Trajectory], calls: Sequence[Sequence[Call]]) -> list[frozenset[int]]:
    """For each trajectory the positions of ``calls`` that are no step.

    They are calls between one that failed and the same one when it worked, with no change to a file, which most
    episodes do without; and further changes there, which say that it is to be run again. Of others than a project's
    commands they are those with which several episodes got past one error: these are told at the call that failed.
    """
    needed: Counter[str] = Counter()  # episodes by a call that worked
    done: Counter[tuple[str, str]] = Counter()  # the same by what was done at any time before it
    found = [_cures(trajectory.steps) for trajectory in trajectories]
    cures = {(cure.key, cure.move) for each in found for cure in each}
    of_key: dict[str, set[str]] = defaultdict(set)
    for key, move in cures:
        of_key[key].add(move)
    for made in calls:
        last = {call.key: at for at, call in enumerate(made) if call.key in of_key}
        needed.update(last.keys())
        for key, at in last.items():
            done.update((key, move) for move in of_key[key] & {call.key for call in made[:at]})
    usual = {(key, move) for key, move in cures if done[key, move] >= USUAL * needed[key]}
    told = Counter(cure for each in found for cure in {one._replace(place=0) for one in each})
    return [
        frozenset(
            cure.place
            for cure in each
            if (cure.key, cure.move) not in usual
            and (is_of_project(cure.key) or told[cure._replace(place=0)] >= LEAST_EPISODES)
        )
        | _rounds(trajectory.steps)
        for each, trajectory in zip(found, trajectories, strict=True)
    ]


def _rounds(steps: Sequence[Step]) -> frozenset[int]:
    """Where files that had been changed before were looked at and changed again because a command failed, and nothing
    else was done."""
    keys = [key_of(step.tool, step.args or {}) if step.tool else "" for step in steps]
    changes = [
        place for place, step in enumerate(steps) if succeeded(step) and is_change(step.tool or "", step.args or {})
    ]
    found = set[int]()
    for at, step in enumerate(steps):
        if not (changes and changes[0] < at and keys[at] and failed(step) and is_of_project(keys[at])):
            continue
        for place in range(at + 1, min(at + 1 + LOOKED_AHEAD_OF_CHANGES, len(steps))):
            if keys[place] == keys[at] and succeeded(steps[place]):
                found.update(range(at, place) if any(at < change < place for change in changes) else ())
                break
            if keys[place] != keys[at] and succeeded(steps[place]) and not _leads_up(steps[place], keys[place]):
                break
    return frozenset(found)


def _leads_up(step: Step, key: str) -> bool:
    """Whether it changes files, or looks at what is to be changed."""
    tool, args = step.tool or "", step.args or {}
    return not tool or is_change(tool, args) or is_reading(tool) or is_note(tool, args) or is_lookup(key)


class _Cure(NamedTuple):
    """A call that failed with an error and soon worked, one that was made between, and its place."""

    key: str
    error: str
    move: str
    place: int


def _cures(steps: Sequence[Step]) -> list[_Cure]:
    keys = [key_of(step.tool, step.args or {}) if step.tool else "" for step in steps]
    found = []
    for at, step in enumerate(steps):
        if not keys[at] or not failed(step) or is_of_client(step.tool or "", step.args or {}):
            continue
        error = "" if is_of_project(keys[at]) else template(step.error or "")
        between: list[int] = []
        for place in range(at + 1, min(at + 1 + LOOKED_AHEAD, len(steps))):
            later = steps[place]
            if is_change(later.tool or "", later.args or {}):
                break
            if keys[place] != keys[at]:
                between += [place] if succeeded(later) else []
            elif succeeded(later):
                found += [_Cure(keys[at], error, keys[place], place) for place in between]
                break
    return found
