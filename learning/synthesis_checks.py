"""What goes wrong at a step of a skill, and how the episodes behind it got past that: its checks, in words.

An episode that succeeded after all shows both: the call that failed, and what was done before the same call worked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from prowess.learning.outcomes import ran
from prowess.learning.synthesis_calls import key_of, succeeded
from prowess.learning.templates import template
from prowess.storage.models import Step, Trajectory

__all__ = ["checks"]

LEAST_EPISODES = 2  # of those behind the skill; what one alone ran into is its own
LOOKED_AHEAD = 4  # steps after a failure in which the same call must work
LONGEST_ERROR = 80  # characters of an error in a note


def checks(trajectories: Sequence[Trajectory], keys: Sequence[str]) -> dict[str, str]:
    """For each of ``keys`` that failed alike in several episodes before it worked: what to look out for."""
    seen: dict[tuple[str, str], list[tuple[str, ...]]] = defaultdict(list)
    for trajectory in trajectories:
        own = dict(_recoveries(ran(trajectory.steps), keys))  # an episode counts once, however often it tried
        for failure, fix in own.items():
            seen[failure].append(fix)
    told: dict[str, str] = {}
    for (key, error), fixes in sorted(seen.items(), key=lambda item: (-len(item[1]), item[0])):
        if len(fixes) >= LEAST_EPISODES and key not in told:
            told[key] = _words(error, fixes)
    return told


def _recoveries(steps: Sequence[Step], keys: Sequence[str]) -> list[tuple[tuple[str, str], tuple[str, ...]]]:
    """((key, error), tools in between) of each call of ``keys`` that failed and soon worked."""
    found = []
    for at, step in enumerate(steps):
        key = _key(step)
        if key not in keys or not step.error:
            continue
        between: list[str] = []
        for later in steps[at + 1 : at + 1 + LOOKED_AHEAD]:
            if _key(later) == key and succeeded(later):
                found.append(((key, template(step.error)[:LONGEST_ERROR]), tuple(between)))
                break
            if later.tool and succeeded(later):
                between.append(later.tool)
    return found


def _key(step: Step) -> str:
    return key_of(step.tool, step.args or {}) if step.tool else ""


def _words(error: str, fixes: Sequence[tuple[str, ...]]) -> str:
    common, count = Counter(fixes).most_common(1)[0]
    if common and count * 2 > len(fixes):
        return f"if it fails with “{error}”, use {' and '.join(dict.fromkeys(common))} first"
    return f"if it fails with “{error}”, try it with other arguments"
