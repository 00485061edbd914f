"""A caller who is let into one project alone: whatever a call names, by project or by id, it reaches no other.

What belongs to all projects is found and used from each, and changed from none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from prowess.storage.errors import StoreError, Unknown, UnknownSkill
from prowess.tools.errors import ToolError
from prowess.tools.text import quote

if TYPE_CHECKING:
    from prowess.storage.models import Skill
    from prowess.tools.base import Input
    from prowess.tools.context import Context, Trainer

__all__ = ["OwnRuns", "check_project", "confined", "only_project", "own_skill"]

_NO_RUN = "mode status tells of your project's newest one"


def confined(ctx: Context, project: str) -> Context:
    """``ctx`` for a caller who is let into ``project`` alone."""
    trainer = OwnRuns(ctx.trainer, project) if ctx.trainer else None
    return replace(ctx, project=project, confined=True, trainer=trainer)


def only_project(ctx: Context) -> str:
    """Why something was not done."""
    return f"your token is for project {ctx.project!r} alone"


def check_project(told: Input, ctx: Context) -> None:
    """Raises ``ToolError`` where a call names a project that its caller is not let into."""
    named = getattr(told, "project", None)
    if ctx.confined and named not in (None, ctx.project):
        raise ToolError(
            only_project(ctx),
            hint="Nothing was done; leave project out. A token without --project may name any.",
        )


async def own_skill(name: str, project: str, ctx: Context) -> Skill:
    """The store's ``skill``; raises UnknownSkill as well for one of a project that the caller is not let into."""
    if not ctx.confined:
        return await ctx.store.skill(name, project=project or None)
    try:
        found = await ctx.store.skill(name, project=project)
    except UnknownSkill:
        found = None
    if found is None or found.project not in ("", project):
        # No names like it: they may be those of others.
        raise UnknownSkill(f"no skill has the id or name {quote(name)}", hint="look for one with find_skill")
    return found


@dataclass(frozen=True, slots=True)
class OwnRuns:
    """A trainer that starts, tells of and cancels runs of ``project`` alone."""

    trainer: Trainer
    project: str

    async def start(self, settings: Mapping[str, Any], *, project: str = "", run_id: str | None = None) -> str:
        """As the trainer's."""
        if run_id is not None:
            await self.status(run_id)
        return await self.trainer.start(settings, project=project, run_id=run_id)

    async def status(self, run_id: str | None = None) -> dict[str, Any]:
        """As the trainer's, without the ids of other runs."""
        if run_id is not None:
            return await self._own(run_id)
        told = await self.trainer.status()
        for key in [told.get("run_id"), *told.get("runs", {})]:
            if key is not None:
                try:
                    return await self._own(key)
                except Unknown:
                    continue
        return {"status": "none yet"}

    async def cancel(self, run_id: str | None = None) -> dict[str, Any]:
        """As the trainer's."""
        going_on = await self.trainer.status(run_id) if run_id is None else await self._own(run_id)
        if going_on.get("project", "") != self.project:
            raise StoreError("no run is going on", hint=_NO_RUN)
        return await self.trainer.cancel(run_id)

    async def _own(self, run_id: str) -> dict[str, Any]:
        """Raises Unknown for what is none, or another project's: whoever asks learns nothing of those."""
        try:
            told = await self.trainer.status(run_id)
        except Unknown:
            told = {}
        if told.get("project", "") != self.project:
            raise Unknown(f"there is no run {quote(run_id)}", hint=_NO_RUN)
        return told
