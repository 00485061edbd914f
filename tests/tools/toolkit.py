"""An agent that calls tools over an open store: computing in this process, without an embedding model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from prowess.learning.mining.patterns import mine
from prowess.learning.synthesis.drafts import propose
from prowess.storage.catalog import read_trajectories
from prowess.storage.models import NewStep, Skill, Where
from prowess.storage.store import Store
from prowess.tools.base import Output
from prowess.tools.context import Context
from prowess.tools.registry import call, find

__all__ = ["Agent", "InThisProcess", "NoIndex", "OneVector"]


class InThisProcess:
    """The worker's jobs, done at once."""

    async def mine(self, catalog_path: Path, *, project: str = "", since: Any, task_id: Any, **options: Any) -> Any:
        found = read_trajectories(catalog_path, project=project or None, since=since, task_id=task_id)
        return mine(found, project=project, **options)

    async def propose(self, trajectories: Any, existing: Any, **options: Any) -> list[Skill]:
        return propose(trajectories, existing=existing, **options)


class NoIndex:
    """No embedding model."""

    state = "off"
    refreshed = 0

    async def queries(self, texts: Sequence[str]) -> None:
        return None

    async def refresh(self, *, wait: bool = True) -> None:
        self.refreshed += 1


class OneVector:
    """An index whose every query vector is the same: (1, 0)."""

    state = "ready"

    async def queries(self, texts: Sequence[str]) -> Any:
        return np.array([[1.0, 0.0]] * len(texts), np.float32)

    async def refresh(self, *, wait: bool = True) -> None:
        return None


class Agent:
    """Calls tools as an agent does."""

    def __init__(self, context: Context) -> None:
        self.context = context

    async def __call__(self, called: str, arguments: Mapping[str, Any] | None = None, /, **fields: Any) -> Any:
        answer: Output = await call(find(called), {**(arguments or {}), **fields}, self.context)
        return answer

    def having(self, **changes: Any) -> Agent:
        """The same agent in other surroundings."""
        return Agent(replace(self.context, **changes))

    @property
    def store(self) -> Store:
        return self.context.store

    async def imported(self, prompt: str, at: str, *, task: str, project: str, command: str = "npm publish") -> None:
        """A finished task of a session that was recorded elsewhere: one call, made ``at`` that time."""
        session = self.context.session
        where = Where(task_id=f"codex:{session}:{prompt}", project=project, session=session, task=task)
        step = NewStep(
            action="publish",
            tool="Bash",
            args={"command": command},
            outcome="success",
            at=at,
            external_id=f"codex:{session}:call-{prompt}",
        )
        await self.store.track(where, [step], origin=self.context.origin, late=True)
        await self("score_reward", task_id=where.task_id, reward=8, final=True, project=project)

    async def worked(self, task_id: str, steps: list[dict[str, Any]], reward: float | str = 8, **fields: Any) -> None:
        """One finished attempt."""
        await self("track_execution", task_id=task_id, steps=steps, **fields)
        await self("score_reward", task_id=task_id, reward=reward, final=True, project=fields.get("project"))
