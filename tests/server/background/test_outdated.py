"""Memories that an earlier version made of what a person stopped are let go of."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from backgroundkit import SECONDS, serving
from msgspec.structs import replace

from prowess.learning.memories.lessons import subject_of
from prowess.server.background.outdated import Outdated
from prowess.storage.events import MemorySaved
from prowess.storage.models import Memory, Origin

pytestmark = pytest.mark.anyio

AT = "2026-11-29T13:50:01.000Z"
REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected."


def lesson(key: str, error: str, **about: str) -> Memory:
    text = f"When Bash failed with “{error}”, it worked after calling it again"
    return Memory(id=key, kind="lesson", text=text, at=AT, subject=subject_of("Bash", error), project="shop", **about)


async def test_they_go_and_what_they_replaced_counts_again(tmp_path: Path) -> None:
    held = [lesson("m1", REJECTED), lesson("m2", "no such file"), lesson("m3", "no space", superseded_by="m1")]
    async with serving(tmp_path, [Outdated()]) as server:
        store = server.runtime.store
        await store.append([MemorySaved(memory=each) for each in held], origin=Origin(machine="m"))
        await server.looks_when_quiet()
        left = {each.id: each.superseded_by for each in await store.memories()}
        assert left == {"m2": None, "m3": None}
        head = store.head
        await server.looks_when_quiet()
        assert store.head == head
    async with serving(tmp_path, [Outdated()]) as server:
        await server.looks_when_quiet()
        assert server.runtime.store.head == head


async def test_what_a_reflection_counts_meanwhile_is_kept(tmp_path: Path) -> None:
    outdated, replaced = lesson("m1", REJECTED), lesson("m3", "no space", superseded_by="m1")
    async with serving(tmp_path, []) as server:
        runtime = server.runtime
        await runtime.store.append([MemorySaved(memory=each) for each in (outdated, replaced)], origin=Origin())
        async with anyio.create_task_group() as tasks, runtime.turn:  # as a reflection holds it
            tasks.start_soon(Outdated().work, runtime)
            with anyio.fail_after(SECONDS):
                while not runtime.turn.statistics().tasks_waiting:
                    assert await runtime.store.memories(ids=["m1"])  # it has not gone on without its turn
            borne_out = MemorySaved(memory=replace(replaced, support=5))
            await runtime.store.append([borne_out], origin=Origin())
        assert [(each.id, each.support) for each in await runtime.store.memories()] == [("m3", 5)]
