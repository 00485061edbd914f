"""Past work into the store: one episode per line of JSON, as docs/import-format.md describes it.

An import can be repeated and continued: each line's content gives its steps their external ids, so that what is stored
already is recognised. A line that cannot be used is counted and told with its number; the others are stored.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

import anyio
import anyio.to_thread
import msgspec

from prowess.storage.errors import InvalidInput, StoreError, UnknownEpisode
from prowess.storage.models import Where
from prowess.tools import registry, score_reward, track_execution
from prowess.tools.context import Context
from prowess.tools.errors import ToolError
from prowess.tools.text import quote
from prowess.tools.track_execution import MAX_BATCH, TrackOutput

__all__ = ["MAX_LINE", "MAX_TOLD", "BrokenLine", "Imported", "import_jsonl"]

MAX_LINE = 64_000_000  # bytes; a line is one episode
MAX_TOLD = 100  # broken lines that are told with their reason; all are counted
_TOGETHER = 16  # episodes on their way at once share their commits
_TOGETHER_BYTES = 16_000_000  # of their lines; one line may be longer

_EPISODE_FIELDS = frozenset(
    ("agent", "evidence", "final", "outcome", "project", "reason", "reward", "session", "steps", "task", "task_id")
)
_STEP_FIELDS = frozenset(
    ("action", "args", "context", "duration_ms", "error", "observation", "outcome", "reward", "timestamp", "tool")
)
_LABELS = {"success": "positive", "failure": "negative", "unknown": "neutral"}

Report = Callable[[int], None]  # told how many bytes have been read


class LineRefused(ToolError):
    """A line is no episode."""

    usual_hint = "docs/import-format.md describes what a line holds"


@dataclass(frozen=True, slots=True)
class BrokenLine:
    """A line (from 1) that was left out, and why."""

    line: int
    reason: str


@dataclass(slots=True)
class Imported:
    """What became of a file. ``known`` episodes had been stored before; ``broken`` has the first 100 broken lines."""

    lines: int = 0
    episodes: int = 0
    steps: int = 0
    known: int = 0
    broken_lines: int = 0
    broken: list[BrokenLine] = field(default_factory=list)

    def leave_out(self, line: int, reason: str) -> None:
        self.broken_lines += 1
        if len(self.broken) < MAX_TOLD:
            self.broken.append(BrokenLine(line, reason))


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    end: int
    text: bytes | None  # None: longer than MAX_LINE


async def import_jsonl(file: BinaryIO, ctx: Context, *, report: Report = lambda _: None) -> Imported:
    """Store every episode of ``file``. Raises ``StoreError`` in a group where the store fails; then run it again."""
    result = Imported()
    groups = _groups(_lines(file))
    while together := await anyio.to_thread.run_sync(next, groups, None):
        async with anyio.create_task_group() as tasks:
            for line in together:
                tasks.start_soon(_import_line, line, ctx, result)
        report(together[-1].end)
    result.broken.sort(key=lambda broken: broken.line)
    return result


def _lines(file: BinaryIO) -> Iterator[_Line]:
    """Lines that are not blank. What is too long is skipped over, never held."""
    number = end = 0
    while text := file.readline(MAX_LINE + 1):
        number += 1
        end += len(text)
        fits, rest = len(text) <= MAX_LINE, text
        while not rest.endswith(b"\n") and (rest := file.readline(MAX_LINE)):
            end += len(rest)
        if not fits:
            yield _Line(number, end, None)
        elif text.strip():
            yield _Line(number, end, text)


def _groups(lines: Iterator[_Line]) -> Iterator[list[_Line]]:
    """Lines that are held at once: few enough for any memory, whatever their length."""
    group, size = list[_Line](), 0
    for line in lines:
        length = len(line.text or b"")
        if group and (len(group) == _TOGETHER or size + length > _TOGETHER_BYTES):
            yield group
            group, size = [], 0
        group.append(line)
        size += length
    if group:
        yield group


async def _import_line(line: _Line, ctx: Context, result: Imported) -> None:
    result.lines += 1
    try:
        if line.text is None:
            raise LineRefused(f"the line is longer than {MAX_LINE:,} bytes")
        episode = _parsed(line.text)
        await _store(episode, ctx, result)
    except InvalidInput as error:
        result.leave_out(line.number, str(error))
    except ToolError as error:
        cause = error.__cause__
        if isinstance(cause, StoreError) and not isinstance(cause, InvalidInput):
            raise cause from cause.__cause__  # from ``error``, whose cause it is, it would be its own
        result.leave_out(line.number, str(error).removeprefix("track_execution: ").removeprefix("score_reward: "))


def _parsed(text: bytes) -> dict[str, Any]:
    """The episode that a line holds. Raises LineRefused that says what is off."""
    try:
        value = json.loads(text.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise LineRefused(f"no UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise LineRefused("no JSON that can be read: it is nested too deeply") from None
    except ValueError as error:
        raise LineRefused(f"no JSON: {error}") from None
    if not isinstance(value, dict):
        raise LineRefused(f"a JSON object is expected, got {quote(value)}")
    _check_fields("", value, _EPISODE_FIELDS)
    steps = value.get("steps")
    if not isinstance(steps, list) or not steps:
        raise LineRefused(f"steps: a list of at least one step is expected, got {quote(steps)}")
    for index, step in enumerate(steps):
        if not isinstance(step, dict):
            raise LineRefused(f"steps[{index}]: a JSON object is expected, got {quote(step)}")
        _check_fields(f"steps[{index}].", step, _STEP_FIELDS)
    return value


def _check_fields(place: str, value: Mapping[str, Any], known: frozenset[str]) -> None:
    unknown = sorted(value.keys() - known)
    if unknown:
        raise LineRefused(f"{place}{unknown[0]}: there is no such field; those are {', '.join(sorted(known))}")


async def _store(episode: dict[str, Any], ctx: Context, result: Imported) -> None:
    digest = _digest(episode)
    told = episode.get("session")
    session = told if isinstance(told, str) and told else f"import-{digest}"
    client = episode.get("agent") or "import"
    origin = msgspec.structs.replace(ctx.origin, client=str(client)[:200], session=session)
    ctx = replace(ctx, session=session, origin=origin)
    if episode.get("project") is None:
        episode = {**episode, "project": ctx.project}  # named, so that it is of no other one, whatever is stored
    of_steps, last = _step_scores(episode), _score(episode)
    for told_reward in (*of_steps, *last):  # all are checked before anything is stored
        score_reward.TOOL.parse(told_reward)
    tracked = await _track(episode, digest, ctx)
    fresh = sum(answer.stored for answer in tracked)
    if not fresh:
        of_steps, last = await _untold(tracked[0].episode_id, of_steps, last, ctx)
    await _score_steps(of_steps, replace(ctx, key=f"import-{digest}-steps"))
    for told_reward in last:
        await registry.call(score_reward.TOOL, told_reward, replace(ctx, key=f"import-{digest}-score"))
    result.episodes += bool(fresh)
    result.known += not fresh
    result.steps += fresh


def _digest(episode: Mapping[str, Any]) -> str:
    """What makes two lines the same episode: their content, whatever the order of fields and the spaces."""
    canonical = json.dumps(episode, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()


async def _track(episode: Mapping[str, Any], digest: str, ctx: Context) -> list[TrackOutput]:
    steps = [
        {name: value for name, value in step.items() if name != "reward"}
        | {"step": number, "external_id": f"{digest}-{number}"}
        for number, step in enumerate(episode["steps"], 1)
    ]
    answers = []
    for start in range(0, len(steps), MAX_BATCH):
        some = steps[start : start + MAX_BATCH]
        arguments = {**_task(episode), "task": episode.get("task"), "steps": some}
        answer = await registry.call(track_execution.TOOL, arguments, ctx)
        assert isinstance(answer, TrackOutput)
        answers.append(answer)
    return answers


async def _score_steps(scores: list[dict[str, Any]], ctx: Context) -> None:
    """All of them in one write: each looks at all that were given before."""
    told = [one for one, _ in map(score_reward.TOOL.parse, scores) if isinstance(one, score_reward.ScoreInput)]
    if told:
        where = Where(task_id=told[0].task_id, project=told[0].project or "", session=ctx.session)
        rewards = [reward for one in told for reward in score_reward.rewards_of(one)]
        with anyio.CancelScope(shield=True):
            await ctx.store.score(where, rewards, origin=ctx.origin, key=ctx.key)


def _task(episode: Mapping[str, Any]) -> dict[str, Any]:
    return {name: episode[name] for name in ("task_id", "project") if name in episode}


def _step_scores(episode: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of ``score_reward`` that a line's steps stand for."""
    return [
        {**_task(episode), "step": number, "reward": step["reward"]}
        for number, step in enumerate(episode["steps"], 1)
        if step.get("reward") is not None
    ]


def _score(episode: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The call for the episode as a whole, which may close it; none where nothing is told."""
    final = episode.get("final", True)
    told = {"reward": _reward(episode), "evidence": episode.get("evidence"), "reason": episode.get("reason")}
    if final or told["reward"] is not None or told["evidence"]:
        return [{**_task(episode), **told, "final": final}]
    return []


def _reward(episode: Mapping[str, Any]) -> Any:
    reward, outcome = episode.get("reward"), episode.get("outcome")
    if outcome is not None and (not isinstance(outcome, str) or outcome not in _LABELS):
        raise LineRefused(f"outcome: success, failure or unknown is expected, got {quote(outcome)}")
    if reward is None:
        return _LABELS.get(outcome) if outcome else None
    if (
        outcome in ("success", "failure")
        and isinstance(reward, int | float)
        and reward * (outcome == "success" or -1) < 0
    ):
        raise LineRefused(f"outcome {outcome} contradicts the reward {reward}")
    return reward


async def _untold(
    episode_id: str, of_steps: list[dict[str, Any]], last: list[dict[str, Any]], ctx: Context
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What an earlier import did not tell of ``of_steps`` and then ``last``, since it was interrupted."""
    try:
        episode, rewards = await ctx.store.episode(episode_id), await ctx.store.rewards(episode_id)
    except UnknownEpisode:
        return [], []  # it was forgotten, and stays so
    if episode.closed_at is not None or any(reward.step is None for reward in rewards):
        return [], []
    return ([] if rewards else of_steps), last
