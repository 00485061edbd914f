"""A task of a transcript as the store takes it: where it belongs, its steps, its rewards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from prowess.learning.redaction.printed import hidden
from prowess.learning.reward import from_evidence
from prowess.server.hooks.records import is_own_tool
from prowess.server.project import project_of
from prowess.server.transcripts.evidence import command_of, evidence_of, outcome_of_call
from prowess.server.transcripts.model import Call, Session, Task
from prowess.server.transcripts.tasks import divide
from prowess.storage.models import NewReward, NewStep, Where, parse_time
from prowess.tools.errors import ToolError
from prowess.tools.text import clean, cut, to_json

__all__ = ["SETTLED", "PastEpisode", "episodes_of", "external_id", "step_of"]

SETTLED = timedelta(hours=24)  # after which nobody is at work on a session's last task any more
_MAX_TASK = 16_000  # characters, as are the following
_MAX_OBSERVATION = 200_000
_MAX_ERROR = 8_000
_MAX_CONTEXT = 2_000
_MAX_ARGS = 64_000
_MAX_VALUE = 4_000
_MAX_ACTION = 200

_TELLING = ("command", "cmd", "file_path", "notebook_path", "path", "pattern", "query", "url", "skill", "description")


@dataclass(frozen=True, slots=True)
class PastEpisode:
    """One task with its steps, in order. ``final``: no more is to be expected of it."""

    where: Where
    steps: tuple[NewStep, ...]
    rewards: tuple[NewReward, ...]
    evidence: Mapping[str, Any]
    final: bool


def external_id(client: str, session: str, call: str) -> str:
    """The identity of a tool call that hooks and imports share."""
    return f"{client}:{session}:{call}"


def episodes_of(session: Session, *, project: str, now: datetime) -> list[PastEpisode]:
    """The session's episodes. ``project`` overrides what the folders say. Reads files, so call it in a thread."""
    projects: dict[str, str] = {}
    settled = _is_settled(session, now)
    episodes = []
    for task in divide(session):
        if task.cwd not in projects:
            projects[task.cwd] = project_of(Path(task.cwd), project)
        final = settled or not task.last
        steps = _steps(session, task, whole=final)
        if steps:
            where = _where(session, task, projects[task.cwd])
            evidence = evidence_of(task)
            episodes.append(PastEpisode(where, steps, tuple(from_evidence(evidence)), evidence, final))
    return episodes


def _is_settled(session: Session, now: datetime) -> bool:
    times = [event.at for event in session.events if event.at is not None]
    return not times or now - parse_time(max(times)) > SETTLED


def _where(session: Session, task: Task, project: str) -> Where:
    return Where(
        task_id=task.id,
        project=project,
        session=session.id,
        task=cut(task.text, _MAX_TASK),
        agent=f"{session.client} {session.version}".strip(),
    )


def _steps(session: Session, task: Task, *, whole: bool) -> tuple[NewStep, ...]:
    """A call without its answer is a step only where none will come any more, and one of our own tools never is."""
    at = next((prompt.at for prompt in task.prompts if prompt.at), None)
    steps = []
    for call in task.calls:
        at = call.at or at
        if is_own_tool(call.tool):
            continue
        if whole or (call.observation is not None and not call.goes_on):
            steps.append(step_of(session, call, at))
    return tuple(steps)


def step_of(session: Session, call: Call, at: str | None) -> NewStep:
    """The step that a tool call is; ``at`` where the call itself tells no time."""
    outcome = outcome_of_call(call)
    said = call.observation
    if said and outcome != "failure":  # which prints an error
        said = hidden(call.args, said)
    return NewStep(
        action=_action(call),
        at=at,
        tool=cut(call.tool, _MAX_ACTION),
        args=_args(call.args),
        context=cut(call.context, _MAX_CONTEXT) or None,
        observation=None if said is None else cut(said, _MAX_OBSERVATION),
        error=cut(said, _MAX_ERROR) if said and outcome == "failure" else None,
        outcome=outcome,
        duration_ms=_duration(call),
        external_id=external_id(session.client, session.id, call.id),
    )


def _action(call: Call) -> str:
    """The tool and what it was used on, in one line."""
    told = command_of(call) or next((value for name in _TELLING if isinstance(value := call.args.get(name), str)), "")
    line = told.strip().partition("\n")[0]
    return f"{call.tool}: {line}"[:_MAX_ACTION] if line else call.tool[:_MAX_ACTION]


def _args(args: dict[str, Any]) -> dict[str, Any]:
    try:
        kept: dict[str, Any] = clean(args)
    except ToolError:
        return {"input": cut(repr(args), _MAX_VALUE)}
    if len(to_json(kept)) <= _MAX_ARGS:
        return kept
    short = {name: _short(value) for name, value in kept.items()}
    return short if len(to_json(short)) <= _MAX_ARGS else {"input": cut(to_json(short), _MAX_ARGS)}


def _short(value: Any) -> Any:
    text = value if isinstance(value, str) else to_json(value)
    return value if len(text) <= _MAX_VALUE else cut(text, _MAX_VALUE)


def _duration(call: Call) -> float | None:
    """As the tool measured it, else from call to answer; that includes waiting for the user's permission."""
    if call.duration_ms is not None:
        return call.duration_ms
    if call.at is None or call.ended is None:
        return None
    spent = (parse_time(call.ended) - parse_time(call.at)) / timedelta(milliseconds=1)
    return spent if spent >= 0 else None
