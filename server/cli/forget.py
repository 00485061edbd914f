"""``prowess forget``: erase for good."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread
import click
import msgspec

from prowess.learning.counting import counted
from prowess.server.cli.command import Failed, Run, command, confirm
from prowess.server.cli.exits import Exit
from prowess.server.cli.named import named, note_unknown
from prowess.server.cli.session import open_store, settings
from prowess.server.cli.terminal import printed
from prowess.server.cli.times import Time
from prowess.server.hub.client import HubStore
from prowess.server.origins import PERSON
from prowess.storage.errors import UnknownSkill

if TYPE_CHECKING:
    from prowess.storage.store import Store

__all__ = ["forget"]

ERASED = {
    "episodes": ("episode",),
    "skills": ("skill",),
    "memories": ("memory", "memories"),
    "exposures": ("exposure",),
    "reflections": ("reflection",),
    "backups": ("backup",),
}


def show(run: Run, counts: dict[str, Any]) -> None:
    said = ", ".join(counted(counts[name], *noun) for name, noun in ERASED.items() if counts[name])
    if not any(counts[name] for name in ERASED if name != "backups"):
        said = ""  # they were gone through
    run.out.print(f"erased: {said or 'nothing, since nothing fits'}")
    if not said:
        run.note(
            "episodes and memories are named by id: see `prowess episodes list`, `skills list` and `memories list`"
        )
    for path in counts["unreachable"]:
        run.note(f"may still hold what was forgotten, now or before: {printed(path)}; see `prowess doctor`")


@command("forget", example="prowess forget --project shop --before 2026-01-01T00:00:00Z", show=show)
@click.option("--episode", "episode_ids", multiple=True, metavar="ID", help="This episode; may be repeated.")
@click.option(
    "--skill", "skill_ids", multiple=True, metavar="SKILL", help="The skill of this name or id; may be repeated."
)
@click.option("--memory", "memory_ids", multiple=True, metavar="ID", help="This memory; may be repeated.")
@click.option("--task-id", help="All attempts at this task.")
@click.option("--project", help="All of this project.")
@click.option("--before", type=Time(), help="Only what is older than this (ISO 8601 with a zone).")
@click.option("--reason", default="", help="Why; kept, so do not repeat what is to be forgotten.")
@click.option("--yes", is_flag=True, help="Do not ask.")
async def forget(run: Run, yes: bool, reason: str, **scope: Any) -> dict[str, Any]:
    """Erase what was recorded, for good.

    It is erased from the log, the catalog and the listed backups, and stays erased after a rebuild. Conditions narrow
    each other: --project with --before means the old part of the project.
    """
    if not any(scope.values()):
        raise Failed("nothing is named that should be forgotten", hint="see `prowess forget --help`", code=Exit.USAGE)
    confirm(run, f"Erase {_in_words(scope)} for good?", yes)
    async with open_store(run) as store:
        await note_unknown(run, store, scope["project"])
        scope["skill_ids"] = [await _skill_id(store, given, scope["project"]) for given in scope["skill_ids"]]
        forgot = await store.forget(**scope, reason=reason, origin=PERSON)
        if not isinstance(store, HubStore):
            await _forget_beside(run)
    return msgspec.to_builtins(forgot)  # type: ignore[no-any-return]


async def _forget_beside(run: Run) -> None:
    """What hooks left beside the store, as a hub that runs would see to it."""
    from prowess.server.capture.sessions import forget_words  # most commands need nothing of it

    waiting = await anyio.to_thread.run_sync(forget_words, settings(run).home)
    if waiting:
        run.note(
            f"{counted(waiting, 'event')} of hooks wait to be recorded and may belong to it; "
            "`prowess hub start` records them: then forget again"
        )


async def _skill_id(store: Store, given: str, project: str | None) -> str:
    """The id of the skill of this name; what no skill is called is taken as the id of one that is gone here.

    Raises AmbiguousSkill.
    """
    try:
        return (await named(store, given, project)).id
    except UnknownSkill:
        return given


def _in_words(scope: dict[str, Any]) -> str:
    named = {name.replace("_", " "): value for name, value in scope.items() if value}
    return ", ".join(
        f"{name} {', '.join(value) if isinstance(value, tuple) else value}" for name, value in named.items()
    )
