"""What keeps failing, and what was done when it worked again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np

from prowess.learning.mining_coding import Coded, Hypothesis, Ints
from prowess.learning.templates import template
from prowess.storage.models import Step, Trajectory

__all__ = ["Failing", "failing_steps", "failures", "recoveries"]

WINDOW = 20  # how many steps after an error may still be its recovery
MAX_FIX = 3
MAX_CHANGED = 4

Failing = dict[tuple[str, str], list[tuple[int, int]]]  # (verb, error template) → (episode, index) of each step


class _Fixed(msgspec.Struct):
    episodes: list[int] = msgspec.field(default_factory=list)
    changed: dict[str, int] = msgspec.field(default_factory=dict)


def failures(coded: Coded, failing: Failing, min_support: int) -> Iterator[Hypothesis]:
    """Errors, by verb and template, that at least ``min_support`` episodes ran into."""
    calls = np.bincount(coded.verb, minlength=len(coded.names))
    number = {name: index for index, name in enumerate(coded.names)}
    for (verb, error), places in failing.items():
        episodes = sorted({episode for episode, _ in places})
        if len(episodes) >= min_support:
            share = len(places) / int(calls[number[verb]])
            yield Hypothesis(
                kind="failure",
                content=(verb, error),
                members=np.array(episodes, np.int64),
                subject=f"{verb} fails with “{error}” ({share:.0%} of its calls)",
                detail={"verb": verb, "error": error, "times": len(places), "share_of_calls": round(share, 4)},
            )


def recoveries(coded: Coded, failing: Failing, min_support: int) -> Iterator[Hypothesis]:
    """For each error, what was done before the same verb worked, against the other episodes with that error."""
    for (verb, error), places in failing.items():
        hit = np.unique(np.array([episode for episode, _ in places], np.int64))
        fixes: dict[tuple[str, ...], _Fixed] = defaultdict(_Fixed)
        for episode, at in places:
            _note_fix(fixes, coded.trajectories[episode].steps, episode, at)
        for fix, fixed in fixes.items():
            members = np.unique(np.array(fixed.episodes, np.int64))
            if len(members) >= min_support:
                yield _recovery(verb, error, fix, fixed, members, hit)


def failing_steps(trajectories: Sequence[Trajectory]) -> Failing:
    """Every step that failed, by verb and template; each text is templated once."""
    found: Failing = defaultdict(list)
    templates: dict[str, str] = {}
    for episode, trajectory in enumerate(trajectories):
        for at, step in enumerate(trajectory.steps):
            if step.error or step.outcome == "failure":
                text = step.error or ""
                if text not in templates:
                    templates[text] = template(text) or "no message"
                found[step.verb, templates[text]].append((episode, at))
    return found


def _note_fix(fixes: dict[tuple[str, ...], _Fixed], steps: Sequence[Step], episode: int, at: int) -> None:
    """Adds how the failing step at ``at`` was got over, if it was before it failed again."""
    failed, between = steps[at], list[str]()
    for step in steps[at + 1 : at + 1 + WINDOW]:
        works = not step.error and step.outcome != "failure"
        if step.verb == failed.verb:
            if works:
                fixed = fixes[tuple(between[-MAX_FIX:])]
                fixed.episodes.append(episode)
                for name in _changed(failed.args, step.args):
                    fixed.changed[name] = fixed.changed.get(name, 0) + 1
            return
        if works and (not between or between[-1] != step.verb):
            between.append(step.verb)


def _changed(before: dict[str, Any] | None, after: dict[str, Any] | None) -> list[str]:
    if before is None or after is None:
        return []
    return [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]


def _recovery(verb: str, error: str, fix: tuple[str, ...], fixed: _Fixed, members: Ints, hit: Ints) -> Hypothesis:
    changed = sorted(fixed.changed, key=lambda name: (-fixed.changed[name], name))[:MAX_CHANGED]
    how = " → ".join(fix) if fix else "calling it again"
    with_what = f" with another {', '.join(changed)}" if changed else ""
    return Hypothesis(
        kind="recovery",
        content=(verb, error, *fix),
        members=members,
        within=hit,
        subject=f"{verb} failed with “{error}” and worked after {how}{with_what}",
        detail={"verb": verb, "error": error, "fix": list(fix), "changed": changed},
    )
