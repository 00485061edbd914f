"""``prowess memories``: what was kept from episodes, and a person's word on it."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from prowess.server.cli.command import Failed, Run, command
from prowess.server.cli.exits import Exit
from prowess.server.cli.session import open_store
from prowess.server.cli.terminal import printed, table
from prowess.server.origins import PERSON, now

__all__ = ["change_of_privacy", "memories"]


@click.group("memories")
def memories() -> None:
    """Look at what was kept from episodes."""


def show_list(run: Run, found: list[dict[str, Any]]) -> None:
    if not found:
        run.note("no memory fits; `prowess reflect` keeps what finished episodes teach")
        return
    rows = (
        (
            memory["id"],
            " ".join([memory["kind"], *(["private"] if memory["private"] else [])]),
            memory["project"],
            memory["trust"],
            memory["support"],
            memory["text"],
        )
        for memory in found
    )
    run.out.print(table(("ID", "KIND", "PROJECT", "TRUST", "SUPPORT", "TEXT"), rows))


@command("list", example="prowess memories list --project shop", show=show_list, group=memories)
@click.option("--limit", type=click.IntRange(1, 1_000_000), default=20, show_default=True, help="The newest ones.")
@click.option("--project", help="Only of this project, and those of all projects.")
async def list_(run: Run, limit: int, project: str | None) -> list[dict[str, Any]]:
    """List memories, the newest first; `prowess forget --memory ID` erases one."""
    async with open_store(run, looks=True) as store:
        found = await store.memories(project=project, limit=limit)
        private = (await store.private()).memory_ids
    return [{**msgspec.to_builtins(memory), "private": memory.id in private} for memory in found]


def show_change(run: Run, change: dict[str, Any]) -> None:
    run.out.print(f"{printed(change['id'])}: {change['change']}")


@command(
    "private", example="prowess memories private 0192f3c4a1b27c3d9e4f5a6b7c8d9e0f", show=show_change, group=memories
)
@click.argument("memory_id", metavar="ID")
@click.option("--off", is_flag=True, help="Take the mark away, and tell the others of it as it is now.")
async def private(run: Run, memory_id: str, off: bool) -> dict[str, Any]:
    """Mark a memory as private: no other machine is told of it from now on.

    What was sent before stays with those who have it; `prowess forget --memory ID` erases it there, and here.
    """
    from prowess.storage.events import Event, MemorySaved, PrivacySet

    async with open_store(run) as store:
        found = await store.memories(ids=[memory_id])
        if not found:
            raise Failed(
                f"there is no memory {memory_id!r}",
                hint="`prowess memories list` shows the ids; give the whole one",
                code=Exit.NOT_FOUND,
            )
        was = memory_id in (await store.private()).memory_ids
        events: list[Event] = [PrivacySet(at=now(), private=not off, memory_ids=(memory_id,))]
        if off and found[0].trust != "untrusted":  # else a stranger's would be told as one's own
            events.append(MemorySaved(memory=found[0]))
        if was == off:
            await store.append(events, origin=PERSON)
    return {"id": memory_id, "private": not off, "change": change_of_privacy(off=off, was=was)}


def change_of_privacy(*, off: bool, was: bool) -> str:
    """What was done, in words, or that there was nothing to do."""
    if was != off:
        return "is not private, as before" if off else "is private already"
    return "no longer private" if off else "private"
