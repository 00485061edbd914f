"""Past successes as examples: what a task that nobody repeated took, for an agent whose task is like it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from prowess.learning.display import shown
from prowess.learning.outcomes import reads
from prowess.learning.redaction.masking import mask_value
from prowess.learning.synthesis.calls import calls_of, runs_of
from prowess.learning.synthesis.commands import COMMAND_ARGUMENTS
from prowess.storage.errors import UnknownEpisode
from prowess.storage.models import Trajectory
from prowess.tools.skills import call_words, one_line

if TYPE_CHECKING:
    from prowess.storage.store import Store

__all__ = ["Example", "examples"]

_LONGEST_TASK = 100
_LONGEST_VALUE = 80
_LONGEST_COMMAND = 200  # a command without its end tells another procedure; most are shorter
_MOST_STEPS = 40
_LAST_STEPS = 12  # of those that did something, where there is no room for all
_BRIEF_VALUE = 40


class Example(BaseModel):
    """A success that no skill was made of. ``steps`` are the calls that worked, of repeats the first, values cut."""

    task: str
    episode_id: str
    steps: list[dict[str, Any]]

    def lines(self, rank: int) -> list[str]:
        """The example as text. Nothing stored in it can begin a line of its own."""
        steps = [f"   {call_words(step)}" for step in self.steps]
        return [shown(line, line=True) for line in [f"{rank}. worked once for: {self.task}", *steps]]

    def forms(self) -> Iterator[Example]:
        """In full, then shorter: without steps that only look, with short values, the last of these."""
        yield self
        doing = [step for step in self.steps if not _looks(step)] or self.steps
        yield self.model_copy(update={"steps": doing})
        brief = [{**step, "args": _short(step["args"], _BRIEF_VALUE)} for step in doing]
        yield self.model_copy(update={"steps": brief})
        yield self.model_copy(update={"steps": brief[-_LAST_STEPS:]})


def _looks(step: dict[str, Any]) -> bool:
    lines = [value for name in COMMAND_ARGUMENTS if isinstance(value := step["args"].get(name), str)]
    return reads(step["tool"], lines[0] if lines else "")


async def examples(ids: Sequence[str], store: Store) -> list[Example]:
    """Those of ``ids`` that are whole, in this order; none where one was forgotten meanwhile.

    Raises the store's other errors.
    """
    try:
        found = await store.trajectories(ids)
    except UnknownEpisode:
        return []
    return [_example(trajectory) for trajectory in found if trajectory.whole]


def _example(trajectory: Trajectory) -> Example:
    calls = [run.calls[0] for run in runs_of(calls_of(trajectory))][-_MOST_STEPS:]
    steps = [{"tool": call.tool, "args": _told(mask_value(call.args))} for call in calls]
    episode = trajectory.episode
    return Example(task=one_line(episode.task.partition("\n\n")[0], _LONGEST_TASK), episode_id=episode.id, steps=steps)


def _told(args: dict[str, Any]) -> dict[str, Any]:
    most = dict.fromkeys(COMMAND_ARGUMENTS, _LONGEST_COMMAND)
    return {name: _short(value, most.get(name, _LONGEST_VALUE)) for name, value in args.items()}


def _short(value: Any, most: int = _LONGEST_VALUE) -> Any:
    """A JSON value with texts longer than ``most`` cut."""
    if isinstance(value, str):
        return value if len(value) <= most else value[: most - 1] + "…"
    if isinstance(value, dict):
        return {key: _short(part, most) for key, part in value.items()}
    return [_short(part, most) for part in value] if isinstance(value, list | tuple) else value
