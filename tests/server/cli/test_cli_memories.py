"""``prowess memories``."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from clikit import Command

from prowess.server.cli.exits import Exit
from prowess.storage.events import MemorySaved
from prowess.storage.models import Memory, Origin
from prowess.storage.store import Store

AT = "2026-11-29T12:00:00.000Z"


@pytest.fixture
def remembered(home: Path) -> None:
    """A store with two memories."""

    async def fill() -> None:
        async with Store.open(home) as store:
            for key, text, project in (("m1", "look first", "shop"), ("m2", "ask the user", "bank")):
                memory = Memory(id=key, kind="lesson", text=text, at=AT, project=project, support=2)
                await store.append([MemorySaved(memory=memory)], origin=Origin())

    anyio.run(fill)


def test_the_list_has_what_was_kept(prowess: Command, remembered: None) -> None:
    assert {memory["id"] for memory in prowess("memories", "list", "--json").json} == {"m1", "m2"}
    assert len(prowess("memories", "list", "--limit", "1", "--json").json) == 1
    lines = prowess("memories", "list", "--project", "shop").out.splitlines()
    assert [line.split() for line in lines] == [
        ["ID", "KIND", "PROJECT", "TRUST", "SUPPORT", "TEXT"],
        ["m1", "lesson", "shop", "own", "2", "look", "first"],
    ]
    assert [line for line in lines if line.endswith(" ")] == []


def test_a_private_memory_and_its_end(prowess: Command, home: Path, remembered: None) -> None:
    assert prowess("memories", "private", "m1").out == "m1: private\n"
    assert prowess("memories", "private", "m1", "--json").json["change"] == "is private already"
    assert "lesson private" in prowess("memories", "list").out
    before = _head(home)
    assert prowess("memories", "private", "m1", "--off").out == "m1: no longer private\n"
    assert not any(memory["private"] for memory in prowess("memories", "list", "--json").json)
    # The mark's end, and the memory told anew to those who were told nothing of it.
    assert _head(home) == before + 2
    assert prowess("memories", "private", "m1", "--off").out == "m1: is not private, as before\n"
    assert _head(home) == before + 2


def _head(home: Path) -> int:
    async def read() -> int:
        async with Store.open(home) as store:
            return store.head

    return anyio.run(read)


def test_an_unknown_memory_is_not_found(prowess: Command, remembered: None) -> None:
    ended = prowess("memories", "private", "nothing")
    assert ended.code == Exit.NOT_FOUND
    assert "memories list" in ended.err


def test_a_memory_that_is_not_there_is_told_with_where_ids_are(prowess: Command, remembered: None) -> None:
    ended = prowess("memories", "private", "m")
    assert ended.code == Exit.NOT_FOUND
    assert "give the whole one" in ended.err
