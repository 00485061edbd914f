"""Episodes with their steps and scores, and how one is meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from prowess.storage.models.base import Value

__all__ = [
    "COMMAND_ARGUMENTS",
    "Episode",
    "EpisodeFilter",
    "Evidence",
    "Outcome",
    "Reward",
    "Step",
    "Trajectory",
    "Where",
    "command_line",
    "line_of",
    "ordered",
]

COMMAND_ARGUMENTS = ("command", "cmd", "script")  # under these names tools take a command line

Outcome = Literal["success", "failure", "unknown"]
Evidence = Literal["user", "tests", "commit", "exit_code", "agent"]


class Step(Value, frozen=True, kw_only=True):
    """One action of an agent, as it was told.

    ``number`` counts from 1 within the episode; ``numbered`` says that the client chose it. ``at`` is the client's
    timestamp, or when the step arrived. ``external_id`` is the client's own identity of the tool call.
    """

    episode_id: str
    number: int
    action: str
    at: str
    numbered: bool = False
    tool: str | None = None
    args: dict[str, Any] | None = None
    context: str | None = None
    observation: str | None = None
    error: str | None = None
    outcome: Outcome = "unknown"
    duration_ms: float | None = None
    external_id: str | None = None

    @property
    def verb(self) -> str:
        """What sequences are made of: the tool's name, or the action where no tool is named."""
        return self.tool or self.action


class Episode(Value, frozen=True, kw_only=True):
    """All steps of one attempt at one task. ``reward`` in [-10, 10] or None; ``closed_at`` set once it is final."""

    id: str
    project: str
    session: str
    task_id: str
    attempt: int
    opened_at: str
    task: str = ""
    agent: str = ""
    closed_at: str | None = None
    steps: int = 0
    reward: float | None = None
    outcome: Outcome = "unknown"
    updated_seq: int = 0


class Reward(Value, frozen=True, kw_only=True):
    """One score as it was given. ``value`` in [-10, 10], None for an uncertain (neutral) result.

    ``step`` is None for the whole episode. ``source`` is the kind of evidence it rests on, ``evidence`` the details.
    """

    id: str
    episode_id: str
    at: str
    value: float | None
    source: Evidence = "agent"
    step: int | None = None
    label: str | None = None
    reason: str = ""
    evidence: dict[str, Any] = msgspec.field(default_factory=dict)


class Trajectory(Value, frozen=True, kw_only=True):
    """An episode with its steps, in order: what learning works on.

    ``whole`` says that every step is as it was recorded. Else some are summaries, since retention dropped what was
    recorded or another machine kept it to itself: their ``args`` have names without values, and they return nothing.
    """

    episode: Episode
    steps: tuple[Step, ...]
    whole: bool = True


class Where(Value, frozen=True, kw_only=True):
    """Which episode is meant: one attempt at ``task_id`` by ``session`` in ``project``.

    ``task`` is what the user asked and ``agent`` the client's own name; both describe the episode and do not
    identify it. A project that is ``assumed`` was not named: writes go where the task is tracked already.
    """

    task_id: str
    project: str = ""
    session: str = ""
    task: str = ""
    agent: str = ""
    assumed: bool = False


class EpisodeFilter(Value, frozen=True, kw_only=True):
    """Which episodes are wanted; None leaves a field free.

    ``since`` is a time, ``after`` the number of an event that they must have changed later than; ``scored`` asks for a
    known reward, ``trusted`` for those from which may be learned: they are not of strangers that share the remote.
    ``ids`` are at most a few hundred. Those of the projects ``without`` are left out.
    """

    project: str | None = None
    task_id: str | None = None
    since: str | None = None
    outcome: Outcome | None = None
    scored: bool | None = None
    closed: bool | None = None
    after: int | None = None
    trusted: bool | None = None
    ids: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()


def ordered(steps: Mapping[int, Step] | list[Step] | tuple[Step, ...]) -> tuple[Step, ...]:
    """Steps as they happened: by number if the client numbered any of them, else by time and then arrival."""
    values = list(steps.values()) if isinstance(steps, Mapping) else list(steps)
    if any(step.numbered for step in values):
        return tuple(sorted(values, key=lambda step: step.number))
    return tuple(sorted(values, key=lambda step: (step.at, step.number)))


def line_of(value: object) -> str:
    """The command line that an argument tells, also as a list (``["bash", "-lc", "pytest -q"]``); "" for others."""
    if isinstance(value, list | tuple) and value and all(isinstance(part, str) for part in value):
        return str(value[2]) if len(value) == 3 and value[1] in ("-c", "-lc") else " ".join(value)
    return value if isinstance(value, str) else ""


def command_line(args: Mapping[str, Any] | None) -> str:
    """The first line of the command among a tool's arguments, "" where there is none."""
    told = (line for name in COMMAND_ARGUMENTS if (line := line_of((args or {}).get(name)).strip()))
    return next(told, "").partition("\n")[0]
