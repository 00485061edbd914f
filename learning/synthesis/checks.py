"""What goes wrong at a step of a skill, and how the episodes behind it got past that: its checks, in words.

An episode that succeeded after all shows both: the call that failed, and what was done before the same call worked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from prowess.learning.counting import counted
from prowess.learning.outcomes import ran
from prowess.learning.synthesis.calls import is_lookup, is_of_project, key_of, succeeded
from prowess.learning.synthesis.clients import is_change, is_of_client, plain_args
from prowess.learning.templates import template
from prowess.storage.models import Step, Trajectory

__all__ = ["AGAIN", "checks", "in_words"]

LEAST_EPISODES = 2  # of those behind the skill; what one alone ran into is its own
LOOKED_AHEAD = 4  # steps after a failure in which the same call must work
LOOKED_AHEAD_OF_CHECKS = 25  # the same where a project's tool failed: its files are changed before, in many steps
LONGEST_ERROR = 80  # characters of an error in a note
AGAIN = "change the files and run it again"

_CHANGED = "change the files"


class _Recovery(NamedTuple):
    """A call that failed and soon worked: which, with what error, what was done meanwhile, what it was told anew."""

    key: str
    error: str
    between: tuple[str, ...]
    changed: tuple[str, ...]


def checks(trajectories: Sequence[Trajectory], keys: Sequence[str]) -> dict[str, str]:
    """For each of ``keys`` that failed alike in several episodes before it worked: what to look out for.

    What fails of a project's own fails differently each time; there it counts that files were changed before it worked.
    """
    seen: dict[tuple[str, str], list[_Recovery]] = defaultdict(list)
    for trajectory in trajectories:
        # An episode counts once, however often it tried.
        own = {(found.key, found.error): found for found in _recoveries(ran(trajectory.steps), keys)}
        for failure, found in own.items():
            seen[failure].append(found)
    told: dict[str, str] = {}
    for (key, error), fixes in sorted(seen.items(), key=lambda item: (-len(item[1]), item[0])):
        if len(fixes) >= LEAST_EPISODES and key not in told:
            told[key] = _words(error, fixes, len(trajectories))
    return told


def _recoveries(steps: Sequence[Step], keys: Sequence[str]) -> list[_Recovery]:
    """Each call of ``keys`` that failed and soon worked, but for those of a client's own tools."""
    found = []
    for at, step in enumerate(steps):
        key = _key(step)
        if key not in keys or not step.error or is_of_client(step.tool or "", step.args or {}):
            continue
        project = is_of_project(key)
        between: list[str] = []
        for later in steps[at + 1 : at + 1 + (LOOKED_AHEAD_OF_CHECKS if project else LOOKED_AHEAD)]:
            if _key(later) == key and succeeded(later):
                error = "" if _CHANGED in between else template(step.error)[:LONGEST_ERROR]
                done = [what for what in between if not (project and is_lookup(what))] or between
                found.append(_Recovery(key, error, tuple(dict.fromkeys(done)), _changed(step, later)))
                break
            if later.tool and succeeded(later):
                between.append(_done(later, project=project))
    return found


def _done(step: Step, *, project: bool) -> str:
    """What a step did: its tool, of a project's work the programs, since one shell runs them all."""
    if not project:
        return step.tool or ""
    return _CHANGED if is_change(step.tool or "", step.args or {}) else _key(step)


def _key(step: Step) -> str:
    return key_of(step.tool, step.args or {}) if step.tool else ""


def _changed(failed: Step, worked: Step) -> tuple[str, ...]:
    """The names of the arguments that were others when it worked."""
    before, after = (plain_args(step.tool or "", step.args or {}) for step in (failed, worked))
    return tuple(sorted(name for name in {*before, *after} if before.get(name) != after.get(name)))


def in_words(keys: Sequence[str], joint: str) -> str:
    """Calls by their keys: ``use Read and run docker compose up``."""
    parted = [key.partition(":") for key in keys]
    tools = [tool for tool, _, programs in parted if not programs]
    runs = [programs.replace("|", " and ") for _, _, programs in parted if programs]
    told = [f"use {f' {joint} '.join(tools)}" if tools else "", f"run {f' {joint} '.join(runs)}" if runs else ""]
    return f" {joint} ".join(filter(None, told))


def _words(error: str, fixes: Sequence[_Recovery], episodes: int) -> str:
    if not error:
        return f"if it fails, {AGAIN}, as {len(fixes)} of {counted(episodes, 'episode')} did"
    failed = f"if it fails with “{error}”"
    common, count = Counter(fix.between for fix in fixes).most_common(1)[0]
    if common and count * 2 > len(fixes):
        return f"{failed}, {in_words(common, 'and')} first"
    anew, count = Counter(fix.changed for fix in fixes).most_common(1)[0]
    if len(anew) < 2 and count * 2 > len(fixes):
        return f"{failed}, give another {anew[0]}" if anew else f"{failed}, try it again"
    return f"{failed}, try it with other arguments"
