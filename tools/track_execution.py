"""``track_execution``: store what the agent did, one step or a batch."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self, cast

import anyio
import anyio.to_thread
from msgspec.structs import replace
from pydantic import BeforeValidator, Field, ValidationError, WithJsonSchema, field_validator, model_validator

from prowess.learning.counting import counted
from prowess.learning.redaction.masking import mask_fields
from prowess.learning.redaction.printed import hidden
from prowess.learning.reward import outcome_of
from prowess.learning.synthesis.commands import LONGEST_LINE
from prowess.storage.models import NewStep, Outcome, Where, command_line
from prowess.tools.base import Annotations, Input, JsonObject, Output, Text, Tool, complaint, from_json, place_of
from prowess.tools.context import Context
from prowess.tools.large import is_large
from prowess.tools.text import cut, cut_note, quote, to_json
from prowess.tools.times import as_time

__all__ = ["MAX_BATCH", "TOOL", "StepInput", "TrackInput", "TrackOutput", "handle"]

MAX_BATCH = 10_000
MAX_LONG = 1_000_000  # characters of an observation
MAX_MEDIUM = 64_000  # of a context, an error, or one argument
MAX_SHORT = 4_000  # of an action
MAX_NAME = 200  # of identifiers
_MOST_TOLD = 5  # cuts that an answer names
_BIG = 100_000  # characters from which masking leaves the event loop

_WHOLE = re.compile(r"[0-9]{1,18}")
_OUTCOMES: dict[str, Outcome] = {
    **dict.fromkeys(("success", "succeeded", "successful", "ok", "pass", "passed", "true", "done"), "success"),
    **dict.fromkeys(("failure", "failed", "fail", "error", "false"), "failure"),
    **dict.fromkeys(("unknown", "neutral", "uncertain"), "unknown"),
}


def _outcome(value: Any) -> Any:
    return _OUTCOMES.get(str(value).strip().lower(), value)


def _number(value: Any) -> Any:
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    return value


def _one_or_many(value: Any) -> Any:
    value = from_json(value)
    return [value] if isinstance(value, dict) else value


class StepInput(Input):
    """One step as the agent tells it."""

    action: Text = Field(default="", description="what you did")
    tool: Text | None = Field(default=None, max_length=MAX_NAME)
    args: JsonObject | None = Field(default=None, description="its arguments")
    context: Text | None = Field(default=None, description="situation, why")
    observation: Text | None = Field(default=None, description="what came back")
    error: Text | None = Field(default=None, description="error text")
    outcome: Annotated[Literal["success", "failure", "unknown"] | None, BeforeValidator(_outcome)] = None
    duration_ms: float | None = Field(default=None, ge=0, le=1e12, allow_inf_nan=False)
    timestamp: Annotated[str | None, BeforeValidator(as_time)] = Field(default=None, description="ISO 8601 with zone")
    step: Annotated[int | None, BeforeValidator(_number)] = Field(
        default=None, ge=1, le=2**31 - 1, description="number in the episode; default next"
    )
    external_id: Text | None = Field(
        default=None, max_length=MAX_NAME, description="id of the tool call; told twice, stored once"
    )

    @model_validator(mode="after")
    def _has_an_action(self) -> Self:
        if not self.action.strip():
            line = command_line(self.args)[:LONGEST_LINE]
            self.action = f"{self.tool}: {line}" if self.tool and line else self.tool or ""
        return self


class TrackInput(StepInput):
    """``track_execution``'s input: one step in the fields themselves, or many in ``steps``."""

    task_id: Text = Field(max_length=MAX_NAME, description="your id of this task, the same in every call")
    task: Text | None = Field(default=None, description="what the user asked")
    project: Text | None = Field(default=None, max_length=MAX_NAME)
    steps: Annotated[
        list[Any] | None, BeforeValidator(_one_or_many), WithJsonSchema({"type": "array", "items": {"type": "object"}})
    ] = Field(default=None, description="a batch: objects with the step fields above (at most 10000)")

    @field_validator("steps")
    @classmethod
    def _each_is_a_step(cls, steps: list[Any] | None) -> list[StepInput] | None:
        if steps is None:
            return None
        if len(steps) > MAX_BATCH:
            raise ValueError(f"{len(steps)} steps are too many for one call; send at most {MAX_BATCH}, then the rest")
        return _parse_steps(steps)

    @model_validator(mode="after")
    def _one_way_of_telling(self) -> Self:
        if self.steps and self.action:
            raise ValueError("send either one step (action, tool) or steps, not both")
        if not self.steps and not self.action:
            raise ValueError("action is missing; send what you did as action, or a list of steps")
        return self

    def told(self) -> list[StepInput]:
        """The steps, however they were sent."""
        return self.steps or [self]


def _parse_steps(items: list[Any]) -> list[StepInput]:
    steps, problems = [], []
    for index, item in enumerate(items):
        item = from_json(item)
        if not isinstance(item, str | dict):
            problems.append(f"steps[{index}] is no object, got {quote(item)}")
            continue
        try:
            step = StepInput.model_validate({"action": item} if isinstance(item, str) else item)
        except ValidationError as error:
            problems += [_placed(index, problem) for problem in error.errors()]
            continue
        steps.append(step)
        if not step.action:
            problems.append(f"steps[{index}].action is missing")
    if problems:
        more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
        raise ValueError("; ".join(problems[:3]) + more)
    return steps


def _placed(index: int, problem: Any) -> str:
    return f"{place_of(('steps', index, *problem['loc']))}: {complaint(problem)}"


class TrackOutput(Output):
    """``step`` is the number of the (last) step; ``duplicates`` had been stored before and were not stored again."""

    episode_id: str
    step: int
    stored: int
    duplicates: int = 0
    outcome: str | None = Field(default=None, description="of a single step, as told or inferred")
    receipt: str

    def words(self) -> str:
        again = f", {self.duplicates} already known" if self.duplicates else ""
        what = (
            f"step {self.step}"
            if self.stored + self.duplicates == 1
            else f"{counted(self.stored, 'step')} up to {self.step}"
        )
        return f"{self.receipt}: {what}{again} (episode {self.episode_id})"


async def handle(told: TrackInput, ctx: Context) -> TrackOutput:
    """Store the steps, all or none. Raises ``ToolError`` and the store's errors."""
    cuts: list[str] = []
    steps = await _prepare(told, cuts)
    where = Where(
        task_id=told.task_id,
        project=ctx.project if told.project is None else told.project,
        assumed=ctx.assumes(told.project),
        session=ctx.session,
        task=_kept("task", told.task, MAX_MEDIUM, cuts) or "",
        agent=ctx.origin.client,
    )
    with anyio.CancelScope(shield=True):
        tracked = await ctx.store.track(where, steps, origin=ctx.origin, key=ctx.key)
    return TrackOutput(
        notes=[*_beside_steps(told), *_first(cuts)],
        episode_id=tracked.episode_id,
        step=tracked.numbers[-1],
        stored=len(tracked.numbers) - len(tracked.duplicates),
        duplicates=len(tracked.duplicates),
        outcome=steps[0].outcome if told.steps is None else None,
        receipt=tracked.receipt,
    )


def _beside_steps(told: TrackInput) -> list[str]:
    """What was told of one step beside a list of them, and so of none."""
    left = [name for name in StepInput.model_fields if getattr(told, name)] if told.steps else []
    return [f"ignored {', '.join(left)}: with steps, send them inside each step"] if left else []


async def _prepare(told: TrackInput, cuts: list[str]) -> list[NewStep]:
    steps = told.told()
    size = sum(len(step.observation or "") + len(step.context or "") + len(step.error or "") for step in steps)
    if size < _BIG and len(steps) < 100 and not is_large([step.args for step in steps]):
        # Calls that arrive together keep their order only while nothing is awaited before the store.
        return _new_steps(told, cuts)
    return await anyio.to_thread.run_sync(_new_steps, told, cuts)


def _new_steps(told: TrackInput, cuts: list[str]) -> list[NewStep]:
    """The steps within their bounds; ``cuts`` takes what of them was cut."""
    if not told.steps:
        return [_new_step(told, "", cuts)]
    return [_new_step(step, f"steps[{place}].", cuts) for place, step in enumerate(told.steps)]


def _new_step(told: StepInput, place: str, cuts: list[str]) -> NewStep:
    step = NewStep(
        action=_kept(f"{place}action", told.action, MAX_SHORT, cuts) or "",
        number=told.step,
        at=told.timestamp,
        tool=told.tool,
        args=_kept_args(f"{place}args", told.args, cuts),
        context=_kept(f"{place}context", told.context, MAX_MEDIUM, cuts),
        observation=_kept(f"{place}observation", told.observation, MAX_LONG, cuts),
        error=_kept(f"{place}error", told.error, MAX_MEDIUM, cuts),
        outcome=told.outcome or "unknown",
        duration_ms=told.duration_ms,
        external_id=told.external_id,
    )
    return _unprinted(step if told.outcome else _with_outcome(step))


def _unprinted(step: NewStep) -> NewStep:
    """Without an output that is a secret by what was run; what failed printed an error."""
    if step.outcome == "failure" or not step.observation:
        return step
    called = {"command": step.action} | (step.args or {})
    return replace(step, observation=hidden(called, step.observation))


def _with_outcome(step: NewStep) -> NewStep:
    return replace(step, outcome=outcome_of(step))


def _kept(field: str, text: str | None, limit: int, cuts: list[str]) -> str | None:
    if text is None:
        return None
    cuts += cut_note(field, text, limit)
    return cut(text, limit)


def _kept_args(field: str, args: dict[str, Any] | None, cuts: list[str]) -> dict[str, Any] | None:
    if not args:
        return args
    args = cast(dict[str, Any], mask_fields(args))
    size = len(to_json(args))
    if size > MAX_MEDIUM:
        args = {name: _short_argument(value) for name, value in args.items()}
        args = args if len(to_json(args)) <= MAX_MEDIUM * 4 else {"input": cut(to_json(args), MAX_MEDIUM)}
        cuts.append(f"{field} of {size} characters: long values were cut")
    return args


def _short_argument(value: Any) -> Any:
    text = value if isinstance(value, str) else to_json(value)
    return value if len(text) <= MAX_SHORT else cut(text, MAX_SHORT)


def _first(cuts: list[str]) -> list[str]:
    more = len(cuts) - _MOST_TOLD
    return [*cuts[:_MOST_TOLD], f"{counted(more, 'more text was', 'more texts were')} cut"] if more > 0 else cuts


TOOL = Tool(
    name="track_execution",
    description="Record what you did: one step, or a batch in steps. Same task_id for one task. Durable on return.",
    annotations=Annotations(read_only=False, destructive=False, idempotent=False, open_world=False),
    input=TrackInput,
    output=TrackOutput,
    handle=handle,
)
