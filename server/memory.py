"""``prowess.Memory``: the five tools for Python programs, without MCP.

The same handlers, checks and store as the server's. A store belongs to one process at a time, so a program opens its
own, or talks MCP to the server that has it open.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from anyio.lowlevel import EventLoopToken, current_token

from prowess.server.runtime import Runtime, open_runtime
from prowess.server.settings import BadSetting, load
from prowess.storage.ids import new_id
from prowess.storage.store import Store
from prowess.tools.base import Output, Tool
from prowess.tools.errors import ToolError
from prowess.tools.evolve_skills import TOOL as EVOLVE_SKILLS
from prowess.tools.evolve_skills import EvolveOutput
from prowess.tools.find_skill import TOOL as FIND_SKILL
from prowess.tools.find_skill import FindOutput
from prowess.tools.reflect import TOOL as REFLECT
from prowess.tools.reflect import PatternReport, ReflectOutput
from prowess.tools.registry import call
from prowess.tools.score_reward import TOOL as SCORE_REWARD
from prowess.tools.score_reward import ScoreOutput
from prowess.tools.track_execution import TOOL as TRACK_EXECUTION
from prowess.tools.track_execution import TrackOutput

__all__ = ["Memory"]

Answer = TypeVar("Answer", bound=Output)

PATIENCE = 30.0  # seconds a search waits for the embedding model; a program has no deadline of a client's


class Memory:
    """An open store of episodes, patterns and skills; made by ``Memory.open`` only.

    Every method raises ``prowess.tools.errors.ToolError`` whose text says what was wrong and whose ``hint`` what to do
    instead. ``key`` is an idempotency key: the same key within a day gets the first answer again, and nothing is
    stored twice. All fields of the MCP tools may be given by their names. Tasks of the event loop in which it was
    opened may call it, many at once; another thread does so by ``anyio.from_thread.run``.
    """

    def __init__(self, runtime: Runtime, agent: str, session: str, loop: EventLoopToken) -> None:
        self._runtime = runtime
        self._agent = agent
        self._session = session
        self._loop = loop

    @classmethod
    @asynccontextmanager
    async def open(
        cls, path: Path | str | None = None, *, agent: str = "python", session: str | None = None, **settings: Any
    ) -> AsyncIterator[Memory]:
        """Open the store in the folder ``path`` (default: as the settings say), creating it if need be.

        ``agent`` names who reports, ``session`` groups attempts (default: a new one). Other ``settings`` are those of
        docs/settings.md by name, e.g. ``embedder="none"``. Raises ``StoreError`` where the store cannot be opened, and
        ``BadSetting``.
        """
        chosen = load(_with_home(settings, path))
        async with open_runtime(chosen, patience=PATIENCE) as runtime:
            yield cls(runtime, agent, session or new_id(), current_token())

    @property
    def store(self) -> Store:
        """The store itself, for reading what the tools do not show."""
        return self._runtime.store

    async def track_execution(
        self,
        task_id: str,
        action: str | None = None,
        *,
        steps: Sequence[Mapping[str, Any]] | None = None,
        key: str | None = None,
        **fields: Any,
    ) -> TrackOutput:
        """Store one step, or a batch in ``steps``; on disk when it returns."""
        return await self._call(
            TRACK_EXECUTION, TrackOutput, key, task_id=task_id, action=action, steps=steps, **fields
        )

    async def score_reward(
        self, task_id: str, reward: float | str | None = None, *, key: str | None = None, **fields: Any
    ) -> ScoreOutput:
        """Say how the attempt (or one ``step``) turned out: a number in [-10, 10] or a label, and its evidence."""
        return await self._call(SCORE_REWARD, ScoreOutput, key, task_id=task_id, reward=reward, **fields)

    async def reflect(self, *, key: str | None = None, **fields: Any) -> ReflectOutput:
        """Find patterns over the stored episodes, store them, and remember lessons and warnings."""
        return await self._call(REFLECT, ReflectOutput, key, **fields)

    async def find_skill(self, query: str, *, key: str | None = None, **fields: Any) -> FindOutput:
        """Skills, lessons and warnings that fit ``query``."""
        return await self._call(FIND_SKILL, FindOutput, key, query=query, **fields)

    async def evolve_skills(
        self,
        patterns: ReflectOutput | Sequence[PatternReport | str] | None = None,
        *,
        mode: str = "auto",
        key: str | None = None,
        **fields: Any,
    ) -> EvolveOutput:
        """Make, better, combine and archive skills; build on ``patterns`` of ``reflect`` where given."""
        return await self._call(EVOLVE_SKILLS, EvolveOutput, key, mode=mode, patterns=_ids(patterns), **fields)

    async def _call(self, tool: Tool, kind: type[Answer], key: str | None, /, **fields: Any) -> Answer:
        if current_token() != self._loop:  # what it waits for there would never wake it here
            hint = "from another thread call anyio.from_thread.run(memory.find_skill, ...), or open it in that loop"
            raise ToolError("this memory was opened in another event loop", hint=hint)
        context = self._runtime.context(client=self._agent, session=self._session, key=key)
        answer = await call(tool, fields, context)
        assert isinstance(answer, kind)
        return answer


def _with_home(settings: Mapping[str, Any], path: Path | str | None) -> dict[str, Any]:
    if path is None:
        return dict(settings)
    if not str(path) or settings.get("home") is not None:
        what = "the path is empty" if not str(path) else "home and path are both given"
        raise BadSetting(what, hint="name the store's folder once, or leave both away to open the usual one")
    return {**settings, "home": path}


def _ids(patterns: ReflectOutput | Sequence[PatternReport | str] | None) -> list[str] | None:
    if patterns is None:
        return None
    found = patterns.patterns if isinstance(patterns, ReflectOutput) else patterns
    return [item if isinstance(item, str) else item.id for item in found]
